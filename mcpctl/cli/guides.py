"""The guides, which are section 7 of the manual, for `mcpctl help NAME-guide`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import mcpctl

_WIDEST = 100


def write(name: str) -> None:
    """Print the guide as it is written; at a terminal, with its paragraphs as wide as that."""
    from mcpctl import output

    text = (Path(mcpctl.__file__).parent / "docgen" / "guides" / f"{name}.md").read_text(encoding="utf-8")
    output.write_lines(_wrapped(text) if sys.stdout.isatty() else iter(text.splitlines()))


def _wrapped(text: str) -> Iterator[str]:
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size().columns, _WIDEST)
    paragraph: list[str] = []
    is_code = False
    for line in [*text.splitlines(), ""]:
        is_fence = line.startswith("```")
        if paragraph and (not line or is_fence or line.startswith("- ")):
            indent = "  " if paragraph[0].startswith("- ") else ""
            words = " ".join(part.strip() for part in paragraph)
            yield from textwrap.wrap(
                words, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
            paragraph = []
        is_code ^= is_fence
        if is_code or is_fence or not line or line.startswith("#"):
            yield line
        else:
            paragraph.append(line)
