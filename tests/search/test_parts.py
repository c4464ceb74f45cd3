"""An index of some tools from the parts of one that has more: as one of their own, at little work."""

import random
from dataclasses import replace

import pytest

from mcpctl.base.models import Tool
from mcpctl.search import bm25
from mcpctl.search.bm25 import Bm25
from mcpctl.search.meaning import shipped
from tests.effort import calls

SERVERS = ("mail", "files", "maps", "code")


@pytest.fixture(scope="module")
def tools() -> list[Tool]:
    """Tools of several servers, with words that the table has."""
    draw = random.Random(7)
    words = [word.decode() for word in shipped().words[::50].tolist() if word.isalpha()][:600]

    def tool(server: str, number: int) -> Tool:
        name = f"{draw.choice(words)}_{draw.choice(words)}_{number}"
        text = " ".join(draw.choices(words, k=12)) + ". " + " ".join(draw.choices(words, k=12))
        return Tool(server, name, {"name": name, "description": text}, text)

    return [tool(server, number) for server in SERVERS for number in range(40)]


@pytest.mark.parametrize("many, nearly", [(1000, 0.05), (0, 0.15)])
def test_the_parts_rank_as_an_index_of_their_own_does(
    many: int, nearly: float, tools: list[Tool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25, "_MANY", many)
    whole = Bm25(tools)
    seen = [tool for tool in tools if tool.server in ("maps", "mail")]
    part, own = whole.only(seen), Bm25(seen)
    assert part
    assert [tool.key for tool in part.tools] == [tool.key for tool in own.tools]
    for tool in seen[::4]:
        for query in (tool.description[:40], tool.name, tool.key, "send " + tool.name.replace("_", " ")):
            ours, theirs = part.search([query]), own.search([query])
            assert [hit.key for hit in ours.hits[:1]] == [hit.key for hit in theirs.hits[:1]]
            assert ours.hits[0].relevance == pytest.approx(theirs.hits[0].relevance, abs=nearly)
            assert ours.unknown_words == theirs.unknown_words


def test_nothing_of_a_tool_that_is_not_seen_is_told_by_what_a_query_is_read_as() -> None:
    secret = Tool("hr", "layoffs", {"name": "layoffs", "description": "Plan the zebrafinch layoffs."}, "{}")
    seen = [Tool("mail", "send", {"name": "send", "description": "Send a letter."}, "")]
    whole = Bm25([secret, *seen])
    part = whole.only(seen)
    assert part
    assert "zebrafinch" in whole.search(["zebrafinsh"]).notice
    for query in ("zebrafinsh", "zebrafinch", "hr:layoffs", "layoffs"):
        found = part.search([query])
        assert {hit.key for hit in found.hits} <= {"mail:send"}
        assert (found.notice, found.known_words) == ("", ())


def test_tools_that_are_shown_otherwise_are_no_part(tools: list[Tool]) -> None:
    whole = Bm25(tools)
    assert whole.only([*tools[:3], replace(tools[4], notes="mind this")]) is None
    assert whole.only([Tool("other", "x", {"name": "x"}, "{}")]) is None
    same = whole.only([replace(tool) for tool in tools[:5]])
    assert same
    assert len(same.tools) == 5


@pytest.mark.parametrize("many, share", [(1000, 3), (0, 8)])
def test_a_part_takes_little_of_the_work_of_an_index(
    many: int, share: int, tools: list[Tool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25, "_MANY", many)
    whole = Bm25(tools)
    assert calls(lambda: whole.only(tools[:-1])) < calls(lambda: Bm25(tools[:-1])) / share
