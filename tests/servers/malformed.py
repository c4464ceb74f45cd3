"""A server whose definitions break what the schema says, in every way that was seen in the wild."""

import json
import sys
from typing import Any

OBJECT = {"type": "object"}
DEFINITIONS: list[Any] = [
    {"name": "empty_schema", "inputSchema": {}},
    {"name": "no_schema"},
    {"name": "null_schema", "inputSchema": None},
    {"name": "true_schema", "inputSchema": True},
    {"name": "array_schema", "inputSchema": {"type": "array"}},
    {"name": "array_output", "inputSchema": OBJECT, "outputSchema": {"type": "array"}},
    {"name": "word_for_hint", "inputSchema": OBJECT, "annotations": {"readOnlyHint": "yes", "destructiveHint": 0}},
    {"name": "list_of_hints", "inputSchema": OBJECT, "annotations": ["readOnlyHint"]},
    {"name": "number_for_description", "inputSchema": OBJECT, "description": 5, "title": {}},
    {"name": "odd_icons", "inputSchema": OBJECT, "icons": [{"src": 1, "sizes": "48x48"}], "execution": None, "x": 1},
    {
        "name": "all_null",
        "inputSchema": OBJECT,
        "annotations": None,
        "title": None,
        "_meta": None,
        "outputSchema": None,
    },
    {"name": "a name with spaces / and ü", "inputSchema": OBJECT},
    {"inputSchema": OBJECT, "description": "no name"},
    {"name": "", "inputSchema": OBJECT},
    {"name": 5, "inputSchema": OBJECT},
    None,
    "a string",
]
PAGES: list[dict[str, Any]] = [
    {"tools": DEFINITIONS[:5], "nextCursor": 5},
    {"tools": None, "nextCursor": "last"},
    {"tools": DEFINITIONS[5:], "nextCursor": None},
]
RESULTS = {"initialize": {"protocolVersion": "2024-10-07", "capabilities": None, "serverInfo": {"name": "malformed"}}}

if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        method, id_ = message.get("method"), message.get("id")
        if id_ is None:
            continue
        result = RESULTS.get(method, {"called": message.get("params", {}).get("name")})
        if method == "tools/list":
            result = PAGES[{None: 0, 5: 1, "last": 2}[message.get("params", {}).get("cursor")]]
        print(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}), flush=True)
