"""A server with prompts, resources and a template."""

import base64
import sys
from typing import Any

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from tests.servers.tool_server import Request, ToolServer

server = ToolServer("library")
server._about["capabilities"] = {"tools": {}, "prompts": {}, "resources": {}}
PROMPTS = [
    {"name": "review", "title": "Review a book", "arguments": [{"name": "title", "required": True}, {"name": "words"}]},
    {"name": "quote", "description": "Quotes somebody.\nAt length."},
]
RESOURCES = [
    {"uri": "book://one", "name": "one", "title": "The first", "mimeType": "text/plain", "size": 12},
    {"uri": "book://cover", "name": "cover", "mimeType": "image/png"},
]
CONTENTS: dict[str, dict[str, Any]] = {
    "book://one": {"text": "once\x1b[31m upon"},
    "book://cover": {"blob": base64.b64encode(b"\x89PNG\r\n\x00").decode(), "mimeType": "image/png"},
    "book://page/7": {"text": "seven\n"},
}


def _get(request: Request) -> dict[str, Any]:
    name, arguments = request.params["name"], request.params.get("arguments", {})
    said = [f"{key}={value!r}" for key, value in sorted(arguments.items())]
    texts = [" ".join([name, *said]), *(["And then?"] if name == "quote" else [])]
    roles = ("user", "assistant")
    messages = [
        {"role": role, "content": {"type": "text", "text": text}} for role, text in zip(roles, texts, strict=False)
    ]
    return {"messages": messages}


def _read(request: Request) -> dict[str, Any] | None:
    uri = request.params["uri"]
    if uri not in CONTENTS:
        error = {"code": -32002, "message": f"Resource not found: {uri}"}
        server.send({"jsonrpc": "2.0", "id": request.id, "error": error})
        return None
    return {"contents": [{"uri": uri, **CONTENTS[uri]}]}


server.methods.update(
    {
        "prompts/list": lambda _: {"prompts": PROMPTS},
        "prompts/get": _get,
        "resources/list": lambda _: {"resources": RESOURCES},
        "resources/templates/list": lambda _: {
            "resourceTemplates": [{"uriTemplate": "book://page/{n}", "name": "page"}]
        },
        "resources/read": _read,
    }
)

if __name__ == "__main__":
    server.run()
