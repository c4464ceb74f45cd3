"""`Front` on one event loop, asked as a server would ask it, without a socket."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcpctl.base.paths import Paths
from mcpctl.over_http.front import Front
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store.run import Run
from tests.proxy.client import ENVELOPE, INFO, LATEST, MODERN
from tests.proxy.in_memory import MemoryServer, World, play

HOST = "127.0.0.1:8080"
_JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Answer:
    """What one request is answered, as far as it has come."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.changed = asyncio.Event()
        self.may_read = asyncio.Event()
        """Whether the client takes what it is sent."""
        self.may_read.set()
        self.task: asyncio.Task[None]
        self._gone = asyncio.Event()
        self._on_gone: Callable[[], None] | None = None

    def leave(self) -> None:
        """Close the connection."""
        self._gone.set()
        if self._on_gone:
            self._on_gone()

    def tell(self, callback: Callable[[], None] | None) -> None:
        """Call this when the connection is closed."""
        self._on_gone = callback
        if callback and self._gone.is_set():
            callback()

    async def until(self, what: Callable[["Answer"], Any]) -> Any:
        """The result of `what` once that is true."""
        while not (found := what(self)):
            self.changed.clear()
            await self.changed.wait()
        return found

    async def whole(self) -> "Answer":
        """It, once it is complete."""
        await self.task
        return self

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def messages(self) -> list[Any]:
        """The messages of a stream, or of the body."""
        if self.headers.get("content-type") != "text/event-stream":
            return [self.json]
        lines = self.body.decode().split("\r\n")
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


class Web:
    """Clients of a `Front`, over a `World`."""

    def __init__(
        self, world: World, token: str | None = None, listened: Sequence[str] = (HOST,), *, is_open: bool = False
    ) -> None:  # fmt: skip
        self.world = world
        self.front = Front(world.gateway, world.offer, listened, token, is_open=is_open)
        self.answers: list[Answer] = []
        self.notes: dict[Any, dict[str, Any]] = {}

    def ask(
        self,
        method: str = "POST",
        body: Any = None,
        *,
        path: str = "/mcp",
        token: str | None = None,
        parts: Sequence[bytes] | None = None,
        is_cut: bool = False,
        address: str = "127.0.0.1",
        more: Sequence[tuple[str, str]] = (),
        **headers: str | None,
    ) -> Answer:
        """Begin a request, without headers that are None. Its body comes in `parts`, the last not if it `is_cut`."""
        answer = Answer()
        named = {"host": HOST, **(_JSON if method == "POST" else {"accept": "text/event-stream"})}
        named |= {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        for name in [name.replace("_", "-") for name, value in headers.items() if value is None]:
            named.pop(name, None)
        if token:
            named["authorization"] = f"Bearer {token}"
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        is_slow = is_cut or (parts is not None and not parts)  # of a body that never comes, nothing is there
        coming = [raw] if parts is None else list(parts) or [b"", b""]

        # As a connection does where one request is whole and has the head of the one before it.
        head = address, method, path, *named.items(), *more
        notes = {} if is_slow or parts else self.notes.setdefault(head, {})

        async def receive() -> dict[str, Any]:
            if coming[is_slow:]:
                part = coming.pop(0)
                return {"type": "http.request", "body": part, "more_body": bool(coming)}
            await answer._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Mapping[str, Any]) -> None:
            await answer.may_read.wait()
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answer.body += message.get("body", b"")
                if not message.get("more_body"):
                    answer._gone.set()
            answer.changed.set()

        scope = {
            "type": "http", "method": method, "path": path, "client": (address, 5000), "server": ("127.0.0.1", 8080),
            "headers": [(name.encode(), value.encode()) for name, value in (*named.items(), *more)],
            "extensions": {"gone": {"tell": answer.tell}, "notes": notes},
        }  # fmt: skip
        answer.task = asyncio.ensure_future(self.front(scope, receive, send))
        self.answers.append(answer)
        return answer

    def newer(
        self, method: str, params: Mapping[str, Any] | None = None, id: Any = 1, *,
        meta: Mapping[str, Any] | None = None, **more: Any,
    ) -> Answer:  # fmt: skip
        """Begin a request of 2026-07-28 with the headers that it has to have."""
        params = {**(params or {}), "_meta": {**ENVELOPE, **(meta or {})}}
        name = params.get("uri") if method == "resources/read" else params.get("name")
        headers = {"mcp_protocol_version": MODERN, "mcp_method": method, **({"mcp_name": name} if name else {}), **more}
        return self.ask("POST", {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, **headers)

    def call(self, key: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Answer:
        """Begin a call of 2026-07-28."""
        passed = {"toolKey": key, "arguments": dict(arguments or {})}
        return self.newer("tools/call", {"name": "tool_execute", "arguments": passed}, **more)

    async def open(self, token: str | None = None, revision: str = LATEST, **members: Any) -> "OlderClient":
        """A session of an older client."""
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": INFO, **members}
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = await self.ask("POST", body, token=token).whole()
        assert answer.status == 200, answer.body
        client = OlderClient(self, answer.headers["mcp-session-id"], token, revision)
        assert (await client.send(method="notifications/initialized").whole()).status == 202
        return client

    async def end(self) -> None:
        """Nothing is left."""
        for answer in self.answers:
            answer.leave()
        await self.front.drain(0)
        await asyncio.gather(*(answer.task for answer in self.answers))
        await self.front.close(0)


class OlderClient:
    """One session with a handshake."""

    def __init__(self, web: Web, id: str, token: str | None, revision: str) -> None:
        self.id = id
        self._web = web
        self._headers: dict[str, Any] = {"token": token, "mcp_session_id": id, "mcp_protocol_version": revision}

    def send(self, **message: Any) -> Answer:
        """Say something in a POST of its own."""
        return self._web.ask("POST", {"jsonrpc": "2.0", **message}, **self._headers)

    def ask(self, method: str, body: Any = None, **headers: Any) -> Answer:
        """Begin any request."""
        return self._web.ask(method, body, **{**self._headers, **headers})

    def call(self, key: str, arguments: Mapping[str, Any] | None = None, id: Any = 1, **params: Any) -> Answer:
        """Begin a call."""
        passed = {"toolKey": key, "arguments": dict(arguments or {})}
        return self.send(id=id, method="tools/call", params={"name": "tool_execute", "arguments": passed, **params})


OnWeb = Callable[[Web], Awaitable[None]]
PlayWeb = Callable[..., None]


def token_of(paths: Paths, **more: Any) -> tuple[str, str]:
    """A new token: its id and its text."""
    with PolicyFile.connect(paths) as file:
        token, text = tokens.create(file, **more)
    return token.id, text


def play_web(
    home: Path, paths: Paths, scene: OnWeb, *, http: Mapping[str, Any] | None = None, token: str | None = None,
    servers: Mapping[str, Callable[[], MemoryServer]], begin: Mapping[str, Any] | None = None, is_open: bool = False,
    **sections: Any,
) -> None:  # fmt: skip
    """Play a scene with clients over HTTP."""

    async def played(world: World) -> None:
        world.configure(http={"require_token": False, **(http or {})}, **sections)
        run = Run(paths)
        world.begin(run=run, most_processes=100, **(begin or {}))
        await world.gateway.current()
        web = Web(world, token, is_open=is_open)
        try:
            await scene(web)
        finally:
            await web.end()
            run.close()

    play(home, paths, played, **servers)
