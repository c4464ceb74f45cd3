"""Questions to GitHub's 1,223 operations: of each, whether a right one is among the first. On request alone:
MCPCTL_OPENAPI_DOCUMENTS names a folder with GitHub's document, perhaps with Stripe's and Kubernetes' as well."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.config.server_settings import Server
from mcpctl.openapi.compiling import compile_entry
from mcpctl.search.bm25 import Bm25

FOLDER = os.environ.get("MCPCTL_OPENAPI_DOCUMENTS", "")
on_request = pytest.mark.skipif(not FOLDER, reason="MCPCTL_OPENAPI_DOCUMENTS names no folder")
Questions = Mapping[str, Sequence[str]]
SETS: Mapping[str, Questions] = tomllib.loads(
    Path(__file__).with_name("github_questions.toml").read_text(encoding="utf-8")
)


def tools_of(paths: Paths, server: str, document: str) -> list[Tool]:
    path = next(Path(FOLDER).rglob(document), None)
    if path is None:
        pytest.skip(f"the folder has no {document}")
    made = compile_entry(paths, server, Server(openapi=str(path), url="https://api.example.com", deprecated=True))
    texts = [bytes(each.definition).decode() for each in made.operations]
    names = [each.tool for each in made.operations]
    return [cache.tool(server, name, text, is_of_api=True) for name, text in zip(names, texts, strict=True)]


def shares(provider: Bm25, questions: Questions) -> tuple[float, float]:
    """The shares of questions with a right tool first, and among the first three."""
    first = three = 0
    for question, right in questions.items():
        names = [hit.key.removeprefix("github:") for hit in provider.search([question]).hits[:3]]
        first += names[:1] != [] and names[0] in right
        three += not {*names}.isdisjoint(right)
    return first / len(questions), three / len(questions)


@on_request
@pytest.mark.slow
@pytest.mark.process
def test_questions_find_their_operation_among_the_first_three(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    github = tools_of(paths, "github", "api.github.com.json")
    alone = Bm25(github)
    others = [tool for name in ("stripe", "kubernetes") for tool in _others(paths, name)]
    together = Bm25([*github, *others])
    measured = {name: (*shares(alone, asked), *shares(together, asked)) for name, asked in SETS.items()}
    with capsys.disabled():
        for name, values in measured.items():
            print("\n{}: {:.2f} first, {:.2f} of three; beside others {:.2f}, {:.2f}".format(name, *values), end="")
    for first, three, first_beside, three_beside in measured.values():
        assert first >= 0.65
        assert three >= 0.83
        assert first_beside >= 0.65
        assert three_beside >= 0.78


def _others(paths: Paths, name: str) -> list[Tool]:
    document = {"stripe": "stripe.com.json", "kubernetes": "kubernetes.io.json"}[name]
    return tools_of(paths, name, document) if next(Path(FOLDER).rglob(document), None) else []


def test_no_question_is_in_two_sets_and_each_has_a_right_answer() -> None:
    asked = [question for questions in SETS.values() for question in questions]
    assert len({*asked}) == len(asked)
    assert all(right for questions in SETS.values() for right in questions.values())
