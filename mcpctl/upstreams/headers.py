"""What a request of 2026-07-28 repeats in HTTP headers, so that proxies on the way need not read bodies."""

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from mcpctl.upstreams.connection import READ, Exchange

_PRINTABLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?\Z")


async def mirrored(line: bytes, exchange: Exchange) -> dict[str, str]:
    """The headers that repeat a request of 2026-07-28: its method, what it names, and what a tool's schema names."""
    headers = {"mcp-method": exchange.method}
    if (name := exchange.params.get("uri" if exchange.method == READ else "name", b"")).startswith(b'"'):
        headers["mcp-name"] = _encoded(json.loads(name))
    if exchange.tool and "x-mcp-header" in exchange.tool.text:
        headers |= await asyncio.to_thread(_named, exchange.tool.input_schema, line)
    return headers


def _encoded(text: str) -> str:
    """A header's value, in base64 where HTTP would not carry it as it is."""
    if _PRINTABLE.match(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _named(schema: Mapping[str, Any], line: bytes) -> dict[str, str]:
    """The headers that a tool's schema asks for, by the SDK's reading of it; none where it asks wrongly."""
    from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map

    if find_invalid_x_mcp_header(schema) is not None:
        return {}
    try:
        params = json.loads(line)["params"]
    except (ValueError, RecursionError):
        return {}  # the server can read it, perhaps
    return mcp_param_headers(x_mcp_header_map(schema), params.get("arguments") or {})
