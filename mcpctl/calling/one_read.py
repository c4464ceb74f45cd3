"""The gateway without a client: one prompt that is got, or one resource that is read, for a command."""

import asyncio
from collections.abc import Awaitable, Callable

from mcpctl.base import bounds
from mcpctl.base.errors import NotFound, UpstreamFailed
from mcpctl.base.failure import Failed
from mcpctl.base.models import RawJson
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.paths import Paths
from mcpctl.calling.one_shot import load, patient
from mcpctl.calling.own_session import CALLER, own_session
from mcpctl.catalog import known_features, rows
from mcpctl.config import config
from mcpctl.policy import words
from mcpctl.proxy import translate
from mcpctl.proxy.feature_requests import FeatureRequests


def prompt(
    paths: Paths, name: str, arguments: bytes, timeout_s: float | None = None, project: str | None = None
) -> RawJson:
    """The result of `prompts/get`, as its server sent it; raises what `McpctlError` fits where there is none."""
    try:
        return _asked(paths, name, lambda requests: requests.prompt(name, arguments, CALLER), timeout_s, project)
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
    return _asked(paths, uri, lambda requests: requests.read(uri, CALLER, server), timeout_s, project)


def _asked(
    paths: Paths,
    name: str,
    ask: Callable[[FeatureRequests], Awaitable[bytes]],
    timeout_s: float | None,
    project: str | None,
) -> RawJson:
    loaded = patient(load(paths, project), timeout_s)

    async def answered() -> bytes:
        async with own_session(loaded, paths, None) as session:
            return await ask(session.features)

    try:
        return RawJson(asyncio.run(answered()).decode("utf-8", "replace"))
    except Failed as error:
        if not error.error:
            server = error.failure.facts.get("server")
            see = f"mcpctl servers check {server}" if server else "mcpctl sessions show last"
            raise words.for_person(error.failure, see) from None
        said = translate.message_of(error.error)
        raise UpstreamFailed(f"{name}: its server answered with an error: {said}", "", "read_failed") from None
