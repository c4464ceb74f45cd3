"""JSON as people read it, and no more of it than a page can bear."""

from typing import NamedTuple

import msgspec

MOST_SHOWN = 1 << 16
"""Characters of one text; the whole is in the REST interface."""


class Shown(NamedTuple):
    """A text of a record, or its beginning."""

    text: str
    size: int
    """Characters of the whole."""

    @property
    def is_cut(self) -> bool:
        """Whether there is more of it."""
        return self.size > len(self.text)


def shown(recorded: str | None) -> Shown | None:
    """Recorded JSON, indented; what cannot be read as JSON, as it is."""
    if recorded is None or recorded == "null":
        return None
    try:
        # Decoded and encoded, so that escapes become the letters that they stand for.
        text = msgspec.json.format(msgspec.json.encode(msgspec.json.decode(str(recorded))), indent=2).decode()
    except (ValueError, RecursionError):
        text = recorded
    return Shown(text[:MOST_SHOWN], len(text))


def texts(recorded: str | None) -> list[str]:
    """What the text blocks of a tool's result say, with their lines, as long as they are together not too long."""
    try:
        result = msgspec.json.decode(str(recorded or "null"), type=_Result)
    except (ValueError, RecursionError):
        return []
    found = [block.text for block in result.content if block.type == "text"]
    return found if 0 < sum(map(len, found)) <= MOST_SHOWN else []


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Result(msgspec.Struct):
    content: list[_Block] = []
