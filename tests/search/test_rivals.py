"""The rankings that search is measured beside score as their sources do."""

import json

import pytest

from mcpctl.base.models import Tool
from tests.bench import bleve
from tests.bench.rivals import McpProxy


class Prefixed(McpProxy):
    """As mcpproxy's own fixtures have it: the server before the name."""

    @staticmethod
    def full_name(tool: Tool) -> str:
        return tool.key


def _tool(name: str, description: str, properties: int | None = None) -> Tool:
    """A tool with a schema of that many words and three more, or with an empty one."""
    named: dict[str, object] = {f"p{number}": {} for number in range(properties or 0)}
    schema = {} if properties is None else {"type": "object", "properties": named}
    definition = {"name": name, "description": description, "inputSchema": schema}
    return Tool("server", name, definition, json.dumps(definition))


def _scores(tools: list[Tool], query: str) -> dict[str, float]:
    return {hit.key: hit.relevance for hit in Prefixed(tools).search([query]).hits}


def test_words_score_as_in_mcpproxy() -> None:
    """Tools as long as those of its `retrieve_full_stats.golden.json` have their scores."""
    recorded = {
        "server:tool_a": (4, 0, 0.011312138508548623),
        "server:tool_b": (4, 9, 0.008243798662285959),
        "server:tool_c": (7, 9, 0.007666460133457465),
        "server:tool_d": (5, 15, 0.007056919206727505),
        "server:tool_e": (6, 19, 0.00646672399372599),
    }
    tools = [
        _tool(key.partition(":")[2], f"To manage the {' '.join(f'word{n}' for n in range(words))}.", properties)
        for key, (words, properties, _) in recorded.items()
    ]
    assert _scores(tools, "manage") == pytest.approx({key: row[2] for key, row in recorded.items()}, rel=1e-12)


def test_names_score_as_in_mcpproxy() -> None:
    """Tools of the shape of those of its `retrieve_tools_profile_v3.golden.json` have their score."""
    names = ["read_file", "write_file", "move_file", "copy_file", "find_file", "open_page"]
    tools = [_tool(name, name) for name in names]
    assert _scores(tools, "read_file") == pytest.approx({"server:read_file": 2.575623641485255}, rel=1e-12)


def test_disjunctions_score_as_in_bleve() -> None:
    """Its `TestDisjunctionSearch`, five documents of one name each."""
    name = bleve.Field([["marty"], ["steve"], ["dustin"], ["ravi"], ["bobert"]])
    either = bleve.any_of([name.term("marty"), name.term("dustin")])
    assert either.normed() == pytest.approx({0: 0.6775110856165737, 2: 0.6775110856165737})
    nested = bleve.any_of([name.term("ravi"), either])
    assert nested.normed() == pytest.approx({0: 0.2765927424732821, 2: 0.2765927424732821, 3: 0.5531854849465642})


def test_conjunctions_need_every_clause() -> None:
    text = bleve.Field([["read", "file"], ["read", "table"]])
    assert set(bleve.all_of([text.term("read"), text.term("file")]).scores) == {0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Now is the.\n End.", ["now", "end"]),
        ("3.5 cat3.5", ["3.5", "cat3.5"]),
        ("こんにちは世界", [*"こんにちは世界"]),
        ("你好世界", [*"你好世界"]),
        ("サッカ", ["サッカ"]),
        ("list_pods of a:b, e.g. user-agents don't", ["list_pods", "a:b", "e.g", "user", "agents"]),
    ],
)
def test_texts_split_as_in_bleve(text: str, words: list[str]) -> None:
    assert bleve.analysed(text) == words
