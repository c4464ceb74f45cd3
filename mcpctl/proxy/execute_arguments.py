"""The arguments of `tool_execute`, taken apart: a key, and the JSON of what its tool gets."""

from msgspec import Raw

from mcpctl.wire import jsonrpc


class Unreadable(ValueError):
    """Raised with what a model should fix in the arguments of `tool_execute`, and the key as far as there is one."""

    def __init__(self, message: str, key: object = "") -> None:
        super().__init__(message)
        self.key = key if isinstance(key, str) else ""


def taken_apart(arguments: bytes) -> tuple[str, bytes]:
    """The key and the arguments' JSON (empty where there are none); raises `Unreadable`."""
    example = 'Example: {"toolKey": "server:tool", "arguments": {}}. Find keys with tool_discovery.'
    try:
        members = jsonrpc.members(arguments or b"{}")
        key = jsonrpc.value(members.get("toolKey", b"null"), object)
    except jsonrpc.Malformed:
        raise Unreadable(f"the arguments of tool_execute are not a JSON object. {example}") from None
    if not isinstance(key, str) or not key:
        raise Unreadable(f"toolKey is missing. {example}")
    passed = members.get("arguments", b"")
    if passed.startswith(b'"'):
        # Some models send the object as a string of its JSON.
        try:
            passed = jsonrpc.value(passed, str).strip().encode()
            jsonrpc.members(passed)
            jsonrpc.value(passed, Raw)
        except (jsonrpc.Malformed, UnicodeEncodeError):
            raise Unreadable(f"arguments is a string that is not a JSON object. {example}", key) from None
        passed = passed.replace(b"\n", b" ").replace(b"\r", b" ")
    if passed == b"null":
        passed = b""
    if passed and not passed.startswith(b"{"):
        raise Unreadable(f"arguments must be an object with the tool's parameters. {example}", key)
    return key, passed
