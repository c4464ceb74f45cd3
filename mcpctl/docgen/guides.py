"""Section 7 of the manual: the guides, which are Markdown in guides/ and are read there too."""

import re
from collections.abc import Iterator
from pathlib import Path

from mcpctl.docgen import roff

_SPANS = re.compile(r"(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))")


def pages() -> dict[str, str]:
    files = sorted((Path(__file__).parent / "guides").glob("*.md"))
    return {f"mcpctl-{file.stem}.7": page(file.stem, file.read_text(encoding="utf-8")) for file in files}


def page(name: str, markdown: str) -> str:
    """The page of one guide: a title, then sections of paragraphs, lists and code."""
    title, *sections = re.split(r"^##? ", markdown, flags=re.MULTILINE)[1:]
    return roff.joined([
        *roff.head(f"mcpctl-{name}", 7, f"{title.strip()}."),
        *(line for section in sections for line in _section(section)),
        *roff.section("SEE ALSO", roff.references([("mcpctl", 1), ("mcpctl-config", 5), ("mcpctl-records", 5)])),
    ])  # fmt: skip


def _section(markdown: str) -> Iterator[str]:
    title, _, body = markdown.partition("\n")
    pieces = re.split(r"^```\w*\n(.*?)^```$", body, flags=re.MULTILINE | re.DOTALL)
    lines: list[str] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            lines += [".PP"] if lines else []
            lines += roff.verbatim(piece.splitlines())
        else:
            for text in filter(None, map(str.strip, re.split(r"\n\n|\n(?=- )", piece))):
                is_item = text.startswith("- ")
                lines += [r".IP \(bu 2" if is_item else ".PP"] if lines or is_item else []
                spans = _SPANS.split(" ".join(text.removeprefix("- ").split()))
                lines += roff.sentences("".join(map(_span, spans)))
    yield from roff.section(title.upper(), lines)


def _span(text: str) -> str:
    for mark in ("`", "**"):
        if text.startswith(mark):
            return roff.bold(text.removeprefix(mark).removesuffix(mark))
    if text.startswith("[") and text.endswith(")"):
        return roff.escaped(text[1 : text.index("]")])
    return roff.escaped(text)
