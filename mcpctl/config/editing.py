"""Changes of config.toml that keep its comments and its order."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, NotFound, Unusable, WrongUsage
from mcpctl.config import config, server_settings

_ELSEWHERE = "make it writable, or name another file with --config or MCPCTL_CONFIG"
SCHEMA = Path(__file__).with_name("config.schema.json")
FIRST_LINE = f"#:schema {SCHEMA.as_uri()}\n"  # of a new file: editors find the schema by it
Permit = Callable[[str, str], None]  # raises `Refused` where nobody may replace the first text by the second


def addition(name: str, table: Mapping[str, Any]) -> Callable[[Any], None]:
    """The change that adds an entry, for `edit`; it raises `McpctlError` where there is one. Raises `WrongUsage`."""
    if not server_settings.NAME.match(name):
        raise WrongUsage(f"'{name}' cannot name a server", "use letters, digits, '_' and '-'")

    def change(document: Any) -> None:
        servers = document.setdefault("servers", {})
        if name in servers:
            raise McpctlError(
                f"there is a server '{name}' already",
                f"change it with: mcpctl servers set {name}; or remove it first with: mcpctl servers rm {name}",
                "server_exists",
            )
        _put(servers, name, table)

    return change


def remove(path: Path, names: Sequence[str], permit: Permit) -> None:
    """Remove entries from the file; raises `NotFound`, and removes none, if one of the names has no entry."""

    def change(document: Any) -> None:
        for name in names:
            _check_exists(document, name)
        servers = document.get("servers", {})
        for name in dict.fromkeys(names):
            # Comments after the entry are about the next one, so they stay; there is a blank line before it, too.
            after = "".join(item.as_string() for _, item in cut_trailing_comments(servers[name]))
            place = next((number for number, (key, _) in enumerate(body_of(servers)) if key == name), None)
            servers.pop(name)
            if after.strip() and place is not None:
                from tomlkit.items import Whitespace

                body_of(servers)[place] = (None, Whitespace(after))

    edit(path, change, permit)


def enable(path: Path, name: str, enabled: bool, permit: Permit) -> None:
    def change(document: Any) -> None:
        entry = entry_of(path, document, name)
        if enabled:
            entry.pop("enabled", None)
        else:
            with before_comments(entry):
                entry["enabled"] = False

    edit(path, change, permit)


def entry(options: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a new entry; raises `WrongUsage` if it could not be used."""
    table = dict(options)
    if not {"url", "openapi"} & table.keys():  # these have no process that inherits anything
        table.setdefault("inherit_env", server_settings.MINIMAL)
    if not {"transport", "openapi"} & table.keys() and is_sse(str(table.get("url", ""))):
        table["transport"] = "sse"
    try:
        server_settings.check_server("new", table)
    except ValueError as error:
        reason = str(error).lstrip(".")
        raise WrongUsage(f"this server could not be used: {reason}", _hint(str(table.get("url", "")))) from error
    return table


def _hint(url: str) -> str:
    if not url or "://" in url:
        return "see: mcpctl servers add --help"
    from mcpctl.config.entry_secrets import masked_url

    scheme = "http" if re.match(r"localhost\b|127\.|\[::1\]", url) else "https"
    return f"did you mean {masked_url(f'{scheme}://{url}')}?"


def is_sse(url: str) -> bool:
    """Whether an address alone tells the older transport: by custom those end in /sse."""
    return re.search(r"/sse/?(?:\?|\Z)", url) is not None


def put(document: Any, entries: Mapping[str, Mapping[str, Any]]) -> None:
    servers = document.setdefault("servers", {}) if entries else {}
    for name, table in entries.items():
        _put(servers, name, table)


def _put(servers: Any, name: str, table: Mapping[str, Any]) -> None:
    """Put an entry before the comments behind it, or behind the last one, which are about the next table."""
    after = cut_trailing_comments(servers.get(name, servers))
    servers[name] = dict(table)
    if after:
        cut_trailing_comments(servers[name])  # they replace the blank line that tomlkit adds
        body_of(servers[name]).extend(after)


def entry_of(path: Path, document: Any, name: str) -> Any:
    """The table of a server in the document; raises `NotFound`, or `Unusable` where it is something else."""
    _check_exists(document, name)
    entry = document["servers"][name]
    if not isinstance(entry, MutableMapping):
        raise Unusable(
            f"{path}: servers.{name}: must be a table", f"write it as [servers.{name}] there", "server_unusable"
        )
    return entry


def table_of(entry: Any, field: str) -> Any:
    """A table in an entry, made inline where the entry has no header, which would take what follows into it."""
    from tomlkit import inline_table
    from tomlkit.items import Table

    if not isinstance(entry.get(field), MutableMapping):
        has_header = isinstance(entry, Table) and not entry.is_super_table()
        entry[field] = {} if has_header and field == "tools" else inline_table()
    return entry[field]


def _check_exists(document: Any, name: str) -> None:
    names = list(document.get("servers", {}))
    if name not in names:
        raise config.no_server(name, names)


def body_of(table: Any) -> list[Any]:
    """The body of a tomlkit table: keys with their items, and comments and blank lines without a key."""
    body = getattr(getattr(table, "value", None), "body", None)
    return body if isinstance(body, list) else []


def cut_trailing_comments(table: Any) -> list[Any]:
    body = body_of(table)
    end = next((n for n in range(len(body), 0, -1) if body[n - 1][0] is not None), 0)
    if body and end == len(body):
        return cut_trailing_comments(body[-1][1])
    after = body[end:]
    del body[end:]
    return after


@contextmanager
def before_comments(table: Any) -> Iterator[Any]:
    """The table; comments behind its last key, which are about the next table, stay behind keys that are added."""
    after = cut_trailing_comments(table)
    yield table
    body_of(table).extend(after)


def edit(path: Path, change: Callable[[Any], None], permit: Permit) -> None:
    """Have `change` edit the file, or tables for a new one; `permit` is asked about the very text that is written."""

    def permitted(before: bytes | None) -> bytes:
        after = _changed(path, before, change)
        permit((before or b"").decode("utf-8-sig"), after)
        return after.encode()

    files.edit(path, permitted, _ELSEWHERE)


def text_of(path: Path) -> str | None:
    """The text without its byte order mark; None where there is no file."""
    try:
        return files.read_text(path, code="config_unreadable").removeprefix(files.BOM)
    except NotFound:
        return None


def replace(path: Path, before: str | None, after: str, permit: Permit) -> None:
    """Replace the whole `text_of` the file; raises `Unusable` where it is no longer `before`. Its mark stays."""

    def permitted(current: bytes | None) -> bytes:
        text = None if current is None else current.decode(errors="replace")
        if (None if text is None else text.removeprefix(files.BOM)) != before:
            raise Unusable(f"{path} was changed meanwhile, and stays as it is", "try again", "changed_meanwhile")
        permit(before or "", after)
        return f"{files.BOM if text and text.startswith(files.BOM) else ''}{after}".encode()

    files.edit(path, permitted, _ELSEWHERE)


def with_values(path: Path, before: str, table: str, values: Mapping[str, Any]) -> str:
    """The text with these values in a table that is there; its other keys and all comments stay."""

    def change(document: Any) -> None:
        with before_comments(document[table]) as changed:
            for key, value in values.items():
                changed[key] = value

    return _changed(path, before.encode(), change)


def with_lines(before: str, lines: str) -> str:
    """The text, or that of a new file, with lines at its end."""
    end = "\r\n" if "\r\n" in before else "\n"
    return f"{(before or FIRST_LINE).rstrip()}{end}{end}{lines.replace(chr(10), end)}"


def edited(path: Path, change: Callable[[Any], None]) -> tuple[str, str]:
    """The text before and after `edit`; nothing is written."""
    try:
        before = files.read(path, code="config_unreadable")
    except NotFound:
        before = None
    return (before or b"").decode("utf-8-sig"), _changed(path, before, change)


def _changed(path: Path, before: bytes | None, change: Callable[[Any], None]) -> str:
    if before is None:
        import tomli_w

        tables: dict[str, Any] = {}
        change(tables)
        return f"{FIRST_LINE}\n{tomli_w.dumps(tables)}" if tables else ""
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
        after = tomlkit.dumps(document)
    except tomlkit.exceptions.TOMLKitError as error:
        raise Unusable(f"{path} cannot be edited: {error}", "edit the file by hand", code="config_syntax") from error
    if after.strip() and not text.endswith(("\n\n", "\n\r\n")):
        # One line break at the end: additions and removals may leave none, or more each time.
        after = after.rstrip("\r\n") + ("\r\n" if "\r\n" in text else "\n")
    read, meant = (  # a table without keys may have no line of its own
        {name: each for name, each in made.items() if each} for made in (tomllib.loads(after), document.unwrap())
    )
    if read != meant:
        raise Unusable(f"{path} cannot be edited: it mixes forms of tables", "edit the file by hand", "config_form")
    return after
