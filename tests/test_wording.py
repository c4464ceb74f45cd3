"""How mcpctl speaks: its messages stand in one file, so that their wording is one diff, and sentences are plain."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pytest_snapshot.plugin import Snapshot

import mcpctl

PACKAGE = Path(mcpctl.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
DOCUMENTS = sorted((*PACKAGE.parent.glob("*.md"), *PACKAGE.rglob("*.md"), *(PACKAGE.parent / "examples").rglob("*.md")))
_SENTENCE = re.compile(r"(?:^|\s)[A-Za-z'-]+,? [a-z'{}-]+,? [a-z'{}-]+")
_SQL = re.compile(r"\b(SELECT|INSERT|CREATE|UPDATE|DELETE|PRAGMA|WITH|FROM|WHERE|JOIN)\b")
_CODE = re.compile(r"\\[bswdAZ(]|\(\?[:=!<]")
_LABEL = "What to watch for"  # of a parameter of the demo's: no sentence
_UNPLAIN = re.compile(r"(?:\A|[.!?:]\s+|\n\s*\n\s*)(?:What|Of|Whoever)\b(?![^.!]*\?)")


_UNPLAIN_COMMENT = re.compile(r"#.*\b(?:What|Of|Whoever)\b")


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """The trees are large, and of use here alone."""
    yield
    parsed.cache_clear()
    messages.cache_clear()


def described(node: ast.AST) -> bool:
    """Whether a statement is a text alone: a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def literals(tree: ast.AST) -> Iterator[str]:
    """The texts of a piece of code but for its docstrings; `{}` stands for each value in an f-string."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            left += [part for part in node.values if not isinstance(part, ast.Constant)]
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.value
        elif not described(node):
            left += ast.iter_child_nodes(node)


@cache
def messages(file: Path) -> set[str]:
    """The texts of a module that are sentences, or parts of them."""
    return {
        " ".join(text.split())
        for text in literals(parsed(file))
        if _SENTENCE.search(text) and not _SQL.search(text) and not _CODE.search(text)
    }


def test_messages_are_worded_as_this_file_has_them(snapshot: Snapshot) -> None:
    rooms: dict[str, set[str]] = {}
    for file in FILES:
        rooms.setdefault(file.relative_to(PACKAGE).parts[0].removesuffix(".py"), set()).update(messages(file))
    text = "\n".join(f"[{room}]\n" + "".join(f"{line}\n" for line in sorted(rooms[room])) for room in sorted(rooms))
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    snapshot.assert_match(text, "messages.txt")


def prose(file: Path) -> Iterator[str]:
    """The docstrings, the other texts and, where one could be unplain, the comments of a module."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    yield from messages(file)
    text = file.read_text(encoding="utf-8")
    if _UNPLAIN_COMMENT.search(text):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.string.lstrip("# ")


def written(file: Path) -> Iterator[str]:
    """The paragraphs and items of a document, without its code, headings and the first words of an item as a label."""
    text = re.sub(r"^```.*?^```", "\n", file.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-|]|\d+\.) )|^(?=#)|(?<=\n)(?=#)", text):
        if not part.lstrip().startswith("#"):
            plain = re.sub(r"\A\s*(?:[-|]|\d+\.)?\s*(?:\*\*[^*]*\.\*\*)?", "", part)
            yield " ".join(plain.replace("**", "").split())


def test_no_sentence_begins_with_what_of_or_whoever() -> None:
    texts = [(file.relative_to(PACKAGE), text) for file in FILES for text in prose(file)]
    texts += [(file.relative_to(PACKAGE.parent), text) for file in DOCUMENTS for text in written(file)]
    unplain = [
        f"{place}: {' '.join(text[match.start() :].split())[:80]}"
        for place, text in texts
        if text != _LABEL
        for match in _UNPLAIN.finditer(text)
    ]
    assert not unplain, "begin with the noun that the reader knows"
