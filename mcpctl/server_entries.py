"""The `[servers]` of config.toml as people see and change them: secrets masked, comments and order kept."""

import re
import shlex
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

from mcpctl import config, exposure, files
from mcpctl.catalog import cache
from mcpctl.catalog.cache import Catalog
from mcpctl.config import Config
from mcpctl.errors import McpctlError, NotFound, Unusable, WrongUsage
from mcpctl.models import Row
from mcpctl.paths import Paths
from mcpctl.policy.view import View
from mcpctl.store import clock, state
from mcpctl.store.redact import MASK, is_secret_name, mask

FIELDS = (
    "name", "enabled", "transport", "runs", "command", "args", "url", "headers", "env", "env_file", "cwd",
    "start_timeout_s", "call_timeout_s", "projects", "permissions", "tools", "listed_at", "problem", "failed_at",
)  # fmt: skip
_NAMES = {"env": re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z"), "header": re.compile(r"[^\s:]+\Z")}
_ELSEWHERE = "make it writable, or name another file with --config or MCPCTL_CONFIG"
_SCHEMES = ("Bearer", "Basic", "Token")
_LONG_RANDOM = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_~.=-]{20,}")
"""A part of a path that is no word: some services put the key there."""
_VARIABLE_ONLY = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}\Z")


def ls(paths: Paths, project: str | None = None) -> list[Row]:
    """Every entry of the file, or those that `project` sees, usable or not, by name."""
    with closing(state.opened(paths)) as db:
        loaded = config.load(paths.config, project)
        catalog = Catalog(View(loaded), db)
        seen = {*loaded.servers, *loaded.problems} - loaded.elsewhere
        return [row(loaded, name, catalog) for name in sorted(seen)]


def show(paths: Paths, name: str) -> Row:
    """One entry; raises `NotFound`."""
    rows = {row["name"]: row for row in ls(paths)}
    if name not in rows:
        raise config.no_server(name, rows)
    return rows[name]


def row(loaded: Config, name: str, catalog: Catalog) -> Row:
    """One entry with its secrets masked, and what is kept of its tools.

    `problem` says why the entry cannot be used, or how the server last failed; then `failed_at` says when.
    """
    server = loaded.servers.get(name)
    listed = catalog.listed(name)
    found: dict[str, Any] = dict.fromkeys(FIELDS)
    found.update(name=name, problem=loaded.problems.get(name))
    if server:
        found.update(
            enabled=server.enabled,
            transport=server.transport if server.url else "stdio",
            runs=masked_url(server.url) or shlex.join([mask(server.command), *masked_args(server.args)]),
            command=mask(server.command) or None,
            args=masked_args(server.args),
            url=masked_url(server.url) or None,
            headers={header: masked_header(value) for header, value in server.headers.items()},
            env={variable: masked(value) for variable, value in server.env.items()},
            env_file=server.env_file,
            cwd=server.cwd,
            start_timeout_s=server.start_timeout_s,
            call_timeout_s=server.call_timeout_s,
            projects=server.projects,
            permissions=server.tools,
            tools=len(listed.tools) if listed else None,
            listed_at=clock.iso(listed.fetched_at) if listed else None,
        )
        if failure := cache.last_failure(catalog.db, name, server.fingerprint):
            when, why = failure
            found.update(problem=why.removeprefix(f"server '{name}' "), failed_at=clock.iso(when))
    return found


def masked(value: str) -> str:
    """A value of `env`: `${VAR}` as it stands, anything literal as `***`."""
    variable = _VARIABLE_ONLY.match(value)
    if not variable:
        return MASK
    return value if ":-" not in value else f"{variable[1]}:-{MASK}}}"


def masked_header(value: str) -> str:
    """A header's value: a scheme such as `Bearer` and `${VAR}` as they stand, anything literal as `***`."""
    scheme, space, rest = value.partition(" ")
    return f"{scheme} {masked(rest)}" if space and scheme in _SCHEMES else masked(value)


def masked_url(url: str) -> str:
    """An address without a password, without the values of its query, and without what looks like a token."""
    place, question, query = re.sub(r"(?<=://)[^/?#@]*@", f"{MASK}@", url).partition("?")
    shown = "/".join(MASK if _LONG_RANDOM.fullmatch(part) else part for part in mask(place).split("/"))
    # What a signature or a key is called differs from service to service: sig, code, k.
    return shown + question + re.sub(r"[^&#]+", _masked_parameter, query)


def _masked_parameter(found: re.Match[str]) -> str:
    name, equals, value = found[0].partition("=")
    if not equals:
        return masked(name)
    is_plain = re.fullmatch(r"true|false|[0-9]{1,3}", value) and not is_secret_name(name)
    return found[0] if is_plain else f"{name}={masked(value)}"


def masked_args(args: list[str]) -> list[str]:
    """Arguments without what follows a telling option (`--token X`, `TOKEN=X`) or looks like a token."""
    shown: list[str] = []
    hide_next = False
    for arg in args:
        option, equals, value = arg.partition("=")
        if hide_next and not arg.startswith("-"):
            shown.append(masked(arg))
        elif equals and is_secret_name(option.lstrip("-")):
            shown.append(f"{option}={masked(value)}")
        else:
            shown.append(mask(arg))
        hide_next = not equals and arg.startswith("-") and is_secret_name(arg.lstrip("-"))
    return shown


def add(path: Path, name: str, table: Mapping[str, Any]) -> None:
    """Put a new entry into the file; raises when the name is taken or the entry could not be used."""
    if not config.NAME.match(name):
        raise WrongUsage(f"'{name}' cannot name a server", "use letters, digits, '_' and '-'")

    def change(document: Any) -> None:
        servers = document.setdefault("servers", {})
        if name in servers:
            raise McpctlError(
                f"there is a server '{name}' already",
                f"remove it first with: mcpctl servers rm {name}",
                "server_exists",
            )
        servers[name] = dict(table)

    _edit(path, change)


Merge = Callable[[Config], Mapping[str, Mapping[str, Any]]]
"""What to put into the file, by name, given what is in it."""


def merge(path: Path, chosen: Merge) -> None:
    """Put entries into the file in one write, each new or in the place of the one of its name."""
    _edit(path, lambda document: _put(document, chosen(config.load(path))))


def merged(path: Path, chosen: Merge) -> tuple[str, str]:
    """The file's text, and as `merge` would leave it; nothing is written."""
    try:
        before = files.read(path, code="config_unreadable")
    except NotFound:
        before = None
    after = _changed(path, before, lambda document: _put(document, chosen(config.load(path))))
    return (before or b"").decode("utf-8-sig"), after


def remove(path: Path, name: str) -> None:
    """Take an entry out of the file."""

    def change(document: Any) -> None:
        _existing(path, document, name)
        servers = document["servers"]
        # What a person wrote after the entry is about the one that follows.
        after = "".join(item.as_string() for _, item in _taken_after(servers[name]))
        place = next((n for n, (key, _) in enumerate(_body(servers)) if key == name), None)
        servers.pop(name)
        if after and place is not None:
            from tomlkit.items import Whitespace

            _body(servers)[place] = (None, Whitespace(after))

    _edit(path, change)


def enable(path: Path, name: str, enabled: bool) -> None:
    """Switch an entry on or off."""

    def change(document: Any) -> None:
        _existing(path, document, name)
        entry = document["servers"][name]
        if not isinstance(entry, MutableMapping):
            raise Unusable(f"{path}: servers.{name}: must be a table", "mend it there", "server_unusable")
        if enabled:
            entry.pop("enabled", None)
        else:
            after = _taken_after(entry)
            entry["enabled"] = False
            _body(entry).extend(after)

    _edit(path, change)


def remarks(table: Mapping[str, Any]) -> list[str]:
    """What a person should know of an entry that is right."""
    said = exposure.in_the_clear(config.check_server("new", table))
    return [said] if said else []


def entry(given: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a new entry, only what was given; raises `WrongUsage` when it could not be used."""
    table = {name: value for name, value in given.items() if value not in (None, "", [], {})}
    if "transport" not in table and config.is_sse(str(table.get("url", ""))):
        table["transport"] = "sse"
    try:
        config.check_server("new", table)
    except ValueError as error:
        why = str(error).lstrip(".")
        raise WrongUsage(f"this server could not be used: {why}", "see: mcpctl servers add --help") from error
    return table


def assignments(option: str, given: list[str]) -> dict[str, str]:
    """The `NAME=VALUE` of `--env` and `--header`, by name; raises `WrongUsage`."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not _NAMES[option].match(name):
            example = {"env": "'TOKEN=${TOKEN}'", "header": "'Authorization=Bearer ${TOKEN}'"}[option]
            raise WrongUsage(f"--{option} wants NAME=VALUE", f"write for example: --{option} {example}")
        if name in found:
            raise WrongUsage(f"--{option} {name} is given twice, and only one value can count", f"give {name} once")
        found[name] = value
    return found


def _put(document: Any, entries: Mapping[str, Mapping[str, Any]]) -> None:
    servers = document.setdefault("servers", {}) if entries else {}
    for name, table in entries.items():
        after = _taken_after(servers.get(name))
        servers[name] = dict(table)
        if after:
            # In the place of the blank line that tomlkit adds itself.
            _taken_after(servers[name])
            _body(servers[name]).extend(after)


def _existing(path: Path, document: Any, name: str) -> None:
    known = list(document.get("servers", {}))
    if name not in known:
        raise config.no_server(name, known)


def _body(table: Any) -> list[Any]:
    """What tomlkit keeps of a table: keys with their items, and comments and blank lines under no key."""
    body = getattr(getattr(table, "value", None), "body", None)
    return body if isinstance(body, list) else []


def _taken_after(table: Any) -> list[Any]:
    """The comments and blank lines after a table's last key, taken out of it."""
    body = _body(table)
    end = next((n for n in range(len(body), 0, -1) if body[n - 1][0] is not None), 0)
    if body and end == len(body):
        return _taken_after(body[-1][1])
    after = body[end:]
    del body[end:]
    return after


def _edit(path: Path, change: Callable[[Any], None]) -> None:
    files.edit(path, lambda before: _changed(path, before, change).encode(), _ELSEWHERE)


def _changed(path: Path, before: bytes | None, change: Callable[[Any], None]) -> str:
    """The file's text with the change made to what it was; it was None where there was no file."""
    if before is None:
        import tomli_w

        fresh: dict[str, Any] = {}
        change(fresh)
        return tomli_w.dumps(fresh)
    import tomlkit
    import tomlkit.exceptions

    try:
        text = before.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unusable(f"cannot read {path}: it is not UTF-8", "save it as UTF-8", "config_unreadable") from error
    config.parsed(path, text)
    try:
        document = tomlkit.parse(text)
        change(document)
        return tomlkit.dumps(document)
    except tomlkit.exceptions.TOMLKitError as error:
        raise Unusable(f"{path} cannot be edited: {error}", "edit it by hand", code="config_syntax") from error
