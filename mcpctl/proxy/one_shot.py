"""The gateway without a client: one call, or one refresh, for a command."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mcpctl import __version__, config, tool_keys
from mcpctl.callers import LEGACY_REVISIONS, Caller, Claims, Client
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.config import Config
from mcpctl.errors import Refused, UpstreamFailed, warn
from mcpctl.failure import Failure
from mcpctl.models import Found, Progress, RawJson, Tool, unseen
from mcpctl.paths import Paths
from mcpctl.policy import words
from mcpctl.policy.view import View
from mcpctl.proxy import translate
from mcpctl.proxy.client_side import CallRequest
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.own_token import own_token
from mcpctl.proxy.session import Session
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.recordable import Json
from mcpctl.store.state import State
from mcpctl.toolsets import in_force
from mcpctl.wire import jsonrpc

_TOLD_EVERY_S = 0.1
_REVISION = LEGACY_REVISIONS[-1]
_INFO = msgspec.json.encode({"name": "mcpctl", "version": __version__})
CALLER = Caller(_REVISION, _INFO, b"{}", Client("mcpctl", __version__, _REVISION, b"{}"), Claims(of_person=True))
"""Commands as a client: of the last revision with a handshake, and without capabilities."""

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
    loaded = load(paths, project)
    server, name = tool_keys.split_typed(key)
    with State.opened(paths) as state:
        catalog = Catalog(View(loaded, in_force.current(paths, loaded, toolset, state)), state)
        if not name:
            raise rows.unknown(catalog, key)
        if server not in loaded.elsewhere:  # which is refused on record, as a client's call is
            loaded.server(server)
        passed = arguments(catalog.find(server, name))
    if timeout_s is not None and server in loaded.servers:
        patient = msgspec.structs.replace(loaded.servers[server], call_timeout_s=timeout_s)
        loaded = replace(loaded, servers={**loaded.servers, server: patient})
    return asyncio.run(_called(loaded, paths, tool_keys.join(server, name), passed, toolset))


def refresh(
    paths: Paths, names: Sequence[str], on_progress: Progress = unseen, project: str | None = None
) -> tuple[Found, UpstreamFailed | None]:
    """List the tools of servers anew: those named, or all that are enabled. Progress is in servers.

    The rows of those that were listed, and where others were not, the failure to raise once they are printed.
    """
    loaded = load(paths, project)
    for name in names:
        if not loaded.server(name).enabled:
            raise Refused(f"server '{name}' is disabled", f"enable it with: mcpctl servers enable {name}", "disabled")
    servers = list(dict.fromkeys(names)) or list(loaded.enabled)
    rows, failures = asyncio.run(_refreshed(loaded, paths, servers, on_progress))
    if not failures:
        return Found.of(rows), None
    hint = f"look closer with: mcpctl servers check {next(iter(failures))}"
    return Found.of(rows), UpstreamFailed("\n".join(failures.values()), hint, "refresh_failed")


class Commanded(Session):
    """The session of a command: what becomes of each of its calls is awaited by it."""

    def __init__(self, gateway: Gateway, *, via: str = "cli") -> None:
        super().__init__(gateway, _Nowhere(), via=via)
        self.record_ids: list[str] = []
        """The ids on record of the calls that have ended."""
        self._awaited: dict[bytes, tuple[str, asyncio.Future[Result]]] = {}

    async def call(
        self, key: str, arguments: bytes, *, execute_class: str | None = None, replays: str | None = None
    ) -> Result:
        """Call a tool; raises what `McpctlError` fits where it has not answered."""
        request = CallRequest(b"%d" % (len(self._awaited) + 1), CALLER, execute_class=execute_class, replays=replays)
        outcome: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._awaited[request.id] = key, outcome
        envelope = jsonrpc.object_of({"toolKey": msgspec.json.encode(key), "arguments": arguments})
        self.execute.start(request, envelope)
        return await outcome

    def answer(self, request: CallRequest, result: Json) -> None:
        """The tool's result."""
        raw = bytes(result)
        is_error = bytes(translate.head(raw).is_error) == b"true"
        said = (translate.text_of(raw) or raw.decode("utf-8", "replace")) if is_error else None
        self._take(request, raw, _content(raw), said)

    def error(self, request: CallRequest, error: bytes) -> None:
        """The error that its server answered with."""
        self._take(request, b'{"error":%b}' % error, [], translate.message_of(error))

    def refused(self, request: CallRequest, failure: Failure, call_id: str) -> None:
        """Why there is no answer."""
        _, outcome = self._awaited[request.id]
        if not outcome.done():  # else it was interrupted: nobody waits for it any more
            self.record_ids.append(call_id)
            outcome.set_exception(words.for_person(failure))

    def _take(self, request: CallRequest, raw: bytes, content: Sequence[Any], said: str | None) -> None:
        key, outcome = self._awaited[request.id]
        if not outcome.done():
            if call := self.execute.in_flight.get(request.id):
                self.record_ids.append(call.record_id)
            failure = None if said is None else _tool_error(key, said)
            outcome.set_result(Result(RawJson(raw.decode("utf-8", "replace")), content, failure))

    async def end(self) -> None:
        """End the session on record, and its servers."""
        await self.settle(0)
        await asyncio.gather(self.close(0), self.gateway.stop())


class _Nowhere:
    """The transport to a client that is told nothing but what becomes of its call."""

    pending = 0

    def write(self, *pieces: bytes | memoryview) -> None:
        """Let it go."""


async def _called(loaded: Config, paths: Paths, key: str, arguments: bytes, toolset: str | None) -> Result:
    session = Commanded(Gateway(loaded, paths, toolset=toolset, token=own_token()))
    try:
        return await session.call(key, arguments)
    finally:
        await session.end()


async def _refreshed(
    loaded: Config, paths: Paths, names: list[str], on_progress: Progress
) -> tuple[list[dict[str, Any]], Mapping[str, str]]:
    gateway = Gateway(loaded, paths)
    gateway.asked_for.update(dict.fromkeys(names, ()))
    try:
        async with told(on_progress, len(names)) as one_done:
            failures = await gateway.refresh(names, CALLER, one_done)
        return [listed_row(gateway, name) for name in names if name not in failures], failures
    finally:
        await gateway.stop()


def listed_row(gateway: Gateway, name: str) -> dict[str, Any]:
    """A listed server: how many tools it has, which revision it speaks, how long it took to start."""
    listed, upstream = gateway.catalog(gateway.view(None)).listed(name), gateway.upstreams[name]
    return {
        "server": name,
        "tools": len(listed.tools) if listed else 0,
        "revision": upstream.connection.revision if upstream.connection else None,
        "duration_ms": round(upstream.start_s * 1000),
    }


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


def load(paths: Paths, project: str | None) -> Config:
    """The configuration for a command that starts servers; raises `Unusable` for what would fail it later."""
    loaded = config.load(paths.config, project)
    State.check(paths)
    PolicyFile.check(paths, loaded.policy)
    for problem in loaded.problems.values():
        warn(f"{problem}; this server is skipped")
    return loaded


def _tool_error(key: str, said: str) -> UpstreamFailed:
    return UpstreamFailed(f"{key} answered with an error: {said}", f"see: mcpctl tools show {key}", "tool_error")


def _content(raw: bytes) -> Sequence[Any]:
    try:
        result = json.loads(raw)
    except ValueError:
        return []
    content = result.get("content") if isinstance(result, dict) else None
    return content if isinstance(content, list) else [result]
