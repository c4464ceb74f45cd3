"""The commands that hints, help, guides and the README name: each is there, with the options it is named with."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from mcpctl.docgen.tree import Node, whole
from tests.conftest import ROOT
from tests.table import for_each

_NAMED = re.compile(r"\bmcpctl((?: +[^\s`'\")|;,]+)+)")
_NAMED_NEAR = re.compile(r"\bmcpctl[\"']?\s")
"""In every source that names a command, also where the text is in two pieces."""
_NODES = {node.path: node for node in whole().walk()}
_NOT_OURS = {"mcpctl -k -f -a"}
"""Of fish's script, where mcpctl is an argument."""


def texts(file: Path) -> Iterator[str]:
    """The texts of a module, or the lines of a page; what is filled in is X."""
    source = file.read_text(encoding="utf-8")
    if not _NAMED_NEAR.search(source):
        return
    if file.suffix != ".py":
        yield from source.splitlines()
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def problem(words: list[str]) -> str:
    """What is wrong with words after mcpctl; a sentence about mcpctl is no command."""
    path: tuple[str, ...] = ("mcpctl",)
    while words and (longer := (*path, words[0].rstrip(".:"))) in _NODES:
        path, words = longer, words[1:]
    node: Node = _NODES[path]
    if len(path) > 1 and node.children and words and re.fullmatch(r"[a-z]+", words[0]):
        return f"no command {words[0]}"
    names = {name for option in node.options for name in (*option.names, *option.secondary)}
    of_mcpctl = words[: words.index("--")] if "--" in words else words
    options = [word.partition("=")[0].rstrip(".:") for word in of_mcpctl if re.match(r"--?[a-z]", word)]
    if len(path) == 1 and not (words and words[0].startswith("-")):
        options = []
    return ", ".join(f"no option {name}" for name in options if name not in {*names, "-h", "--help"})


def test_every_command_that_is_named_is_there() -> None:
    files = [
        *ROOT.glob("mcpctl/**/*.py"),
        *ROOT.glob("mcpctl/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        ROOT / "README.md",
    ]
    named = [(file, match) for file in files for text in texts(file) for match in _NAMED.finditer(text)]
    assert len(named) > 600
    wrong = [
        (str(file.relative_to(ROOT)), match[0], why)
        for file, match in named
        if match[0] not in _NOT_OURS and (why := problem(match[1].split()))
    ]
    assert wrong == []


@for_each(
    ("words", "wrong"),
    [("calls lss", "no command lss"), ("calls ls --sinse 1h", "no option --sinse"), ("is gone", ""),
     ("servers add x -- npx --yes", ""), ("calls ls --json", "")],
)  # fmt: skip
def test_what_is_wrong_is_seen(words: str, wrong: str) -> None:
    assert problem(words.split()) == wrong
