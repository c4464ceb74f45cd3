"""The patterns of the checks that are in arguments too long to be read, as a person is told them."""

import re
import time
from collections.abc import Iterator

from mcpctl.checks import hidden, payloads
from mcpctl.checks.checker import PHRASES
from mcpctl.checks.findings import quoted
from mcpctl.checks.matching import matches
from mcpctl.checks.reading import plain

_PIECE = 1 << 14
_OVERLAP = 512
"""How much of a piece is in the next one, too: what is said over the end of one is found there."""
_MOST = 8
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
"""An escape of JSON."""


def found_in(text: str) -> list[str]:
    """The commands, orders to a model, hidden characters and encoded payloads that a text has, each in a few words.

    Piece by piece, with a pause between two: other threads go on meanwhile.
    """
    found: dict[str, None] = {}
    for begin in range(0, max(1, len(text)), _PIECE):
        found.update(dict.fromkeys(_in_piece(text[max(0, begin - _OVERLAP) : begin + _PIECE])))
        if len(found) >= _MOST:
            break
        time.sleep(0)
    return list(found)[:_MOST]


def _in_piece(piece: str) -> Iterator[str]:
    shell = _ESCAPE.sub(_unescaped, piece).replace("${IFS}", " ").replace("$IFS", " ")
    yield from (quoted(match[0]) for match in payloads.COMMAND.finditer(shell))
    if odd := hidden.found(piece.replace("\n", " ").replace("\t", " ").replace("\r", " ")):
        yield odd
    yield from (
        f"{quoted(match.said)} ({match.phrase.rule})" for match in matches(plain(piece), PHRASES) if not match.quoted
    )
    for said in payloads.decoded(piece):
        if payloads.COMMAND.search(said):
            yield f"an encoded {quoted(said)}"


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return " " if escape[2] in "nrtbf" else escape[2]
