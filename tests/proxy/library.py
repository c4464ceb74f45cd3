"""A server in memory that has prompts and resources, and answers with JSON as it is given; and what clients see."""

import asyncio
import json
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from mcpctl.base.feature_names import NAMED_BY
from mcpctl.base.models import Tool
from mcpctl.catalog.features import Feature, FeaturePart, Features
from tests.proxy.client import LATEST
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, World

GET, READ, COMPLETE = "prompts/get", "resources/read", "completion/complete"
PROMPT = '{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"1e2"}}],"x-vendor":1.50}'
CONTENTS = '{"contents":[{"uri":"note://a","text":"\\u00e9","x":[1.0]}],"_meta":{"k":1}}'
COMPLETION = '{"completion":{"values":["one"],"hasMore":false,"x":1.0}}'


class Library(MemoryServer):
    """Answers what it is asked of prompts and resources, and keeps it."""

    def __init__(self, *, modern: bool = False, **answers: str) -> None:
        """`answers` are the JSON of the results of `get`, `read` and `complete`, or of `{"error": …}`."""
        super().__init__(modern=modern)
        self.capabilities = {"prompts": {}, "resources": {}, "completions": {}}
        names = {"get": GET, "read": READ, "complete": COMPLETE}
        self.answers = {GET: PROMPT, READ: CONTENTS, COMPLETE: COMPLETION}
        self.answers |= {names[name]: answer for name, answer in answers.items()}
        self.got: list[dict[str, Any]] = []
        """The params of what it was asked besides lists."""
        self.was_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
        """Answer one message."""
        method = message.get("method", "")
        if method not in self.answers:
            await super().take(connection, message)
            return
        self.got.append(message["params"])
        self.was_asked.set()
        await self.meanwhile(connection, message["params"])
        await self.may_answer.wait()
        answer = self.answers[method]
        outcome = answer[1:-1] if answer.startswith('{"error"') else f'"result":{answer}'
        connection.say_raw(f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{outcome}}}')

    async def meanwhile(self, connection: MemoryConnection, params: dict[str, Any]) -> None:
        """Work before it answers."""


def library(world: World, name: str = "a") -> Library:
    """A server of a world's."""
    server = world.servers[name]
    assert isinstance(server, Library)
    return server


def feature(kind: str, definition: str, server: str = "a") -> Feature:
    """One of a server's, as it defines it."""
    decoded = json.loads(definition)
    name = decoded[NAMED_BY[kind]]
    return Feature(kind, server, name, Tool(server, f"@{kind}/{name}", decoded, definition))


NOTE = feature("resources", '{"uri":"note://a","name":"A"}')
ASK = feature("prompts", '{"name":"ask me","arguments":[]}')
FILES = feature("templates", '{"uriTemplate":"file:///{path}","name":"F"}')


def seen(features: Sequence[Feature], generation: str = "1") -> Features:
    """The features that a request sees, of these; by server, and then by kind."""
    parts = groupby(features, attrgetter("kind", "server"))
    return Features([FeaturePart(*of, {each.name: each for each in some}) for of, some in parts], generation)


def see(world: World, *features: Feature, generation: str = "1") -> None:
    """Have clients see these."""
    found = seen(features, generation)
    world.gateway.features = lambda view: found  # type: ignore[method-assign]


async def begun(
    world: World, revision: str = LATEST, capabilities: Any = None, policy: Any = None, **server: Any
) -> MemoryClient:
    """A client of a world that has begun with NOTE, ASK and FILES, all of the server `a`."""
    world.configure({"a": server}, **({"policy": policy} if policy else {}))
    world.begin()
    see(world, NOTE, ASK, FILES)
    return await world.client(revision, capabilities)


def raw_lines(client: MemoryClient) -> list[bytes]:
    """Messages to the client from now on, as they are."""
    lines: list[bytes] = []
    write = client.write

    def kept(*pieces: bytes | memoryview) -> None:
        lines.append(b"".join(map(bytes, pieces)))
        write(*pieces)

    client.write = kept  # type: ignore[method-assign]
    return lines
