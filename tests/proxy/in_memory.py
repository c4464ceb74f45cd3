"""The core on one event loop, with clients and servers in memory: for what is decided, not for how it travels."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcpctl.base import posix
from mcpctl.base.callers import ANYBODY, MODERN_REVISION, Caller, speaker
from mcpctl.base.failure import Failure
from mcpctl.base.paths import Paths
from mcpctl.config.server_settings import Server
from mcpctl.metatools.offers import Offer
from mcpctl.policy.holding import Locked
from mcpctl.proxy.client_protocol import ClientProtocol
from mcpctl.proxy.follower import ConfigFile
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.session import ClientSession
from mcpctl.store.run import Run
from mcpctl.upstreams.connection import Connection, Exchange, OnGone, OnMessage
from mcpctl.upstreams.transports import OnStderr, Transports
from mcpctl.upstreams.upstream import Upstream
from mcpctl.wire.jsonrpc import Json, Message, decode
from mcpctl.wire.writer import Readers
from tests.proxy.client import ENVELOPE, INFO, LATEST, META, SHARED_THREADS, write_config

TIMEOUT_S = 20.0
Answering = Callable[["MemoryConnection", dict[str, Any]], Awaitable[dict[str, Any]]]

LISTS = {
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resources", "resourceTemplates"),
}
"""The lists of prompts and resources: what declares them, and the member of the answer that has them."""
LISTED_AS = {"resourceTemplates": "templates"}


def tool(name: str, **annotations: bool) -> dict[str, Any]:
    """A tool's definition."""
    return {"name": name, "inputSchema": {"type": "object"}, **({"annotations": annotations} if annotations else {})}


async def echo(_: "MemoryConnection", params: dict[str, Any]) -> dict[str, Any]:
    """Answer a call with its arguments."""
    return {"content": [{"type": "text", "text": json.dumps(params.get("arguments", {}))}]}


class MemoryServer:
    """A server whose tools are data and whose answers are coroutines; each start of it is a connection."""

    def __init__(self, *tools: Mapping[str, Any], answer: Answering = echo, modern: bool = False) -> None:
        self.tools = list(tools)
        self.modern = modern
        """Whether it speaks 2026-07-28, and nothing else."""
        self.instructions = ""
        """Its instructions."""
        self.capabilities: dict[str, Any] = {}
        """Its capabilities, such as `{"prompts": {}, "resources": {"subscribe": True}}`."""
        self.prompts: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.templates: list[dict[str, Any]] = []
        self.features: dict[str, Answering] = {}
        """How it answers `prompts/get`, `resources/read` and the like, by method: the result, or `{"error": …}`."""
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """The methods and params of its requests about prompts and resources, in their order."""
        self.told: list[Any] = []
        """The clients' capabilities that it was told."""
        self.answer = answer
        self.calls: list[dict[str, Any]] = []
        """The params of the calls that have reached it."""
        self.cancelled: list[dict[str, Any]] = []
        self.connections: list[MemoryConnection] = []
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.may_list = asyncio.Event()
        self.may_list.set()
        self.was_called = asyncio.Event()

    async def take(self, connection: "MemoryConnection", message: dict[str, Any]) -> None:
        """Answer one message."""
        method, params = message.get("method"), message.get("params", {})
        if method in LISTS or method in self.features:
            await self._take_features(connection, message)
            return
        if self.modern and method in ("initialize", "server/discover"):
            supported = {"supported": [MODERN_REVISION]}
            unsupported = {"code": -32022, "message": "Unsupported protocol version", "data": supported}
            found = {"resultType": "complete", "supportedVersions": [MODERN_REVISION], **self._declared}
            outcome: dict[str, Any] = {"error": unsupported} if method == "initialize" else {"result": found}
            connection.say(id=message["id"], **outcome)
        elif method == "initialize":
            self.told.append(params["capabilities"])
            await self.may_start.wait()
            result = {"protocolVersion": params["protocolVersion"], "serverInfo": INFO, **self._declared}
            connection.say(id=message["id"], result=result)
        elif method == "tools/list":
            await self.may_list.wait()
            connection.say(id=message["id"], result={"tools": self.tools})
        elif method == "tools/call":
            self.calls.append(params)
            if self.modern:
                self.told.append(params["_meta"][META + "clientCapabilities"])
            self.was_called.set()
            connection.say(id=message["id"], result=await self.answer(connection, params))
        elif method == "notifications/cancelled":
            self.cancelled.append(params)
        elif method is None:
            connection.answers[message["id"]].set_result(message)
        elif "id" in message:
            connection.say(id=message["id"], error={"code": -32601, "message": "Method not found"})
        else:
            connection.notified.append(method)

    async def _take_features(self, connection: "MemoryConnection", message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        self.asked.append((method, params))
        if method in self.features:
            answer = await self.features[method](connection, params)
            connection.say(id=message["id"], **(answer if "error" in answer else {"result": answer}))
        else:
            connection.say(id=message["id"], **self._listed(method))

    @property
    def _declared(self) -> dict[str, Any]:
        return {"capabilities": self.capabilities, "instructions": self.instructions}

    def _listed(self, method: str) -> dict[str, Any]:
        declared, member = LISTS[method]
        if declared not in self.capabilities:
            return {"error": {"code": -32601, "message": "Method not found"}}
        return {"result": {member: getattr(self, LISTED_AS.get(member, member))}}


class MemoryConnection(Connection):
    """A connection to a server in memory."""

    def __init__(self, server: MemoryServer, on_message: OnMessage, on_gone: OnGone) -> None:
        super().__init__(on_message, on_gone)
        self.answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.may_end = asyncio.Event()
        """For answers that wait until a scene lets them end."""
        self.notified: list[str] = []
        """The methods of the notifications that it was sent."""
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()
        server.connections.append(self)

    is_over = property(lambda self: self.gone.is_set())
    last_words = property(lambda self: "")

    def how_it_ended(self) -> str:
        """Why it is gone."""
        return "exit status 0"

    def write(self, *pieces: Json, exchange: Exchange | None = None) -> None:
        """Give the server a line."""
        task = self._loop.create_task(self._server.take(self, json.loads(b"".join(pieces))))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def say(self, **message: Any) -> None:
        """Have the server say something."""
        self.say_raw(json.dumps({"jsonrpc": "2.0", **message}))

    def say_raw(self, line: str) -> None:
        """Have the server say something, in these characters."""
        if not self.hung_up:
            decoded = decode(line.encode())
            assert isinstance(decoded, Message)
            self._received(decoded)

    async def ask_client(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A question of the server's, and the client's answer to it."""
        id_ = f"q{len(self.answers) + 1}"
        self.answers[id_] = self._loop.create_future()
        self.say(id=id_, method=method, params=params)
        return await self.answers[id_]

    async def stop(self) -> None:
        """End it."""
        for task in list(self._tasks):
            task.cancel()
        if not self.gone.is_set():
            self._is_gone(Failure("server_died", {"reason": "it ended (exit status 0)"}))


class MemoryTransports(Transports):
    """Opens connections to servers in memory, by the command of their entry, or the document of an HTTP API."""

    def __init__(self, servers: Mapping[str, MemoryServer]) -> None:
        self.servers = servers

    async def open(
        self, server: Server, on_message: OnMessage, on_gone: OnGone, on_stderr: OnStderr, readers: Readers
    ) -> Connection:
        """A new connection."""
        return MemoryConnection(self.servers[server.command or server.openapi], on_message, on_gone)

    def close(self) -> None:
        """Nothing is left."""


class MemoryClient:
    """A client in memory: its session, and what it was told."""

    def __init__(
        self,
        gateway: Gateway,
        offer: Offer,
        revision: str = LATEST,
        capabilities: Mapping[str, Any] | None = None,
        speaker: Caller = ANYBODY,
        of: "MemoryClient | None" = None,
    ) -> None:
        self.instructions = ""
        """The instructions that an older client got in the handshake."""
        self.revision = revision
        self.info: Mapping[str, str] = INFO
        self.capabilities = dict(capabilities or {})
        self.questions: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        """The requests and notifications that it was sent."""
        self.pending = 0
        self._turn = gateway.turn
        self.readers = gateway.turn.of_client(gateway.held[speaker.holder].readers)
        """Those who read for it."""
        self._queue: list[bytes] = []
        self._answers: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._last_id = 0
        self._connect(gateway, offer, speaker, of)

    def _connect(self, gateway: Gateway, offer: Offer, speaker: Caller, of: "MemoryClient | None") -> None:
        self.session: ClientSession = ClientSession(
            gateway, self, speaker, parents=posix.parents, of=of.session if of else None
        )
        self._protocol: ClientProtocol = ClientProtocol(self.session, self, offer, of._protocol if of else None)

    # ---- as a transport

    async def released(self) -> None:
        """It takes all at once."""
        await self.readers.released()

    def write(self, *pieces: bytes | memoryview) -> None:
        """Take what is sent, once the record has it."""
        self._queue.append(b"".join(map(bytes, pieces)))
        self._turn.written(self.flush)

    def flush(self) -> None:
        """Read what was sent."""
        queue, self._queue = self._queue, []
        for line in b"".join(queue).splitlines():
            message = json.loads(line)
            if "method" in message:
                self.questions.put_nowait(message)
            else:
                answer = self._answers[message["id"]]
                if not answer.done():  # else a scene that has failed waits for it no more
                    answer.set_result(message)

    # ---- as a client

    async def delivered(self) -> None:
        """Return when what was sent without an answer has come."""

    def send(self, **message: Any) -> None:
        """Say something."""
        self._take(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _take(self, line: bytes) -> None:
        self._protocol.message(self._protocol.decoded(line))

    def request(self, method: str, params: Mapping[str, Any], id: Any = None) -> "asyncio.Future[dict[str, Any]]":
        """Send a request; what it is answered."""
        if id is None:
            self._last_id += 1
            id = self._last_id
        if self.revision == MODERN_REVISION:
            said = {META + "clientInfo": self.info, META + "clientCapabilities": self.capabilities}
            envelope = {**ENVELOPE, **said}
            params = {**params, "_meta": {**envelope, **params.get("_meta", {})}}
        answer = self._answers[id] = asyncio.get_running_loop().create_future()
        self.send(id=id, method=method, params=params)
        return answer

    async def open(self) -> None:
        """Begin as a client of its revision does."""
        if self.revision != MODERN_REVISION:
            members = {"protocolVersion": self.revision, "capabilities": self.capabilities, "clientInfo": self.info}
            self.instructions = (await self.request("initialize", members))["result"]["instructions"]

    def start_call(
        self, key: str, arguments: Mapping[str, Any] | None = None, *, meta_tool: str = "tool_execute", id: Any = None,
        **extra: Any,
    ) -> "asyncio.Future[dict[str, Any]]":  # fmt: skip
        """Begin a call; what it is answered."""
        passed = {"toolKey": key, "arguments": dict(arguments or {})}
        return self.request("tools/call", {"name": meta_tool, "arguments": passed, **extra}, id=id)

    async def call(self, key: str, *given: Any, **more: Any) -> str:
        """The text of a call's answer."""
        return text_of(await self.start_call(key, *given, **more))

    async def discover(self, *queries: str, **extra: Any) -> dict[str, Any]:
        """The answer to a search: its structured content, or its text in revisions that have none."""
        params = {"name": "tool_discovery", "arguments": {"query": queries}, **extra}
        answer = await self.request("tools/call", params)
        content: dict[str, Any] = answer["result"].get("structuredContent") or json.loads(text_of(answer))
        return content


def text_of(answer: dict[str, Any]) -> str:
    """The text of a result, or the message of an error."""
    if "error" in answer:
        return str(answer["error"]["message"])
    return "\n".join(block["text"] for block in answer["result"]["content"])


class World:
    """A gateway on a home, with servers in memory, and its clients."""

    def __init__(self, home: Path, paths: Paths, servers: Mapping[str, MemoryServer]) -> None:
        self.home = home
        self.paths = paths
        self.servers = servers
        self.offer = Offer()
        self.token: str | None = None
        self.gateway: Gateway
        self.clients: list[MemoryClient] = []

    def configure(self, servers: Mapping[str, Mapping[str, Any]] | None = None, **sections: Any) -> None:
        """Write config.toml: every server by its name, with these members more; those that are None are left out."""
        changes = servers or {}
        names = [name for name in {**self.servers, **changes} if changes.get(name, {}) is not None]
        kinds = {name: "openapi" if "openapi" in changes.get(name, {}) else "command" for name in names}
        entries = {name: {kinds[name]: name, **changes.get(name, {})} for name in names}
        write_config(self.home, entries, **sections)

    def begin(
        self, *, split: bool = False, annotate: bool = False, toolset: str | None = None, project: str | None = None,
        token: str | None = None, locked: Locked | None = None, direct: Sequence[str] = (), most_processes: int = 0,
        run: Run | None = None,
    ) -> None:  # fmt: skip
        """Start the gateway on what is configured."""
        file = ConfigFile(self.paths, project, direct)
        self.offer, self.token = Offer(split, annotate), token
        self.gateway = Gateway(
            file.read(), self.paths, toolset=toolset, split=split, followed=file,
            transports=MemoryTransports(self.servers), locked=locked,
            most_processes=most_processes, run=run,
        )  # fmt: skip

    async def client(
        self,
        revision: str = LATEST,
        capabilities: Mapping[str, Any] | None = None,
        *,
        token: str | None = None,
        holder: str = "",
        of: MemoryClient | None = None,
    ) -> MemoryClient:
        """A client that has shaken hands; `token` is for its requests without one, its servers are `holder`'s."""
        client = self._client(revision, capabilities, speaker(token or self.token, holder), of)
        self.clients.append(client)
        await client.open()
        return client

    def _client(
        self, revision: str, capabilities: Mapping[str, Any] | None, speaker: Caller, of: MemoryClient | None
    ) -> MemoryClient:
        return MemoryClient(self.gateway, self.offer, revision, capabilities, speaker, of)

    def upstream(self, name: str) -> Upstream:
        """A server as the client that came last uses it."""
        upstream = self.gateway.upstream(name, self.clients[-1].session.caller if self.clients else None)
        assert upstream
        return upstream

    def has_listed(self, name: str) -> bool:
        """Whether the tools known of a server are those of its current connection."""
        upstream = self.upstream(name)
        return upstream.connection is not None and upstream.connection.has_listed

    async def end(self) -> None:
        """End all of it."""
        for client in reversed(self.clients):
            await client.session.settle(0)
            await client.session.close(0)
        await self.gateway.stop()


Scene = Callable[[World], Awaitable[None]]


def play(home: Path, paths: Paths, scene: Scene, **servers: Callable[[], MemoryServer]) -> None:
    """Play a scene with these servers, which it begins itself; no thread of it is left."""
    before = set(threading.enumerate())

    async def played() -> None:
        world = World(home, paths, {name: make() for name, make in servers.items()})
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await scene(world)
        finally:
            await world.end()

    asyncio.run(played())
    for thread in set(threading.enumerate()) - before:
        if not thread.name.startswith(SHARED_THREADS):
            thread.join(TIMEOUT_S)
            assert not thread.is_alive(), f"a scene has left {thread}"
