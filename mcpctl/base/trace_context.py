"""W3C Trace Context: the `traceparent` by which a request says of which trace it is a part, as far as it is one.
https://www.w3.org/TR/trace-context/"""

import re
from typing import NamedTuple

_LONGEST = 512  # characters: versions to come may have more than the 55 of this one
_FORM = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


class TraceContext(NamedTuple):
    trace_id: bytes
    span_id: bytes  # of the span that made the request
    flags: int


def checked(traceparent: object) -> str | None:
    """Its first four parts, which all versions have; None where it is not one, which then says nothing."""
    match = _FORM.fullmatch(traceparent) if isinstance(traceparent, str) and len(traceparent) <= _LONGEST else None
    if match is None or (match[1] == "00" and match[5]):
        return None
    return "-".join(match.groups()[:4])


def read(traceparent: object) -> TraceContext | None:
    """The parts of a text that was checked, or may be anything."""
    if (text := checked(traceparent)) is None:
        return None
    _, trace_id, span_id, flags = text.split("-")
    return TraceContext(bytes.fromhex(trace_id), bytes.fromhex(span_id), int(flags, 16))
