"""The gateway without a client: one call, or one refresh, for a command."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mcpctl import __version__, config
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.config import Config
from mcpctl.errors import McpctlError, NotFound, Refused, Unusable, UpstreamFailed, warn
from mcpctl.models import Found, Progress, RawJson, Tool, unseen
from mcpctl.paths import Paths
from mcpctl.proxy import jsonrpc, translate
from mcpctl.proxy.call import Asked
from mcpctl.proxy.connection import Caller
from mcpctl.proxy.gateway import Gateway
from mcpctl.store import state
from mcpctl.store.recorder import Client, Json
from mcpctl.toolsets import in_force

_TOLD_EVERY_S = 0.1
_REVISION = jsonrpc.LEGACY_REVISIONS[-1]
_INFO = msgspec.json.encode({"name": "mcpctl", "version": __version__})
CALLER = Caller(_REVISION, _INFO, b"{}", Client("mcpctl", __version__, _REVISION, b"{}"))
"""Commands as a client: of the last revision with a handshake, and without capabilities."""
"""Failures of a server, not of one call."""

Arguments = Callable[[Tool | None], bytes]
"""Gives the JSON of a call's arguments, for the tool as it is known; None where it is not."""


@dataclass(frozen=True)
class Result:
    """What a tool answered: its result as it came, or `{"error": …}` with the error of JSON-RPC as it came."""

    raw: RawJson
    content: Sequence[Any]
    failure: UpstreamFailed | None = None
    """What to raise once it is printed, where it is an error."""


def call(
    paths: Paths,
    key: str,
    arguments: Arguments,
    timeout_s: float | None = None,
    toolset: str | None = None,
    project: str | None = None,
) -> Result:
    """Call a tool; raises what `McpctlError` fits where it has not answered.

    The arguments are asked for when the key is known to name a server, and before anything starts.
    """
    loaded = _load(paths, project)
    server, name = rows.split(key)
    with closing(state.opened(paths)) as db:
        catalog = Catalog(loaded, db, in_force.current(paths, loaded, toolset, db))
        if not name:
            raise rows.unknown(catalog, key)
        if server not in loaded.elsewhere:  # which is refused on record, as a client's call is
            loaded.server(server)
        passed = arguments(catalog.find(server, name))
    if timeout_s is not None and server in loaded.servers:
        patient = msgspec.structs.replace(loaded.servers[server], call_timeout_s=timeout_s)
        loaded = replace(loaded, servers={**loaded.servers, server: patient})
    return asyncio.run(_called(loaded, paths, f"{server}:{name}", passed, toolset))


def refresh(
    paths: Paths, names: Sequence[str], on_progress: Progress = unseen, project: str | None = None
) -> tuple[Found, UpstreamFailed | None]:
    """List the tools of servers anew: those named, or all that are enabled. Progress is in servers.

    The rows of those that were listed, and where others were not, the failure to raise once they are printed.
    """
    loaded = _load(paths, project)
    for name in names:
        if not loaded.server(name).enabled:
            raise Refused(f"server '{name}' is disabled", f"enable it with: mcpctl servers enable {name}", "disabled")
    wanted = list(dict.fromkeys(names)) or list(loaded.enabled)
    found, failures = asyncio.run(_refreshed(loaded, paths, wanted, on_progress))
    if not failures:
        return Found.of(found), None
    hint = f"look closer with: mcpctl servers check {next(iter(failures))}"
    return Found.of(found), UpstreamFailed("\n".join(failures.values()), hint, "refresh_failed")


async def _called(loaded: Config, paths: Paths, key: str, arguments: bytes, toolset: str | None) -> Result:
    answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def took(raw: bytes, content: Sequence[Any], said: str | None) -> None:
        if not answer.done():  # interrupted: nobody waits for it any more
            failure = None if said is None else _tool_error(key, said)
            answer.set_result(Result(RawJson(raw.decode("utf-8", "replace")), content, failure))

    def refused(code: str, message: str) -> None:
        if not answer.done():
            answer.set_exception(_failure(code, message, key, loaded))

    def error(_: Asked, raw: bytes) -> None:
        took(b'{"error":%b}' % raw, [], translate.message_of(raw))

    def answered(_: Asked, json_: Json) -> None:
        raw = bytes(json_)
        is_error = bytes(translate.head(raw).is_error) == b"true"
        said = (translate.text_of(raw) or raw.decode("utf-8", "replace")) if is_error else None
        took(raw, _content(raw), said)

    gateway = Gateway(loaded, paths, via="cli", toolset=toolset)
    gateway.recorder.client = CALLER.client
    try:
        asked = Asked(b"1", CALLER, answered, error, refused=refused)
        envelope = jsonrpc.object_of({"toolKey": msgspec.json.encode(key), "arguments": arguments})
        gateway.execute.start(asked, envelope)
        return await answer
    finally:
        await gateway.stop(0)


async def _refreshed(
    loaded: Config, paths: Paths, names: list[str], on_progress: Progress
) -> tuple[list[dict[str, Any]], Mapping[str, str]]:
    gateway = Gateway(loaded, paths)
    gateway.asked_for.update(dict.fromkeys(names, ()))
    try:
        async with told(on_progress, len(names)) as one_done:
            failures = await gateway.refresh(names, CALLER, one_done)
        return [gateway.status(name) for name in names if name not in failures], failures
    finally:
        await gateway.stop(0)


@contextlib.asynccontextmanager
async def told(on_progress: Progress, total: int) -> AsyncIterator[Callable[[], None]]:
    """Tell how many of `total` are done, again and again, since one may take long; what is given says that one is."""
    done = 0

    def one_done() -> None:
        nonlocal done
        done += 1
        on_progress(done, total)

    async def tell() -> None:
        while done < total:
            on_progress(done, total)
            await asyncio.sleep(_TOLD_EVERY_S)

    telling = asyncio.create_task(tell())
    try:
        yield one_done
    finally:
        telling.cancel()


def _load(paths: Paths, project: str | None) -> Config:
    loaded = config.load(paths.config, project)
    state.check(paths)
    for problem in loaded.problems.values():
        warn(f"{problem}; this server is skipped")
    return loaded


def _failure(code: str, message: str, key: str, loaded: Config) -> McpctlError:
    """A refusal, which is worded for a model, in words for a person."""
    server = key.partition(":")[0]
    if code == "not_permitted":
        return Refused(f"tool '{key}' is not permitted", f"see [servers.{server}.tools] in {loaded.path}", code)
    if code == "not_in_toolset":
        which = f" --project {loaded.project}" if loaded.project else ""
        hint = f"see what is in it with: mcpctl toolsets show{which}; or call it with --toolset none"
        return Refused(f"tool '{key}' is not in the toolset in force", hint, code)
    if code == "not_in_project":
        return loaded.not_in_project(server)
    if code == "server_disabled":
        return Refused(f"server '{server}' is disabled", f"enable it with: mcpctl servers enable {server}", code)
    if code == "unknown_tool":
        near = message.partition("did you mean ")[2].partition("?")[0]
        hint = f"did you mean {near}?" if near else f"see: mcpctl tools ls --server {server}"
        return NotFound(f"no tool '{key}'", hint, "tool_not_found")
    if code == "server_unusable":
        return Unusable(message, f"fix it in {loaded.path}", code)
    return UpstreamFailed(message, "see: mcpctl calls show last", code)


def _tool_error(key: str, said: str) -> UpstreamFailed:
    return UpstreamFailed(f"{key} answered with an error: {said}", f"see: mcpctl tools show {key}", "tool_error")


def _content(raw: bytes) -> Sequence[Any]:
    try:
        found = json.loads(raw)
    except ValueError:
        return []
    content = found.get("content") if isinstance(found, dict) else None
    return content if isinstance(content, list) else [found]
