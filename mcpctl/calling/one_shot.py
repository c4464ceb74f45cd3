"""The gateway without a client: one call, prompt, resource or refresh, for a command."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs
from msgspec.structs import replace

from mcpctl.base import bounds, tool_keys
from mcpctl.base.callers import Caller
from mcpctl.base.errors import McpctlError, NotFound, Refused, Unusable, UpstreamFailed, warn
from mcpctl.base.failure import Failed
from mcpctl.base.models import Found, Progress, RawJson, Tool, unseen
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.paths import Paths
from mcpctl.calling import ad_hoc
from mcpctl.calling.own_session import CALLER, Result, Tell, own_session
from mcpctl.catalog import known_features, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.config.server_settings import Server
from mcpctl.policy import words
from mcpctl.policy.decide import CALL, REFUSE, Subject, decide
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.view import View
from mcpctl.proxy import translate
from mcpctl.proxy.consent_forms import AskHere
from mcpctl.proxy.feature_requests import FeatureRequests
from mcpctl.proxy.gateway import Gateway
from mcpctl.store import server_logs
from mcpctl.store.state import State
from mcpctl.toolsets import in_force

_REPORTED_EVERY_S = 0.1
Arguments = Callable[[Tool | None], bytes]  # the JSON of a call's arguments; the tool is None where it is not known


class CallManner(NamedTuple):
    """How a call is made, whatever it is of. With `tell`, the server is asked for its progress. An error has help on
    the arguments, unless it is wanted `as_sent`. With `ask`, a person is asked about a call that needs it."""

    timeout_s: float | None = None
    toolset: str | None = None
    project: str | None = None
    tell: Tell = None
    as_sent: bool = False
    ask: AskHere | None = None


def call(paths: Paths, key: str, arguments: Arguments, manner: CallManner, *, following: str = "") -> Result:
    """Call a tool; raises an `McpctlError` if it gave no answer. The arguments are asked for when the key is known to
    name a server, and before anything starts. `following` is the word behind the key, which may be the tool of a
    server that is named there."""
    loaded = load(paths, manner.project, manner.timeout_s)
    server, name = tool_keys.split_typed(key)
    with State.opened(paths) as state:
        catalog = Catalog(View(loaded, in_force.current(paths, loaded, manner.toolset, state)), state)
        if not name:
            raise rows.unknown(catalog, key, following)
        if server not in loaded.elsewhere:  # which is refused on record, as a client's call is
            loaded.server(server)
        passed = arguments(catalog.find(server, name))
    full_key = tool_keys.join(server, name)

    async def called() -> Result:
        async with own_session(loaded, paths, manner.toolset, manner.tell, ask=manner.ask) as session:
            return await session.call(full_key, passed, as_sent=manner.as_sent)

    return asyncio.run(called())


def call_ad_hoc(paths: Paths, server: Server, name: str, arguments: Arguments, manner: CallManner) -> Result:
    """Call a tool of a server that may be in no configuration, as `call` does. It is listed first, unless its list is
    known or the call would be refused."""
    loaded, server_name = ad_hoc.beside(load(paths, manner.project), server)
    loaded, name = _patient(loaded, manner.timeout_s), name.removeprefix(f"{server_name}:")

    async def called() -> Result:
        async with own_session(loaded, paths, manner.toolset, manner.tell, ask=manner.ask) as session:
            gateway, view = session.gateway, session.gateway.view(session.caller)
            await gateway.load(server_name, view)
            subject = Subject(CALL, server_name, name, gateway.catalog(view).find(server_name, name), view)
            if subject.tool is None and decide(subject).outcome != REFUSE:
                await _list(gateway, server_name)
            passed = arguments(gateway.catalog(gateway.view(session.caller)).find(server_name, name))
            return await session.call(tool_keys.join(server_name, name), passed, as_sent=manner.as_sent)

    try:
        result = asyncio.run(called())
    except McpctlError as error:
        raise ad_hoc.told(error, server, server_name) from None
    if result.failure:
        ad_hoc.told(result.failure, server, server_name)
    return result


def list_ad_hoc(
    paths: Paths, server: Server, on_progress: Progress = unseen, project: str | None = None
) -> tuple[Config, str]:
    """List a server that may be in no configuration; the configuration with it, and its name there."""
    loaded, name = ad_hoc.beside(load(paths, project), server)
    _check_enabled(loaded, name)

    async def listed() -> None:
        async with listing(loaded, paths, [name], on_progress) as (gateway, one_done):
            await _list(gateway, name)
            one_done()

    try:
        asyncio.run(listed())
    except McpctlError as error:
        raise ad_hoc.told(error, server, name) from None
    with State.opened(paths) as state:
        if Catalog(View(loaded), state).listed(name) is None:  # it is in memory, and that of another state
            why = f"the tools of '{name}' cannot be shown: their list cannot be kept in {paths.data}"
            raise Unusable(why, "name another place with --data-dir", "list_not_kept")
    return loaded, name


async def _list(gateway: Gateway, name: str) -> None:
    try:
        await gateway.upstreams[name].refresh_all(CALLER)
    except Failed as error:
        raise words.for_person(error.failure, f"mcpctl servers check {name}") from None


def _check_enabled(loaded: Config, name: str) -> None:
    if not loaded.server(name).enabled:
        raise Refused(f"server '{name}' is disabled", f"enable it with: mcpctl servers enable {name}", "disabled")


def prompt(
    paths: Paths, name: str, arguments: bytes, timeout_s: float | None = None, project: str | None = None
) -> RawJson:
    """The result of `prompts/get`, as its server sent it; raises an `McpctlError` if there is none."""
    try:
        return _read(paths, name, lambda requests, caller: requests.prompt(name, arguments, caller), timeout_s, project)
    except NotFound as error:
        if error.code != "unknown_prompt":
            raise
        with rows.catalog(paths, project=project, quiet=True) as found:
            known = list(known_features.features(found).prompts)
        raise NotFound(error.message, did_you_mean(name[: bounds.NAME], known, error.hint), error.code) from None


def resource(
    paths: Paths, uri: str, server: str | None = None, timeout_s: float | None = None, project: str | None = None
) -> RawJson:
    """The result of `resources/read`, of this server or else of the one whose URI it is; raises as `prompt` does."""
    if server is not None:
        config.load(paths.config, project).server(server)
    return _read(paths, uri, lambda requests, caller: requests.read(uri, caller, server), timeout_s, project)


def _read(
    paths: Paths,
    name: str,
    ask: Callable[[FeatureRequests, Caller], Awaitable[bytes]],
    timeout_s: float | None,
    project: str | None,
) -> RawJson:
    loaded = load(paths, project, timeout_s)

    async def answered() -> bytes:
        async with own_session(loaded, paths, None) as session:
            return await ask(session.features, session.caller)

    try:
        return RawJson(asyncio.run(answered()).decode("utf-8", "replace"))
    except Failed as error:
        if not error.error:
            server = error.failure.facts.get("server")
            see = f"mcpctl servers check {server}" if server else "mcpctl sessions show last"
            raise words.for_person(error.failure, see) from None
        message = translate.message_of(error.error)
        raise UpstreamFailed(f"{name}: its server answered with an error: {message}", "", "read_failed") from None


def refresh(
    paths: Paths, names: Sequence[str], on_progress: Progress = unseen, project: str | None = None
) -> tuple[Found, UpstreamFailed | None]:
    """List the tools of these servers, or of all enabled: the rows, and the failure to raise once they are printed."""
    loaded = load(paths, project)
    for name in names:
        _check_enabled(loaded, name)
    servers = list(dict.fromkeys(names)) or list(loaded.enabled)
    if not servers and loaded.problems:
        hint = f"fix it in {loaded.path}, or change it with: mcpctl servers set {next(iter(loaded.problems))}"
        raise Unusable("no server was listed: none of the entries can be used", hint, "server_unusable")
    if not servers and (disabled := sorted(name for name in loaded.servers if name not in loaded.elsewhere)):
        hint = f"enable one with: mcpctl servers enable {disabled[0]}"
        raise Unusable(
            f"no server was listed: none is enabled, and these are disabled: {', '.join(disabled)}", hint, "disabled"
        )
    rows, failures = asyncio.run(_refreshed(loaded, paths, servers, on_progress))
    if not failures:
        return Found.of(rows), None
    first = next(iter(failures))
    hint = f"look closer with: mcpctl servers check {first}"
    if see := server_logs.hint(paths, first):
        hint += f"; {see}"
    return Found.of(rows), UpstreamFailed("\n".join(failures.values()), hint, "refresh_failed")


async def _refreshed(
    loaded: Config, paths: Paths, names: list[str], on_progress: Progress
) -> tuple[list[dict[str, Any]], Mapping[str, str]]:
    async with listing(loaded, paths, names, on_progress) as (gateway, one_done):
        failures = await gateway.refresh(names, CALLER, one_done)
        return [listed_row(gateway, name) for name in names if name not in failures], failures


def listed_row(gateway: Gateway, name: str) -> dict[str, Any]:
    catalog, upstream = gateway.catalog(gateway.view(None)), gateway.upstreams[name]
    listed = catalog.listed(name)
    return {
        "server": name,
        "tools": len(listed.tools) if listed else 0,
        **catalog.feature_counts(name),
        "revision": upstream.connection.revision if upstream.connection else None,
        "duration_ms": round(upstream.start_s * 1000),
    }


@contextlib.asynccontextmanager
async def listing(
    loaded: Config, paths: Paths, names: Collection[str], on_progress: Progress
) -> AsyncIterator[tuple[Gateway, Callable[[], None]]]:
    """A gateway that lists these servers, and a function to call for each that is done; progress is repeated."""
    gateway = Gateway(loaded, paths)
    gateway.asked_for.update(dict.fromkeys(names, ()))
    done = 0

    def one_done() -> None:
        nonlocal done
        done += 1
        on_progress(done, len(names))

    async def report() -> None:
        while done < len(names):
            on_progress(done, len(names))
            await asyncio.sleep(_REPORTED_EVERY_S)

    reporting = asyncio.create_task(report())
    try:
        yield gateway, one_done
    finally:
        reporting.cancel()
        await gateway.stop()
        await gateway.memory.written()  # how its servers ended, too


def load(paths: Paths, project: str | None, timeout_s: float | None = None) -> Config:
    """The configuration, with a warning for each entry that cannot be used; with `timeout_s` for every call."""
    loaded = config.load(paths.config, project)
    State.check(paths)
    PolicyFile.check(paths, loaded.policy)
    for problem in loaded.problems.values():
        warn(f"{problem}; this server is skipped")
    return _patient(loaded, timeout_s)


def _patient(loaded: Config, timeout_s: float | None) -> Config:
    if timeout_s is None:
        return loaded
    patient = ((name, structs.replace(server, call_timeout_s=timeout_s)) for name, server in loaded.servers.items())
    return replace(loaded, servers=dict(patient))
