"""The whole loop in one command: `mcpctl serve` before two bundled servers, a client, and what is on record after."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcpctl.output.text import line_of

_SERVERS = ("notes", "weather")
_MCPCTL = [sys.executable, "-m", "mcpctl"]
_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tool_discovery", {"query": ["weather forecast for a city", "write a note"], "maxResults": 3}),
    ("tool_execute", {"toolKey": "weather:get_forecast", "arguments": {"city": "Oslo", "days": 2}}),
    ("tool_execute", {"toolKey": "notes:add_note", "arguments": {"title": "Oslo", "text": "Pack a raincoat"}}),
    ("tool_execute", {"toolKey": "weather:get_forecast", "arguments": {"city": 7}}),
)
_COMMANDS = ("tools ls", "sessions show last", "calls ls")


def run(*, keep: bool) -> None:
    """Play it once in a temporary home, and remove that unless it is to be kept."""
    home = Path(tempfile.mkdtemp(prefix="mcpctl-demo-"))
    env = {name: value for name, value in os.environ.items() if not name.startswith("MCPCTL_")}
    env["MCPCTL_HOME"] = str(home)
    env["COLUMNS"] = str(max(100, shutil.get_terminal_size().columns))
    try:
        _configure(home)
        _print(f"A home in {home}, with two servers: notes and weather.")
        _play(env)
        for command in _COMMANDS:
            _show(command, env)
        if keep:
            _print(f"\nKept. Look around with: MCPCTL_HOME={home} mcpctl calls show last")
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def _configure(home: Path) -> None:
    import tomli_w

    servers = {
        name: {"command": sys.executable, "args": ["-m", f"mcpctl.demo.{name}"]} for name in ("notes", "weather")
    }
    (home / "config.toml").write_text(tomli_w.dumps({"servers": servers}), encoding="utf-8")


def _play(env: Mapping[str, str]) -> None:
    """Be the client, through the MCP SDK, as Claude or Cursor would be."""
    import anyio
    from mcp import Client, StdioServerParameters

    async def talk() -> None:
        serve = StdioServerParameters(command=_MCPCTL[0], args=[*_MCPCTL[1:], "serve"], env=dict(env))
        async with Client(serve) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            _print(f"A client connects to mcpctl serve ({client.protocol_version}) and sees: {', '.join(tools)}.")
            for tool, arguments in _CALLS:
                _print(f"\n> {tool} {json.dumps(arguments)}")
                result = await client.call_tool(tool, arguments)
                _print_result(tool, result)

    anyio.run(talk)


def _print_result(tool: str, result: Any) -> None:
    if tool == "tool_discovery":
        for found in result.structured_content["results"]:
            _print(f"  {found['relevance']:.2f}  {found['toolKey']}{found['signature']}")
        return
    for block in result.content:
        for line in block.text.splitlines()[:6]:
            text = line_of(line)
            _print(f"  {'error: ' if result.is_error else ''}{text[:110]}{'…' if len(text) > 110 else ''}")


def _show(command: str, env: Mapping[str, str]) -> None:
    _print(f"\n$ mcpctl {command}")
    words = command.split()
    if "--format" not in words and words[1] == "ls":
        words += ["--format", "table"]
    done = subprocess.run([*_MCPCTL, *words], env=dict(env), check=True, stdout=subprocess.PIPE, text=True)
    _print(done.stdout.rstrip())


def _print(text: str) -> None:
    print(text, flush=True)
