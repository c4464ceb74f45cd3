"""The guide to teams says what happens: its commands are run from top to bottom, two people call, and one is asked."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.conftest import MCPCTL, ROOT
from tests.over_http.test_balancers import OF_CALL, WAIT_S, Processes, answers, free_ports, post
from tests.proxy.client import ENVELOPE, until, write_config
from tests.terminal import Terminal
from tests.test_readme import blocks

GUIDE = (ROOT / "mcpctl" / "docgen" / "guides" / "team.md").read_text(encoding="utf-8")
(RULES,) = (text for kind, text in blocks(GUIDE) if kind == "toml")
LINES = [line for kind, text in blocks(GUIDE) if kind == "text" for line in text.splitlines()]
SERVES = "mcpctl serve --http 8080"


def at_a_terminal(line: str) -> str:
    """What a command of a person prints."""
    words = shlex.join([*MCPCTL, *shlex.split(line)[1:]])
    with Terminal(["sh", "-c", f"{words}; echo status $?"], {**os.environ, "COLUMNS": "200"}) as terminal:
        terminal.wait_for_end()
        assert "status 0" in terminal.shown, (line, terminal.shown)
        return terminal.shown


def called(port: int, token: str, tool: str, **arguments: str) -> str:
    """The text of the answer to a call."""
    passed = {"toolKey": f"weather:{tool}", "arguments": {"city": "Oslo", **arguments}}
    params = {"name": "tool_execute", "arguments": passed, "_meta": ENVELOPE}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    status, _, answer = post(port, body, token, Host=f"127.0.0.1:{port}", **OF_CALL)
    return str(json.loads(answer)["result"]["content"][0]["text"]) if status == 200 else str(status)


@pytest.mark.slow
@pytest.mark.process
def test_every_line_works_and_does_what_the_guide_says(home: Path, paths: object) -> None:
    (port,) = free_ports(1)
    file = write_config(home, {"weather": [sys.executable, "-m", "mcpctl.demo.weather"]})
    file.write_text(f"{RULES}\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    tokens: dict[str, str] = {}
    shown: dict[str, str] = {}
    processes: Processes | None = None
    try:
        for line in LINES:
            if line != SERVES:
                shown[line] = at_a_terminal(line.replace("8080", str(port)))
                if name := re.search(r"tokens create --name (\w+)", line):
                    tokens[name[1]] = re.findall(r"mcpctl_[A-Za-z0-9_-]{43}", shown[line])[0]
                continue
            processes = Processes(home, [port])
            until("it listens", lambda: answers(port), WAIT_S)
            until("it is known what only reads", lambda: "sky" in called(port, tokens["ann"], "get_forecast"), WAIT_S)
            assert "not one of those without a project" in called(port, tokens["bob"], "get_forecast")
            assert "needs the user's consent" in called(port, tokens["ann"], "set_alert", condition="storm")
        assert called(port, tokens["bob"], "get_forecast") == "401"
    finally:
        if processes:
            processes.end()
    explained, counted, listed, waits, _, left = list(shown.values())[-6:]
    assert re.search(r"decision: +ask", explained)
    assert "ask weather:set_*" in explained
    for text in (counted, listed):
        assert {"ann", "bob"} <= set(text.split())
    assert {"ann", "weather:set_alert"} <= set(waits.split())
    assert re.search(r"bob +revoked", left)
    assert f":{port}/mcp" in shown["mcpctl serve --http 8080 --print-config cursor"]
    for token in tokens.values():
        assert sum(token in text for text in shown.values()) == 1
