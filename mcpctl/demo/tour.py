"""The whole loop in one command: `mcpctl serve` before two bundled servers, a client, and the records after that."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.catalog.signature import signature
from mcpctl.output import write_lines
from mcpctl.output.text import line_of

_MCPCTL = [sys.executable, "-P", "-m", "mcpctl"]
_SERVERS = {
    name: {"command": sys.executable, "args": ["-P", "-m", f"mcpctl.demo.{name}"]} for name in ("notes", "weather")
}
_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tool_discovery", {"query": ["weather forecast for a city", "write a note"], "maxResults": 3}),
    ("tool_execute", {"toolKey": "weather:get_forecast", "arguments": {"city": "Oslo", "days": 2}}),
    ("tool_execute", {"toolKey": "notes:add_note", "arguments": {"title": "Oslo", "text": "Pack a raincoat"}}),
    ("tool_execute", {"toolKey": "weather:get_forecast", "arguments": {"city": 7}}),
)
_COMMANDS = ("tools ls", "sessions show last", "calls ls")
_NEXT = """\
The demo's home is removed; with --keep it stays. To set mcpctl up for yourself, step by step: mcpctl init.
For one server of your own: mcpctl servers add; for those of one client, looked at first:
mcpctl install CLIENT --dry-run."""


def run(*, keep: bool) -> None:
    """Play it once in a temporary home, which is removed unless it is to be kept."""
    import tomli_w

    home = Path(tempfile.mkdtemp(prefix="mcpctl-demo-"))
    env = {name: value for name, value in os.environ.items() if not name.startswith("MCPCTL_")}
    env["MCPCTL_HOME"] = str(home)
    env["COLUMNS"] = str(max(100, shutil.get_terminal_size().columns))
    try:
        (home / "config.toml").write_text(tomli_w.dumps({"servers": _SERVERS}), encoding="utf-8")
        write_lines(iter([f"A home in {home}, with two servers: notes and weather.", *_played(env)]))
        for command in _COMMANDS:
            write_lines(iter(["", f"$ mcpctl {command}", _shown(command, env)]))
        more = f"Kept. Look around with: MCPCTL_HOME={home} mcpctl dashboard" if keep else _NEXT
        write_lines(iter(["", more]))
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def _played(env: Mapping[str, str]) -> list[str]:
    """Be the client, through the MCP SDK, as Claude or Cursor would be; the lines of its calls and their answers."""
    import anyio
    from mcp import Client, StdioServerParameters

    async def talk() -> list[str]:
        serve = StdioServerParameters(command=_MCPCTL[0], args=[*_MCPCTL[1:], "serve"], env=dict(env))
        async with Client(serve) as client:
            tools = ", ".join(tool.name for tool in (await client.list_tools()).tools)
            lines = [f"A client connects to mcpctl serve ({client.protocol_version}) and sees: {tools}."]
            for tool, arguments in _CALLS:
                lines += ["", f"> {tool} {json.dumps(arguments)}"]
                lines += _answer(tool, await client.call_tool(tool, arguments))
            return lines

    return anyio.run(talk)


def _answer(tool: str, result: Any) -> list[str]:
    if tool == "tool_discovery":
        found = result.structured_content["results"]
        return [f"  {each['relevance']:.2f}  {each['toolKey']}{signature(Tool('', '', each, ''))}" for each in found]
    lines = [line_of(line) for block in result.content for line in block.text.splitlines()[:6]]
    lead = "  error: " if result.is_error else "  "
    return [f"{lead}{line[:110]}{'…' if len(line) > 110 else ''}" for line in lines]


def _shown(command: str, env: Mapping[str, str]) -> str:
    words = command.split()
    if words[1] == "ls":
        words += ["--format", "table"]
    done = subprocess.run([*_MCPCTL, *words], env=dict(env), check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.rstrip()
