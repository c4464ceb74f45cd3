"""A registry of servers in this process, on loopback: it answers as the published API has it, or as a test has it."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.oauth.serving import served
from tests.servers.web import without_delay

OFFICIAL = "io.modelcontextprotocol.registry/official"
_MOST = 100
Handler = Callable[[Request], Awaitable[Response]]


def package(kind: str = "npm", identifier: str = "weather-mcp", version: str = "1.2.3", **more: Any) -> dict[str, Any]:
    """A package of a server."""
    return {"registryType": kind, "identifier": identifier, "version": version, "transport": {"type": "stdio"}, **more}


def remote(url: str = "https://weather.example/mcp", kind: str = "streamable-http", **more: Any) -> dict[str, Any]:
    """An address of a server."""
    return {"type": kind, "url": url, **more}


def described(name: str = "io.github.ada/weather", version: str = "1.2.3", **more: Any) -> dict[str, Any]:
    """The server.json of one version of a server."""
    return {"name": name, "description": "Forecasts and warnings", "version": version, **more}


@dataclass
class OwnRegistry:
    """Versions of servers in the order in which they were published, and the requests for them."""

    url: str = ""
    published: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, Response] = field(default_factory=dict)
    """In place of its own, by the path as it is sent."""
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """Path, as it was sent, and parameters of each request."""

    def publish(self, server: Mapping[str, Any], **official: Any) -> None:
        """Have one more version, which is the newest one of its server."""
        for each in self.published:
            if each["server"]["name"] == server["name"]:
                each["_meta"][OFFICIAL]["isLatest"] = False
        at = f"2026-01-01T00:00:{len(self.published) % 60:02}Z"
        meta = {"status": "active", "publishedAt": at, "updatedAt": at, "isLatest": True, **official}
        self.published.append({"server": dict(server), "_meta": {OFFICIAL: meta}})

    def answer(self, response: Response, name: str = "io.github.ada/weather", version: str = "latest") -> None:
        """Answer so to who asks for this version."""
        self.answers[f"/v0.1/servers/{quote(name, safe='')}/versions/{version}"] = response

    async def one(self, request: Request) -> Response:
        """A version of a server."""
        name, version = request.path_params["name"], request.path_params["version"]
        for each in self._visible(request):
            is_it = each["_meta"][OFFICIAL]["isLatest"] if version == "latest" else each["server"]["version"] == version
            if each["server"]["name"] == name and is_it:
                return JSONResponse(each)
        return JSONResponse({"error": "Server not found"}, 404)

    async def versions(self, request: Request) -> Response:
        """All versions of a server, the newest first."""
        name = request.path_params["name"]
        found = [each for each in reversed(self._visible(request)) if each["server"]["name"] == name]
        if not found:
            return JSONResponse({"error": "Server not found"}, 404)
        return JSONResponse({"servers": found, "metadata": {"count": len(found)}})

    async def listed(self, request: Request) -> Response:
        """A page of the servers with a text in their names."""
        asked = request.query_params
        found = [
            each
            for each in self._visible(request)
            if asked.get("search", "").lower() in each["server"]["name"].lower()
            and (asked.get("version") != "latest" or each["_meta"][OFFICIAL]["isLatest"])
        ]
        start, limit = int(asked.get("cursor", "0")), min(int(asked.get("limit", "30")), _MOST)
        page, rest = found[start : start + limit], found[start + limit :]
        metadata = {"count": len(page), **({"nextCursor": str(start + limit)} if rest else {})}
        return JSONResponse({"servers": page, "metadata": metadata})

    def _visible(self, request: Request) -> list[dict[str, Any]]:
        with_deleted = request.query_params.get("include_deleted") == "true"
        return [each for each in self.published if with_deleted or each["_meta"][OFFICIAL]["status"] != "deleted"]

    def app(self) -> Starlette:
        """Its addresses."""

        def noted(handler: Handler) -> Handler:
            async def answer(request: Request) -> Response:
                path = request.scope["raw_path"].decode()
                self.asked.append((path, dict(request.query_params)))
                return self.answers[path] if path in self.answers else await handler(request)

            return answer

        return Starlette(
            routes=[
                Route("/v0.1/servers", noted(self.listed)),
                Route("/v0.1/servers/{name:path}/versions/{version}", noted(self.one)),
                Route("/v0.1/servers/{name:path}/versions", noted(self.versions)),
            ]
        )


@contextlib.contextmanager
def own_registry() -> Iterator[OwnRegistry]:
    """A registry for as long as the block lasts."""
    with without_delay() as listening:
        registry = OwnRegistry(f"http://127.0.0.1:{listening.getsockname()[1]}")
        with served(registry.app(), listening):
            yield registry
