"""Every server connected and listed once, and what came of it in words: `mcpctl servers check`."""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from mcpctl.base.callers import LEGACY_REVISIONS, MODERN_REVISION
from mcpctl.base.feature_names import EXPOSABLE
from mcpctl.base.models import CHECK_FIELDS, HINTS, Progress, Row
from mcpctl.base.paths import Paths
from mcpctl.calling.one_shot import listed_row, listing
from mcpctl.calling.own_session import CALLER
from mcpctl.config import config, exposure
from mcpctl.config.config import Config
from mcpctl.config.server_environment import described
from mcpctl.config.server_settings import STDIO, Server
from mcpctl.openapi import overview, snapshot
from mcpctl.policy import words
from mcpctl.proxy import translate
from mcpctl.proxy.gateway import Gateway
from mcpctl.upstreams.connection import Connection
from mcpctl.upstreams.stdio import Stdio
from mcpctl.upstreams.upstream import Upstream

_AT_ONCE = 4
_NAMED = 3
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")


def check(
    paths: Paths, names: Sequence[str], timeout_s: float | None, on_progress: Progress, project: str | None = None
) -> list[Row]:
    """A row for each of these servers, or all enabled: `ok`, `odd` or `failed`; raises `NotFound`, `Refused`."""
    loaded = config.load(paths.config, project)
    exposure.guard(paths, loaded)
    for name in names:
        if name not in loaded.problems:
            loaded.server(name)
    checked_names = list(dict.fromkeys(names)) or sorted({*loaded.enabled, *loaded.problems})
    servers = {name: loaded.servers[name] for name in checked_names if name in loaded.servers}
    for name, server in servers.items():  # a server that was named is checked even while it is disabled
        seconds = server.start_timeout_s if timeout_s is None else timeout_s
        servers[name] = msgspec.structs.replace(server, enabled=True, start_timeout_s=seconds)
    checked = asyncio.run(_checked(replace(loaded, servers=servers), paths, on_progress))
    unusable = {name: _row(name, problems=[problem]) for name, problem in loaded.problems.items()}
    return [(checked | unusable)[name] for name in checked_names]


async def _checked(loaded: Config, paths: Paths, on_progress: Progress) -> dict[str, Row]:
    at_once = asyncio.Semaphore(_AT_ONCE)
    rows: dict[str, Row] = {}

    async def one(name: str, upstream: Upstream) -> None:
        async with at_once:
            rows[name] = await _checked_one(upstream, gateway)
        one_done()

    async with listing(loaded, paths, loaded.servers, on_progress) as (gateway, one_done):
        await asyncio.gather(*(one(name, gateway.upstreams[name]) for name in loaded.enabled))
    return rows


async def _checked_one(upstream: Upstream, gateway: Gateway) -> Row:
    name, server, listed = upstream.name, upstream.server, gateway.asked_for
    began = time.monotonic()
    problems: list[str] = []
    status = "ok"
    try:
        if rest := await upstream.refresh_all(CALLER):
            problems.append(words.why_unlisted(rest))
    except Exception as error:
        problems.append(words.why_unlisted(error))
        status = "failed"
    connection = upstream.connection
    row = listed_row(gateway, name)
    total_s = time.monotonic() - began
    if isinstance(connection, Stdio) and connection.chatter:
        line = connection.chatter.decode("utf-8", "replace")
        problems.append(f"it writes to stdout what is not a message: {line!r}; logs belong on stderr")
    if connection and status == "ok":
        problems += _remarks(connection, listed[name], has_more=any(row[each] for each in EXPOSABLE))
    if not server.openapi:  # those of an API are made here
        problems += oddities(listed[name])
    if exposed := exposure.in_the_clear(server):
        problems.append(exposed)
    if server.openapi and status == "ok":
        problems += _of_api(gateway.paths, name, server)
    return _row(
        name,
        status="odd" if problems and status == "ok" else status,
        transport=server.kind,
        implementation=_implementation(connection.server_info) if connection else None,
        revision=connection.revision if connection else None,
        **{each: row[each] if status == "ok" else None for each in ("tools", *EXPOSABLE)},
        connect_ms=round(upstream.start_s * 1000) if connection else None,
        list_ms=round((total_s - upstream.start_s) * 1000) if status == "ok" else None,
        environment=described(server, gateway.paths.config) if server.kind == STDIO else None,
        problems=problems,
    )


def _of_api(paths: Paths, name: str, server: Server) -> Iterator[str]:
    """No request is sent to an API: none is known that would change nothing."""
    document = snapshot.head(paths, name, server)
    yield from (f"{scheme}: {why}" for scheme, why in overview.without_variable(server, paths.config).items())
    if document.schemes and len(missing := overview.without_value(document, server, paths.config)) == len(
        document.schemes
    ):
        yield f"none of its security schemes has a value: {', '.join(missing[:_NAMED])}"


def _remarks(connection: Connection, listed: Sequence[bytes], *, has_more: bool) -> Iterator[str]:
    revisions = (*LEGACY_REVISIONS, MODERN_REVISION)
    if connection.revision not in revisions:
        yield f"it speaks an unknown revision of the protocol: {connection.revision!r}"
    if not listed and not has_more:
        yield "it lists no tools"
    if unrunnable := len(translate.unrunnable(listed, connection)):
        tools = "a tool that runs" if unrunnable == 1 else f"{unrunnable} tools that run"
        yield f"it lists {tools} only as tasks, and does not say that it runs any: left out"


def _row(name: str, **found: Any) -> Row:
    return {**dict.fromkeys(CHECK_FIELDS), "server": name, "status": "failed", **found}


class _Implementation(msgspec.Struct):
    name: str = ""
    version: str = ""


def _implementation(info: bytes) -> str | None:
    try:
        named = msgspec.json.decode(info or b"{}", type=_Implementation)
    except msgspec.MsgspecError:
        return None
    return f"{named.name} {named.version}".strip() or None


def oddities(definitions: Sequence[bytes]) -> list[str]:
    """One sentence for each oddity, by the MCP schema's `Tool`: clients and models may stumble over it."""
    sentences: list[str] = []
    seen: set[str] = set()
    bare: list[str] = []
    for number, text in enumerate(definitions, 1):
        try:
            definition = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            sentences.append(f"tool no. {number} is not strict JSON")
            continue
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name.strip():
            sentences.append(f"tool no. {number} has no usable name: it is left out")
        elif name in seen:
            sentences.append(f"tool '{name}' is listed twice: the second is left out")
        else:
            seen.add(name)
            sentences += (f"tool '{name}': {what}" for what in _oddities_of(name, definition))
            bare += [] if definition.get("description") else [name]
    if bare:
        rest = f" and {len(bare) - _NAMED} more" if len(bare) > _NAMED else ""
        sentences.append(f"no description, so that only the name can be found: {', '.join(bare[:_NAMED])}{rest}")
    return sentences


def _oddities_of(name: str, definition: Mapping[str, Any]) -> Iterator[str]:
    if not _NAME.match(name):
        yield "its name has characters, or a length, that clients may refuse"
    for member in ("title", "description"):
        if not isinstance(definition.get(member), str | None):
            yield f"its {member} is not a text"
    yield from _schema_oddities("inputSchema", definition.get("inputSchema"))
    if definition.get("outputSchema") is not None:
        yield from _schema_oddities("outputSchema", definition["outputSchema"])
    yield from _annotation_oddities(definition.get("annotations"))


def _schema_oddities(member: str, schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"its {member} is {'missing' if schema is None else 'not an object'}"
        return
    if schema.get("type") != "object":
        yield f"its {member} is not of type object"
        return
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        yield f"its {member} is not a JSON Schema: {error.json_path}: {error.message[:100]}"
    except RecursionError:
        yield f"its {member} is too deep"


def _annotation_oddities(annotations: Any) -> Iterator[str]:
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        yield "its annotations are not an object"
        return
    for hint in HINTS:
        if not isinstance(annotations.get(hint), bool | None):
            yield f"its {hint} is neither true nor false: it counts as not declared"
    if annotations.get("readOnlyHint") is True and annotations.get("destructiveHint") is True:
        yield "it declares readOnlyHint and destructiveHint, which contradict each other"
