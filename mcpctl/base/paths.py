"""The paths of the configuration and the data, and folders that only their owner can read."""

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcpctl.base.errors import Unusable

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


class _InData:
    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, paths: "Paths", of: type) -> Path:
        return paths.data / self._name


@dataclass(frozen=True)
class Paths:
    config: Path
    data: Path

    sessions = _InData("sessions")  # the journals, one file a session
    runs = _InData("runs")  # the sessions of each process that has many, one file each, locked by it
    evictions = _InData("evicted.jsonl")  # the removals from the record, and for which limit
    shipped = _InData("shipped.json")  # what of the journals is in PostgreSQL, as far as is known here
    shipper = _InData("shipper.lock")  # locked by the one process that ships them
    responses = _InData("responses")  # whole answers of which a client got a part, by session and call
    redaction_key = _InData("redaction.key")  # with one key, equal secrets have equal marks
    toolsets = _InData("toolsets")  # those that are not in a repository, one file each
    state = _InData("state.db")  # not a record, such as the catalog cache
    policy = _InData("policy.db")  # people's decisions: pins, consent, tokens. Nothing else has them.
    otlp = _InData("otlp")  # how far the records were sent to each receiver that gets what follows
    oauth = _InData("oauth")  # logins to remote servers, one file each; several configurations may share them
    openapi = _InData("openapi")  # the compiled documents of HTTP APIs, one file for each of their entries
    installs = _InData("installs")  # clients' files before and after mcpctl was installed there
    dashboard = _InData("dashboard.json")  # where the dashboard runs, and the key of its logins; locked by its process
    verdicts = _InData("verdicts.json")  # which tools look like an attack, derived from the catalog alone
    search_index = _InData("search-index.npz")  # the last search of a command, derived from the catalog alone
    learnt = _InData("learnt.npz")  # what searches have learnt from use, derived from the records and the catalog

    @property
    def index(self) -> Path:
        """Derived from the journals alone. Programs with different tables never share a file."""
        from mcpctl.base.fields import INDEX_VERSION

        return self.data / f"index-v{INDEX_VERSION}.db"

    @property
    def older_indexes(self) -> list[Path]:
        """The index files of older versions; the index of this one has all that they have."""
        from mcpctl.base.fields import INDEX_VERSION

        return [self.data / f"index-v{version}.db" for version in range(1, INDEX_VERSION)]

    def log(self, server: str) -> Path:
        # A name in config.toml that cannot be used may be asked for too; no name that can has a dot.
        return self.data / "logs" / f"{_NOT_IN_NAMES.sub('.', server)}.jsonl"


def find(config: Path | None = None, data_dir: Path | None = None, env: Mapping[str, str] = os.environ) -> Paths:
    """The paths of the options, else of the environment, else the user's own folders."""
    return Paths(
        config=config or _named(env, "MCPCTL_CONFIG") or _base(env, "config") / "config.toml",
        data=data_dir or _named(env, "MCPCTL_DATA_DIR") or _base(env, "data"),
    )


def chosen(config: Path | None = None, data_dir: Path | None = None, *, creates: bool = False) -> Paths:
    """The paths of a command; a named configuration file must exist, unless the command `creates` it."""
    result = find(config, data_dir)
    if (config or os.environ.get("MCPCTL_CONFIG")) and not creates and not result.config.exists():
        hint = "check the name; mcpctl servers add creates a new file"
        raise Unusable(f"there is no configuration file {result.config}", hint, "config_missing")
    return result


_ELSEWHERE = "make it writable, or name another place with --data-dir or MCPCTL_DATA_DIR"


def private_dir(path: Path) -> Path:
    """Make the folder if there is none; only its owner can read a new one."""
    try:
        for missing in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


def cannot_write(path: Path, error: OSError, hint: str = _ELSEWHERE) -> Unusable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "make room there"
    return Unusable(f"cannot write {path}: {error.strerror or error}", hint, code="not_writable")


def _named(env: Mapping[str, str], variable: str) -> Path | None:
    value = env.get(variable)
    return Path(value).expanduser() if value else None


def _base(env: Mapping[str, str], kind: str) -> Path:
    home = _named(env, "MCPCTL_HOME")
    if home:
        return home / "data" if kind == "data" else home
    import platformdirs

    folder = platformdirs.user_data_path if kind == "data" else platformdirs.user_config_path
    try:
        return folder("mcpctl", appauthor=False)
    except RuntimeError as error:
        raise Unusable("cannot find your home folder", "set HOME or MCPCTL_HOME", "no_home") from error
