"""A server whose tools ask for input: `asks 2025-11-25` in the middle of a call, `asks 2026-07-28` in rounds.

With `asks REVISION FILE` the reason that a call was taken back for is put into FILE.

`ask {methods}` asks for one after the other, `ask {methods, at_once: true}` for all together; each returns the answers,
and the capabilities that it was told, or with `{hangs: true}` in an older revision nothing. `log` logs at every level,
`die` ends in the middle of a question, `hang` is never answered.
"""

import json
import os
import sys
from typing import Any

REVISION = sys.argv[1]
MODERN = REVISION == "2026-07-28"
META = "io.modelcontextprotocol/"
PARAMS: dict[str, dict[str, Any]] = {
    "elicitation/create": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
    "sampling/createMessage": {"messages": [], "maxTokens": 5},
    "roots/list": {},
}
capabilities: Any = None
asked: dict[str, dict[str, Any]] = {}
"""By the id of a question: the call, what it asks and what it was answered."""
last = 0


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result(id_: Any, **members: Any) -> None:
    say(id=id_, result={**({"resultType": "complete"} if MODERN else {}), **members})


def done(id_: Any, answers: list[Any]) -> None:
    found = {"answers": answers, "capabilities": capabilities}
    result(id_, content=[{"type": "text", "text": json.dumps(answers)}], structuredContent=found)


def ask_next(call: dict[str, Any]) -> None:
    """Older revisions: send the next question, or all of them."""
    global last
    waiting = len(call["methods"]) - len(call["answers"])
    if not waiting:
        if not call["hangs"]:
            done(call["id"], call["answers"])
        return
    start = len(call["answers"])
    for method in call["methods"][start:] if call["at_once"] else call["methods"][start : start + 1]:
        last += 1
        asked[f"q{last}"] = call
        say(id=f"q{last}", method=method, params=PARAMS[method])
    call["at_once"] = False
    if call["die"]:
        os._exit(3)


def answered(message: dict[str, Any]) -> None:
    call = asked.pop(message["id"], None)
    if call:
        call["answers"].append(message.get("result", message.get("error")))
        if not any(other is call for other in asked.values()):
            ask_next(call)


def next_round(id_: Any, params: dict[str, Any]) -> None:
    """2026-07-28: all that is known is in the request."""
    arguments = params["arguments"]
    state = json.loads(params.get("requestState", "[]"))
    state += [params["inputResponses"][key] for key in sorted(params.get("inputResponses", {}))]
    left = arguments["methods"][len(state) :]
    if not left:
        done(id_, state)
        return
    now = left if arguments.get("at_once") else left[:1]
    requests = {f"k{n}": {"method": method, "params": PARAMS[method]} for n, method in enumerate(now)}
    say(id=id_, result={"resultType": "input_required", "inputRequests": requests, "requestState": json.dumps(state)})


def called(id_: Any, params: dict[str, Any]) -> None:
    arguments = params.get("arguments", {})
    if params["name"] == "log":
        for level in ("debug", "info", "error"):
            say(method="notifications/message", params={"level": level, "data": {"said": level}, "x": 1})
        done(id_, [])
    elif params["name"] == "hang":
        return
    elif MODERN:
        next_round(id_, params)
    else:
        ask_next(
            {
                "id": id_,
                "methods": arguments["methods"],
                "at_once": arguments.get("at_once", False),
                "die": arguments.get("die", False),
                "hangs": arguments.get("hangs", False),
                "answers": [],
            }
        )


def requested(id_: Any, method: str, params: dict[str, Any]) -> None:
    global capabilities
    if MODERN and META + "protocolVersion" not in params.get("_meta", {}):
        error = {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": [REVISION]}}
        say(id=id_, error=error)
    elif method == "initialize":
        capabilities = params["capabilities"]
        info = {"name": "asks", "version": "1"}
        result(id_, protocolVersion=REVISION, capabilities={"tools": {}, "logging": {}}, serverInfo=info)
    elif method == "server/discover" and MODERN:
        result(id_, supportedVersions=[REVISION], capabilities={"tools": {}, "logging": {}})
    elif method == "tools/list":
        result(id_, tools=[{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "hang", "log")])
    elif method == "tools/call":
        if MODERN:
            capabilities = params["_meta"][META + "clientCapabilities"]
        called(id_, params)
    elif method == "logging/setLevel":
        result(id_)
    else:
        say(id=id_, error={"code": -32601, "message": "Method not found"})


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        answered(message)
    elif "id" in message:
        requested(message["id"], message["method"], message.get("params", {}))
    elif message["method"] == "notifications/roots/list_changed":
        say(method="notifications/message", params={"level": "info", "data": "roots have changed"})
    elif message["method"] == "notifications/cancelled" and sys.argv[2:]:
        from pathlib import Path

        Path(sys.argv[2]).write_text(message["params"]["reason"], encoding="utf-8")
