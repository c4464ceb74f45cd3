"""A server whose answers are all right and whose writing is not; each tool is one way of it."""

import json
import sys
import time
from typing import Any

out = sys.stdout.buffer


def line(id_: Any, text: str, **more: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": text}]}, **more}
    ).encode()


def pretty(id_: Any) -> bytes:
    return json.dumps(json.loads(line(id_, "pretty")), indent=2).encode() + b"\n"


def batch(id_: Any) -> bytes:
    told = {"jsonrpc": "2.0", "method": "notifications/nothing"}
    return b"[" + json.dumps(told).encode() + b"," + line(id_, "batch") + b"]\n"


def halves(id_: Any) -> bytes:
    whole = line(id_, "halves") + b"\n"
    out.write(whole[:20])
    out.flush()
    time.sleep(0.05)
    return whole[20:]


WAYS: dict[str, Any] = {
    "pretty": pretty,
    "batch": batch,
    "halves": halves,
    "bom": lambda id_: b"\xef\xbb\xbf" + line(id_, "bom") + b"\n",
    "latin": lambda id_: line(id_, "latin @").replace(b"@", b"\xe9") + b"\n",
    "twice": lambda id_: line(id_, "twice") + b"\n" + line(id_, "again") + b"\n",
    "string_id": lambda id_: line(str(id_), "string_id") + b"\n",
    "float_id": lambda id_: line(float(id_), "float_id") + b"\n",
    "unknown_id": lambda id_: (
        line(999_999, "other") + b"\n" + line("x", "other") + b"\n" + line(id_, "unknown_id") + b"\n"
    ),
    "crlf": lambda id_: line(id_, "crlf") + b"\r\n",
    "no_result": lambda id_: json.dumps({"jsonrpc": "2.0", "id": id_}).encode() + b"\n",
    "null_result": lambda id_: json.dumps({"jsonrpc": "2.0", "id": id_, "result": None}).encode() + b"\n",
}


def answer(message: dict[str, Any]) -> bytes:
    method, id_ = message["method"], message["id"]
    if method == "tools/call":
        written: bytes = WAYS[message["params"]["name"]](id_)
        return written
    found: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
    if method == "initialize":
        info = {"name": "messy", "version": "1"}
        found = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif method == "tools/list":
        found = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in WAYS]}}
    return json.dumps({"jsonrpc": "2.0", "id": id_, **found}).encode() + b"\n"


for received in sys.stdin:
    message = json.loads(received)
    if "id" in message and "method" in message:
        out.write(answer(message))
        out.flush()
