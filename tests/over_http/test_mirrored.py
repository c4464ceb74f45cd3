"""Headers that repeat the body: their forms, and those that a tool's schema asks for."""

from pathlib import Path
from typing import Any

from mcpctl.base.paths import Paths
from mcpctl.over_http import mirrored
from tests.over_http.asgi import Web, play_web
from tests.proxy.client import MODERN
from tests.proxy.in_memory import MemoryServer
from tests.table import for_each


@for_each(
    "value, text",
    [
        (None, None), ("", ""), ("read", "read"), ("=?base64?w6k=?=", "é"), ("=?base64??=", ""),
        ("=?base64?w6k=", "=?base64?w6k="), ("w6k=?=", "w6k=?="), ("=?BASE64?w6k=?=", "=?BASE64?w6k=?="),
        ("=?base64?w6k?=", None), ("=?base64? w6k=?=", None), ("=?base64?w6l=?=", None), ("=?base64?w6k=\n?=", None),
        ("=?base64?/w==?=", None), ("=?base64?é?=", None),
    ],
)  # fmt: skip
def test_a_value_in_base64_has_one_form_and_any_other_stands_for_itself(value: str | None, text: str | None) -> None:
    assert mirrored.decoded(value) == text


def test_a_header_that_the_schema_of_a_tool_asks_for_is_what_its_argument_is(home: Path, paths: Paths) -> None:
    region = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    tools = {"name": "read", "inputSchema": region}, {"name": "plain", "inputSchema": {"type": "object"}}
    eu, header = b'{"region":"eu"}', "mcp-param-region"
    cases: list[tuple[str, bytes, list[tuple[str, str]], int | None]] = [
        ("read", eu, [(header, "eu")], None), ("read", eu, [(header, "=?base64?ZXU=?=")], None),
        ("read", b"{}", [], None), ("plain", eu, [(header, "us")], None),
        ("read", eu, [(header, "us")], -32020), ("read", eu, [], -32020), ("read", b"{}", [(header, "eu")], -32020),
        ("read", b"", [(header, "eu")], -32020), ("read", b"", [], None), ("other", eu, [(header, "us")], None),
        ("read", eu, [(header, "eu"), (header, "eu")], -32020), ("read", eu, [(header, "eu"), (header, "us")], -32020),
        ("read", b'{"region":"eu","n":NaN}', [(header, "eu")], None),
    ]  # fmt: skip

    async def scene(at: Web) -> None:
        await at.newer("tools/list").whole()
        for name, arguments, more, code in cases:
            shown = f"files__{name}"
            envelope = b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
            envelope += b'"io.modelcontextprotocol/clientCapabilities":{}}'
            given = b'"arguments":%b,' % arguments if arguments else b""
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%b",%b%b}}'
            headers: dict[str, Any] = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": shown}
            asked = at.ask("POST", body % (shown.encode(), given, envelope), more=more, **headers)
            answer = await asked.whole()
            assert answer.json.get("error", {}).get("code") == code, (name, arguments, more, answer.body)
            assert answer.status == (200 if code is None else 400), (name, arguments, more)

    play_web(home, paths, scene, servers={"files": lambda: MemoryServer(*tools)}, serve={"direct": ["all"]})
