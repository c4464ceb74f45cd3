"""The ways in which a text is recorded: as it is, and in JSON at several depths."""

import json
from collections.abc import Callable
from typing import Any

CHANNELS: dict[str, Callable[[str], bytes]] = {
    "text": str.encode,
    "in JSON": lambda text: json.dumps({"content": [{"type": "text", "text": text}]}).encode(),
    "in JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": text, "c": 1})}).encode(),
    "deeper": lambda text: json.dumps([json.dumps(json.dumps({"b": [text]}, indent=1))]).encode(),
    "after a line": lambda text: json.dumps({"a": f"first line\n{text}\nlast line"}).encode(),
}


def decoded(channel: str, recorded: bytes) -> Any:
    """What the channel carries, whose JSON must have stayed JSON at every depth."""
    if channel == "text":
        return recorded.decode()
    value = json.loads(recorded)
    if channel == "in JSON in JSON":
        return json.loads(value["a"])
    return json.loads(json.loads(value[0])) if channel == "deeper" else value
