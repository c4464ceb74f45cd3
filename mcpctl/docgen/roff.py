"""The few macros of man(7) that the pages use; every function escapes the text that it gets."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

EDITION = "2026-11-21"  # the date in every page's footer, changed by hand, so that pages do not differ from day to day

_WIDTH = 79
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", '"': "\\(dq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def escaped(text: str) -> str:
    return "".join(_ESCAPES.get(c, c if c.isascii() else f"\\[u{ord(c):04X}]") for c in text)


def line(text: str) -> str:
    """`text` as a line of roff input, in which a leading dot is not a request."""
    source = escaped(text)
    return f"\\&{source}" if source.startswith(".") else source


def bold(text: str) -> str:
    return f"\\fB{escaped(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{escaped(text)}\\fR"


def head(name: str, section: int, summary: str) -> Iterator[str]:
    yield f'.TH {escaped(name.upper())} {section} {EDITION} mcpctl "mcpctl manual"'
    yield ".SH NAME"
    yield from _wrapped(f"{escaped(name)} \\- {escaped(lower_first(summary))}")


def lower_first(sentence: str) -> str:
    """A sentence as part of another: without its full stop and its capital, unless that is a name's."""
    first, _, rest = sentence.removesuffix(".").partition(" ")
    return f"{first if first[1:].lower() != first[1:] else first.lower()} {rest}".strip()


def prose(text: str) -> Iterator[str]:
    yield from sentences(escaped(" ".join(text.split())))


def sentences(source: str) -> Iterator[str]:
    """The lines of a paragraph of roff input, each sentence on lines of its own."""
    for sentence in re.split(r"(?:(?<=[.?!])|(?<=[.?!]\\fR))\s+(?=[A-Z]|\\fB[A-Z])", source):
        yield from _wrapped(sentence)


def _wrapped(source: str) -> Iterator[str]:
    for part in textwrap.wrap(source, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"\\&{part}" if part.startswith(".") else part


def paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield from prose(paragraph)


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield f'.SH "{title}"' if " " in title else f".SH {title}"
        yield from body


def subsection(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f'.SS "{escaped(title)}"'
    yield from lines


def entries(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Tags in roff input, each with its explanation indented below it."""
    for tag, text in pairs:
        yield from (".TP", tag, *prose(text))


def verbatim(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (".nf", ".RS 4", *map(line, lines), ".RE", ".fi")


def references(pages: Iterable[tuple[str, int]]) -> Iterator[str]:
    listed = list(pages)
    for number, (name, part) in enumerate(listed, 1):
        yield f".BR {escaped(name)} ({part}){',' * (number < len(listed))}"


def joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
