"""A server in memory that has prompts and resources, and answers with JSON as it is given."""

import asyncio
import json
from typing import Any

from tests.proxy.in_memory import MemoryConnection, MemoryServer, World

PROMPT = '{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"1e2"}}],"x-vendor":1.50}'
CONTENTS = '{"contents":[{"uri":"note://a","text":"\\u00e9","x":[1.0]}],"_meta":{"k":1}}'
COMPLETION = '{"completion":{"values":["one"],"hasMore":false,"x":1.0}}'


class Library(MemoryServer):
    """Lists what it is given, and keeps what it was asked besides."""

    def __init__(self, *, modern: bool = False, **lists: list[dict[str, Any]]) -> None:
        """`lists` are those of prompts, resources and templates."""
        super().__init__(modern=modern)
        self.capabilities = {"prompts": {}, "resources": {}, "completions": {}}
        for name, definitions in lists.items():
            setattr(self, name, definitions)
        self.answers = {"prompts/get": PROMPT, "resources/read": CONTENTS, "completion/complete": COMPLETION}
        """By method, the JSON of the result; or of `{"error": …}`."""
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
        await self.may_answer.wait()
        answer = self.answers[method]
        outcome = answer[1:-1] if answer.startswith('{"error"') else f'"result":{answer}'
        connection.say_raw(f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{outcome}}}')


def library(world: World, name: str = "a") -> Library:
    """A server of a world's."""
    server = world.servers[name]
    assert isinstance(server, Library)
    return server
