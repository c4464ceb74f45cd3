"""`traceparent`: what is one, by https://www.w3.org/TR/trace-context/, and what says nothing."""

from typing import Any

from mcpctl.base import trace_context
from tests.table import for_each

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"


@for_each("text", [GOOD, f"00-{TRACE}-{SPAN}-00", f"cc-{TRACE}-{SPAN}-ff", f"01-{TRACE}-{SPAN}-09-what-comes-later"])
def test_a_traceparent_is_read_to_its_flags(text: str) -> None:
    assert trace_context.checked(text) == text[:55]
    read = trace_context.read(text)
    assert read == (bytes.fromhex(TRACE), bytes.fromhex(SPAN), int(text[53:55], 16))


@for_each(
    "text",
    [
        "", "00", GOOD[:-1], GOOD.upper(), f" {GOOD}", f"{GOOD}\n", f"{GOOD}-more", f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE[:-1]}g-{SPAN}-01", f"0x-{TRACE}-{SPAN}-01",
        f"00_{TRACE}_{SPAN}_01", f"01-{TRACE}-{SPAN}-01-{'x' * 500}", "\u0660\u0660" + GOOD[2:],
        None, 1, [GOOD], {"a": GOOD},
    ],
)  # fmt: skip
def test_what_is_no_traceparent_says_nothing(text: Any) -> None:
    assert trace_context.checked(text) is None
    assert trace_context.read(text) is None
