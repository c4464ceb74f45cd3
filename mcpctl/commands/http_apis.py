"""HTTP APIs for commands: their documents read, what came of that in words, and requests that are shown."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcpctl import output
from mcpctl.base.errors import McpctlError, WrongUsage, warn
from mcpctl.base.failure import Failed
from mcpctl.base.models import REREAD_FIELDS, Found, Row, Tool
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.base.texts import counted
from mcpctl.catalog import drift, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.commands.confirmation import Gate
from mcpctl.config import config
from mcpctl.config.server_settings import Server
from mcpctl.openapi import compiling, overview, snapshot
from mcpctl.openapi.snapshot import LEFT_OUT
from mcpctl.output import ListOptions, findings
from mcpctl.output.text import block_of, line_of

_READING = "reading the document"
Changes = Mapping[str, Sequence[drift.ToolChange]]
_CHANGES = 40  # lines of changes that are told beside another thing
_REASONS = 5  # reasons why operations are no tools that are said at once


def place_of(document: str, config_path: Path) -> str:
    """A document as an entry names it: an address, or a file from the folder of config.toml on, where it is below."""
    if "://" in document:
        return document
    path, folder = Path(document).expanduser().absolute(), config_path.parent.absolute()
    path = Path(os.path.normpath(path))
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


class Edit(NamedTuple):
    """A change of config.toml by which the entry of an API is added or becomes another one."""

    paths: Paths
    name: str
    former: Server | None  # that of the API as it was; none where it is new, or was another kind of server
    server: Server

    @property
    def makes_tools(self) -> bool:
        """Whether its tools may differ by it, so that its document is to be read."""
        place = snapshot.path_of(self.paths, self.name, self.server)
        return not self.former or place != snapshot.path_of(self.paths, self.name, self.former) or not place.exists()

    def show(self) -> None:
        """Say what there would be; raises `McpctlError` for a document that cannot be used. Nothing is written."""
        with output.progress(_READING):
            document = compiling.unkept(self.paths, self.server)
        self._say(document)

    @contextmanager
    def read_first(self, gate: Gate) -> Iterator[None]:
        """Read the document before the entry is written, and list its tools and say what there is afterwards; raises
        `McpctlError` for one that cannot be used."""
        if not self.makes_tools:
            yield
            for line in _oddities(snapshot.head(self.paths, self.name, self.server), self.server):
                output.say(line, always=True)
            return
        path = snapshot.path_of(self.paths, self.name, self.server)
        is_new = not path.exists()
        with rows.catalog(self.paths, quiet=True) as catalog:
            before = _tools(catalog, self.name) if self.former else {}
        with output.progress(_READING):
            _compiled(self.paths, self.name, self.server, gate, self.former, is_known=bool(before))
        content = path.read_bytes()
        try:
            yield
        except BaseException:
            if is_new and not _has(self.paths, self.name, path):
                path.unlink(missing_ok=True)
            raise
        if not path.exists():  # taken back by another that was adding the same, and was refused
            snapshot.save(self.paths, self.name, self.server, content)
        self._list(before)

    def _list(self, before: Mapping[str, Tool]) -> None:
        from mcpctl.calling import one_shot

        if self.name in config.load(self.paths.config).enabled:
            _, failure = one_shot.refresh(self.paths, [self.name])
            if failure:
                warn(failure.message)
        changed = changes(self.paths, Reread({self.name: before}, {}, {}), None) if before else {}
        lines = list(findings.changes(drift.rows(changed.get(self.name, ()), Selection("never"))))
        for line in lines[:_CHANGES]:
            output.say(line, always=True)
        if len(lines) > _CHANGES:
            output.say(f"{len(lines) - _CHANGES:,} more lines of changes are left out", always=True)
        self._say(snapshot.load(self.paths, self.name, self.server))

    def _say(self, document: snapshot.CompiledDocument) -> None:
        for line in _described(document, self.name, self.server, self.paths.config):
            output.say(line, always=True)


def _has(paths: Paths, name: str, path: Path) -> bool:
    """Whether the entry of that name, which another may have added meanwhile, has this compiled document."""
    server = config.load(paths.config).servers.get(name) if paths.config.exists() else None
    return server is not None and bool(server.openapi) and snapshot.path_of(paths, name, server) == path


def edit_of(paths: Paths, name: str, before: str, after: str) -> Edit | None:
    """The change of an entry between two texts of config.toml; none where it is not that of an API then."""
    former, server = (config.parsed(paths.config, text).servers.get(name) for text in (before, after))
    if server is None or not server.openapi:
        return None
    return Edit(paths, name, former if former and former.openapi else None, server)


def _described(document: snapshot.CompiledDocument, name: str, server: Server, config_path: Path) -> Iterator[str]:
    facts = overview.facts(document, server, config_path)
    about = " ".join(filter(None, (document.title, document.version)))
    yield line_of(f"{counted(len(document.operations), 'tool')} of {about or server.openapi}, at {facts['base']}")
    if len(places := facts["destinations"]["requests"]) > 1:
        yield line_of(f"requests go to {', '.join(places)}")
    if places := facts["destinations"]["tokens"]:
        yield line_of(f"clients are changed for tokens at {', '.join(places)}")
    skipped = sorted(facts["skipped"].items(), key=lambda each: -each[1])
    for reason, number in skipped[:_REASONS]:
        why = reason if reason == LEFT_OUT else f"left out: {reason}"
        yield line_of(f"{counted(number, 'operation')} {why}")
    if len(skipped) > _REASONS:
        yield f"{sum(number for _, number in skipped[_REASONS:])} more left out: mcpctl servers show {name}"
    for scheme, why in facts["unset"].items():
        yield line_of(f"{scheme}: {why}")
    if missing := [
        name for name, has_value in facts["schemes"].items() if not has_value and name not in facts["unset"]
    ]:
        schemes = ", ".join(missing[:_REASONS]) + (", …" if len(missing) > _REASONS else "")
        how = f"mcpctl servers set {name} --auth '{missing[0]}=${{TOKEN}}'"
        yield line_of(f"no value yet for {schemes}; for those that it needs: {how}")
    yield from _oddities(document, server)


def _oddities(document: snapshot.CompiledDocument, server: Server) -> Iterator[str]:
    """The patterns and credentials of an entry that are for nothing in the document."""
    for pattern in document.unmatched:
        yield line_of(f"no operation matches {pattern}")
    for other in overview.without_scheme(document, server):
        yield line_of(f"the document has no security scheme '{other}'; it has {', '.join(document.schemes) or 'none'}")


# ---- tools refresh


class Reread(NamedTuple):
    """The tools of APIs before their documents were read again, and what could not be read."""

    before: Mapping[str, Mapping[str, Tool]]
    failures: Mapping[str, McpctlError]
    moved: Mapping[str, Sequence[str]]  # the new places of requests and of clients, in words
    listable: Sequence[str] = ()  # all servers but those without a document, since that could not be read


def reread(paths: Paths, names: Sequence[str], project: str | None, gate: Gate) -> Reread:
    """Read the documents of these servers that are HTTP APIs again, or of all. Raises `McpctlError` where the only
    server that is named has one that cannot be used; its tools stay as they were."""
    loaded = config.load(paths.config, project)
    chosen = [name for name in (names or loaded.enabled) if name in loaded.enabled and loaded.enabled[name].openapi]
    before: dict[str, dict[str, Tool]] = {}
    failures: dict[str, McpctlError] = {}
    moved: dict[str, Sequence[str]] = {}
    if chosen:
        with rows.catalog(paths, project=project, quiet=True) as catalog:
            before = {name: _tools(catalog, name) for name in chosen}
    for name in chosen:
        try:
            with output.progress(_READING):
                moved[name] = _compiled(paths, name, loaded.servers[name], gate, is_known=bool(before[name]))
        except McpctlError as error:
            if len(names) == 1:
                raise
            failures[name] = error
    servers = loaded.servers
    unmade = [each for each in failures if not snapshot.path_of(paths, each, servers[each]).exists()]
    return Reread(before, failures, moved, [each for each in names or loaded.enabled if each not in unmade])


def _compiled(
    paths: Paths, name: str, server: Server, gate: Gate, former: Server | None = None, *, is_known: bool
) -> Sequence[str]:
    """Read a document again, and say what goes elsewhere than before. Where credentials do, only a person may, and so
    where tools are known and the document that they are of is not. The entry of before is `former`, if that is another:
    where it names another place, that is a change of the entry."""
    former = former or server
    is_same = (former.openapi, former.url) == (server.openapi, server.url)
    before = snapshot.last(paths, name, former) if is_same else None
    if before is None and not (is_same and is_known):
        compiling.compile_entry(paths, name, server)
        return ()
    moved: list[str] = []

    def permit(after: snapshot.CompiledDocument) -> None:
        moved.extend(overview.moves(before, after, server))
        if moved and (server.auth or server.headers or server.parameters):
            words = "; ".join(moved)
            gate.document(name, words, before.sha256 if before else "", f"{after.sha256} {words}")

    compiling.compile_entry(paths, name, server, permit)
    return moved


def changes(paths: Paths, read: Reread, project: str | None) -> Changes:
    """The changes of the tools of each API, of one that had some before."""
    if not read.before:
        return {}
    with rows.catalog(paths, project=project, quiet=True) as catalog:
        suspicion = drift.suspicion(catalog)
        return {
            name: list(_changed(before, _tools(catalog, name), suspicion)) for name, before in read.before.items()
            if before and name not in read.failures
        }  # fmt: skip


def _tools(catalog: Catalog, name: str) -> dict[str, Tool]:
    listed = catalog.listed(name)
    return {tool.name: tool for tool in listed.tools} if listed else {}


def _changed(
    before: Mapping[str, Tool], after: Mapping[str, Tool], suspicion: drift.Suspicion
) -> Iterator[drift.ToolChange]:
    for name, tool in after.items():
        yield from drift.of_tool(before[name], tool, suspicion) if name in before else drift.of_new(tool, suspicion)
    for name, tool in before.items():
        if name not in after:
            yield drift.of_gone(tool.server, name)


def with_changes(found: Found, changed: Changes) -> Found:
    """The rows of `tools refresh`, with the names of the tools of each API that were added, removed and changed."""
    return Found.of([{**row, **_names(changed.get(row["server"]))} for row in found.rows(None, 0)])


def _names(changed: Sequence[drift.ToolChange] | None) -> Row:
    if changed is None:
        return dict.fromkeys(REREAD_FIELDS)
    kinds = {"W803": "added", "I901": "removed"}
    named: dict[str, dict[str, None]] = {field: {} for field in REREAD_FIELDS}
    for each in changed:
        named[kinds.get(each.rule, "changed")][each.tool] = None
    named["changed"] = {tool: None for tool in named["changed"] if tool not in named["added"]}
    return {field: list(tools) for field, tools in named.items()}


def tell(paths: Paths, changed: Changes, read: Reread, options: ListOptions) -> None:
    """Print the changes, unless the rows have them, and say what each document has."""
    servers = config.load(paths.config).servers
    for name in read.before:
        for place in read.moved.get(name, ()):
            warn(f"{name}: {place}")
        if options.effective in ("table", "tsv") and options.fields is None:
            output.write_lines(findings.changes(drift.rows(changed.get(name, ()), Selection("never"))))
        if name not in read.failures:
            document = snapshot.load(paths, name, servers[name])
            odd = list(_oddities(document, servers[name]))
            for line in _described(document, name, servers[name], paths.config):
                output.say(f"{name}: {line}", always=line in odd)


# ---- one tool


def write_schema(paths: Paths, key: str, toolset: str | None, project: str | None) -> None:
    """Print the whole input schema of a tool; that of an HTTP API's tool is made from its document, read again."""
    with rows.catalog(paths, toolset, project, quiet=True) as catalog:
        tool = rows.resolve(catalog, key)
        server = catalog.config.servers.get(tool.server)
    schema: Any = tool.input_schema
    if server and server.openapi:
        with output.progress(_READING):
            schema = compiling.whole_definition(paths, server, tool.name)["inputSchema"]
    output.write_row(schema, True, lambda: iter(()))


def show_request(
    paths: Paths, key: str, arguments: Callable[[Tool | None], bytes], toolset: str | None, project: str | None,
    *, json: bool,
) -> None:  # fmt: skip
    """Print the request that a call would send, its credentials masked; nothing is sent."""
    from mcpctl.metatools import argument_help
    from mcpctl.policy import words
    from mcpctl.upstreams.http_api import request

    with rows.catalog(paths, toolset, project, quiet=True) as catalog:
        tool = rows.resolve(catalog, key)
        server = catalog.config.servers[tool.server]
    if not server.openapi:
        hint = "leave out --dry-run, or see its definition with: mcpctl tools show"
        raise WrongUsage(f"'{tool.server}' is an MCP server: only calls of HTTP APIs have a request to show", hint)
    document, made = snapshot.operation(paths, tool.server, server, tool.name)
    given = arguments(tool)
    try:
        sent = request.shown(document, made, given, server, paths.config)
    except Failed as error:
        failure = argument_help.about(error.failure, tool).about(server=tool.server)
        raise words.for_person(failure, f"mcpctl tools show {tool.key}") from None
    mismatches = argument_help.mismatches(tool, given)
    if mismatches:
        warn(f"these arguments do not match the schema of {line_of(tool.key)}:")
        for line in mismatches:
            output.say(f"  - {line_of(line)}", always=True)
    for remark in sent.remarks:
        warn(remark)
    content = b"".join(sent.content)
    row: dict[str, Any] = {
        "method": sent.method,
        "url": sent.url,
        "headers": sent.headers,
        **_body(content),
        "mismatches": mismatches,
    }
    output.write_row(row, json, lambda: _lines(row, len(content)))


def _body(content: bytes) -> Row:
    import base64

    try:
        return {"body": content.decode() if content else None}
    except UnicodeDecodeError:
        return {"body": None, "body_base64": base64.b64encode(content).decode()}


def _lines(row: Row, size: int) -> Iterator[str]:
    yield line_of(f"{row['method']} {row['url']}")
    yield from (line_of(f"{name}: {value}") for name, value in row["headers"].items())
    if size:
        yield ""
        yield block_of(row["body"]) if row["body"] is not None else f"({size:,} bytes that are not text)"
