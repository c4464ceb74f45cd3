"""A tool's result on its way back: what of it decides, how the client's era wants it, and how the record has it."""

from dataclasses import dataclass

from mcpctl.callers import Caller
from mcpctl.proxy import translate
from mcpctl.store.recordable import Json, Recordable
from mcpctl.upstreams.connection import Connection

AT_ONCE = 1 << 13
"""Bytes that are looked at on the event loop: nothing but secrets takes some milliseconds to redact. More is looked at
beside it."""


@dataclass(slots=True)
class ToolResult:
    """What is known of a result once it was looked at."""

    result: Json
    is_error: bool
    wants_input: bool
    """It is no answer: the tool asks for something first."""
    answer: Json
    """As the client's era has it."""
    recorded: bytes
    """Without secrets and cut, as the record has it."""


def look(
    result: memoryview, caller: Caller, connection: Connection | None, values: Recordable, *, masks: bool
) -> ToolResult:
    """Look at a result; in any thread. `masks`: the model gets it without secrets, too."""
    head = translate.head(result)
    wants_input = translate.is_waiting(head)
    if masks and not wants_input:  # what a round needs to go on stays as it is
        result = memoryview(values.masked(bytes(result)))
        head = translate.head(result)
    answer = result if wants_input else translate.for_client(result, head, caller, connection)
    is_error = bytes(head.is_error) == b"true"
    return ToolResult(result, is_error, wants_input, answer, values.json(result))
