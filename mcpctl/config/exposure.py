"""Files that other users can read or change: mcpctl closes its own, and warns about the user's."""

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from mcpctl.base.errors import warn
from mcpctl.base.paths import Paths
from mcpctl.config.config import Config
from mcpctl.config.server_settings import Server, without_values
from mcpctl.secrets.redact import is_secret_name, mask

_OURS = re.compile(
    r"sessions|responses|toolsets|logs|installs|oauth|openapi|(?:state\.db|policy\.db|index-v\d+\.db|search-index\.npz|verdicts\.json|redaction\.key|evicted\.jsonl|dashboard\.json).*"
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOCAL = re.compile(r"(?:.*\.)?localhost|.*\.(?:local|internal|lan|home\.arpa|test)|[^.]*", re.IGNORECASE)


def guard(paths: Paths, config: Config) -> None:
    """Close the data directory to other users, and warn if they can read the secrets in config.toml or change it."""
    with contextlib.suppress(OSError):
        close(paths.data)
    with contextlib.suppress(OSError):
        if exposed := of_config(paths.config, config):
            what, mode = exposed
            warn(f"{what}; prevent it with: chmod {mode} {paths.config}")


def of_config(path: Path, config: Config) -> tuple[str, str] | None:
    """The danger that others are to config.toml, and the mode for `chmod` that prevents it; raises OSError."""
    status = path.stat()
    mode = status.st_mode & _others(status)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can change {path} and the programs that it starts", "go-w"
    if mode & (stat.S_IRGRP | stat.S_IROTH) and any(map(_has_secret, config.servers.values())):
        return f"others can read the secrets in {path}", "600"
    return None


def of_data(data: Path) -> list[Path]:
    """Our files in the data directory that others can read or change, links left out; raises OSError."""
    return [path for path, mode, is_ours in _entries(data) if is_ours and mode & _OTHERS]


def _entries(folder: Path) -> Iterator[tuple[Path, int, bool]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            is_users = status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode)
            yield Path(entry.path), status.st_mode, is_users and bool(_OURS.fullmatch(entry.name))


def guard_secret(path: Path) -> None:
    """Warn if others can read or change a file that has nothing but a secret."""
    with contextlib.suppress(OSError):
        status = path.stat()
        if status.st_mode & _others(status):
            warn(f"others can read or change {path}; prevent it with: chmod 600 {path}")


def _others(status: os.stat_result) -> int:
    return stat.S_IRWXO if status.st_gid == os.getegid() else _OTHERS


def close(data: Path) -> None:
    """Close our files to other users, and the folder too if it has only our files; raises OSError."""
    entries = list(_entries(data))
    for path, mode, is_ours in entries:
        if is_ours and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    status = data.stat()
    if not status.st_mode & _OTHERS or status.st_uid != os.geteuid():
        return
    if all(is_ours for _, _, is_ours in entries):
        data.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
    elif status.st_mode & stat.S_IWOTH:
        warn(f"others can change the files in {data}; prevent it with: chmod go-w {data}")


def _has_secret(server: Server) -> bool:
    """Whether an entry has a literal secret, not a ${VAR} or ${cmd:…}."""
    pairs = [*server.env.items(), *((name, value.partition(" ")[2] or value) for name, value in server.headers.items())]
    if server.oauth:
        pairs.append(("client_secret", server.oauth.client_secret))
    pairs += [("token", value) for _, value in _credentials(server)]
    texts = [server.command, server.url, *server.args, *server.env.values()]
    return any(is_secret_name(name) and without_values(value).strip() for name, value in pairs) or any(
        mask(text) != text for text in texts
    )


def _credentials(server: Server) -> Iterator[tuple[str, str]]:
    if server.openapi:  # no other has some, and lists of tools need nothing of that
        from mcpctl.config.entry_secrets import credentials

        yield from credentials(server)


def in_the_clear(server: Server) -> str | None:
    """The warning for a server that would get a secret unencrypted; None for other servers."""
    secrets = [f"header {name}" for name in server.headers if is_secret_name(name)]
    secrets += [place for place, _ in _credentials(server)]
    try:
        host = urlsplit(server.url).hostname if server.url.lower().startswith("http://") else None
    except ValueError:
        host = None
    if not secrets or host is None or without_values(server.url) != server.url:
        return None
    if server.openapi:
        from mcpctl.config.server_environment import is_here

        if is_here(host):
            return None
        return f"{secrets[0]} is not sent to {host}, where anyone on the way could read it; use https://"
    if _is_near(host):
        return None
    return f"{secrets[0]} is sent to {host} unencrypted, for anyone on the way to read; use https://"


def _is_near(host: str) -> bool:
    import ipaddress

    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return _LOCAL.fullmatch(host) is not None
