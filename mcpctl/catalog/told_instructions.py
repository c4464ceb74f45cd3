"""What servers say of themselves as a model is told it: cleaned, attributed, and none at the cost of another."""

import re
from collections.abc import Collection, Mapping

from mcpctl.base.visible_text import visible
from mcpctl.catalog import told_texts
from mcpctl.catalog.cache import Catalog
from mcpctl.policy.by_name import may_introduce
from mcpctl.policy.view import View

Introduction = tuple[str, str]
"""A server, and what a model is told of what it says of itself."""
AT_FIRST = 2000
"""UTF-8 bytes of all that a client is told at first: clients cut at about 2 KB."""
MOST = 1500
"""UTF-8 bytes of one server's text in an answer to a search."""
_LONGEST_SENTENCE = 400
_LEAST = 60
"""Bytes of a server's line that are worth a line."""
_INTRODUCED = "\nWhat these servers say of themselves, each in its own words, which are not the user's or mcpctl's:"
_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?][)\"'\]]?(?=\s)|[\u3002\uff01\uff1f]")
_QUOTES = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u201f\u2033\uff02', "'"))
"""What could end the quotation that a server's words stand in."""


def text(said: str, server: str) -> str:
    """All that is told of what a server says of itself: nothing hidden, no notes of a team's, cut at a sentence."""
    return _cut(told_texts.FAKED.sub(f"notes of server '{server}'", visible(said)).strip(), MOST)


def of(server: str, said: str, held: str, view: View) -> str:
    """What a model may be told of what a server says of itself, which is `held` or not; empty for nothing."""
    return text(said, server) if said and may_introduce(server, held, view) else ""


def waiting(catalog: Catalog, servers: Collection[str], told: Collection[Introduction]) -> list[Introduction]:
    """What is to be told of these servers beside what was told."""
    listed = [(server, known) for server in dict.fromkeys(servers) if (known := catalog.listed(server))]
    every = [(server, of(server, known.instructions, known.held, catalog.view)) for server, known in listed]
    return [(server, text) for server, text in every if text and (server, text) not in told]


def beside(ours: str, told: Mapping[str, str]) -> tuple[str, list[str]]:
    """Our instructions, and after them the first sentence of each of these texts, by server, on a line of its own; and
    the servers of which that was all. Where there is no room for each, all long ones are cut alike."""
    sentences = {server: sentence for server, text in told.items() if (sentence := _sentence(text))}
    room = AT_FIRST - _size(ours) - _size(_INTRODUCED)
    fitting = dict(list(sentences.items())[: max(room, 0) // _LEAST])
    share = _share([_size(_line(server, text)) for server, text in fitting.items()], room)
    lines = {server: _line(server, _cut(text, share - _size(_line(server, "")))) for server, text in fitting.items()}
    whole = [server for server, line in lines.items() if line == _line(server, _on_one_line(told[server]))]
    return (ours + _INTRODUCED + "".join(lines.values()) if lines else ours), whole


def _line(server: str, text: str) -> str:
    return f'\n- {server}: "{text}"'


def _sentence(text: str) -> str:
    """The first sentence, headings passed over, on one line."""
    lines = [line for line in text.splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if not line.lstrip().startswith("#")), 0)
    line = _on_one_line(" ".join(lines[first:])[: 4 * _LONGEST_SENTENCE])
    end = _SENTENCE.search(line)
    return _cut(line[: end.end()] if end else line, _LONGEST_SENTENCE)


def _on_one_line(text: str) -> str:
    return " ".join(text.translate(_QUOTES).split())


def _share(sizes: list[int], room: int) -> int:
    """The size that none may be above so that all of them have room."""
    left, share = len(sizes), 0
    for size in sorted(sizes):
        share = room // left
        if size > share:
            return share
        room, left = room - size, left - 1
    return max(sizes, default=0)


def _cut(text: str, most: int) -> str:
    """As much as fits so many bytes, to the end of a sentence where there is one, else of a word."""
    if _size(text) <= most:
        return text
    shorter = text.encode("utf-8", "replace")[: max(most - 3, 0)].decode("utf-8", "ignore")
    ends = [match.end() for match in _SENTENCE.finditer(shorter)]
    if ends and 2 * ends[-1] >= len(shorter):
        return shorter[: ends[-1]]
    return (shorter.rsplit(None, 1)[0] if " " in shorter.strip() else shorter).rstrip() + "\u2026"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
