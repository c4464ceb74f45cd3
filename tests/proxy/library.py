"""A server in memory that has prompts and resources."""

import asyncio
import json
from typing import Any

from mcpctl.callers import MODERN_REVISION
from tests.proxy.in_memory import MemoryConnection, MemoryServer

LISTS = {
    "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}  # fmt: skip
PROMPT = '{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"1e2"}}],"x-vendor":1.50}'
CONTENTS = '{"contents":[{"uri":"note://a","text":"\\u00e9","x":[1.0]}],"_meta":{"k":1}}'
COMPLETION = '{"completion":{"values":["one"],"hasMore":false,"x":1.0}}'


class Library(MemoryServer):
    """Answers what is asked of prompts and resources with the JSON that it is given, as it is."""

    def __init__(self, *, modern: bool = False, **lists: list[dict[str, Any]]) -> None:
        """`lists` are those of prompts, resources and resourceTemplates."""
        super().__init__(modern=modern)
        self.lists = lists
        self.answers = {"prompts/get": PROMPT, "resources/read": CONTENTS, "completion/complete": COMPLETION}
        """By method, the JSON of the result; or of `{"error": …}`."""
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """What was asked besides lists."""
        self.was_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
        """Answer one message."""
        method, params = message.get("method", ""), message.get("params", {})
        if method in LISTS:
            result: dict[str, Any] = {LISTS[method]: self.lists.get(LISTS[method], [])}
            connection.say(id=message["id"], result=result)
        elif method in self.answers:
            self.asked.append((method, params))
            self.was_asked.set()
            await self.may_answer.wait()
            answer = self.answers[method]
            told = answer[1:-1] if answer.startswith('{"error"') else f'"result":{answer}'
            connection.say_raw(f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{told}}}')
        elif method == "initialize" and not self.modern:
            self.told.append(params["capabilities"])
            await self.may_start.wait()
            result = {"protocolVersion": params["protocolVersion"], "capabilities": self._capabilities}
            connection.say(id=message["id"], result={**result, "serverInfo": {"name": "library", "version": "1"}})
        elif method == "server/discover" and self.modern:
            found = {"supportedVersions": [MODERN_REVISION], "capabilities": self._capabilities}
            connection.say(id=message["id"], result={"resultType": "complete", **found})
        else:
            await super().take(connection, message)

    @property
    def _capabilities(self) -> dict[str, Any]:
        return {"prompts": {}, "resources": {}, "completions": {}, "tools": {}}
