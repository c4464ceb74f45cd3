"""A server may list other tools to clients that can do more; commands can do nothing, and break nothing by it."""

import pytest

from mcpctl.base.callers import capability_set, translated
from mcpctl.base.paths import Paths
from mcpctl.cli import tab_completion
from mcpctl.cli.command_tree import tree
from tests.configured import configure, listed, stub, toolset
from tests.conftest import Mcpctl
from tests.table import for_each

READ, ASK = {"name": "read", "description": "Reads."}, {"name": "ask", "description": "Asks."}


@for_each(
    "declared, expected",
    [
        (b"", ""),
        (b"{}", ""),
        (b"null", ""),
        (b"[1]", ""),
        (b"{broken", ""),
        (b'{"elicitation": {}}', "elicitation"),
        (b'{"sampling": {}, "roots": {"listChanged": true}}', "roots,sampling"),
        (b'{"roots": {"listChanged": true}, "sampling": {}}', "roots,sampling"),
        (b'{"elicitation": {"url": {}, "form": {}}, "tasks": 1}', "elicitation.form,elicitation.url,tasks"),
    ],
)
def test_a_set_is_one_text_however_it_is_written(declared: bytes, expected: str) -> None:
    assert capability_set(declared) == expected


def test_a_long_set_is_short_and_told_from_others() -> None:
    sets = [b'{"experimental": {"%b%b": {}}}' % (b"x" * 500, end) for end in (b"a", b"b")]
    assert len({capability_set(each) for each in sets}) == 2
    assert all(len(capability_set(each)) == 32 for each in sets)


@for_each(
    "declared, told",
    [
        (b"", b"{}"),
        (b"null", b"{}"),
        (b"{broken", b"{}"),
        (b'{"tasks": {}, "roots": { "listChanged" : true }}', b'{"roots":{ "listChanged" : true }}'),
        (b'{"extensions": {"io.modelcontextprotocol/tasks": {}}}', b"{}"),
        (b'{"extensions": [1]}', b"{}"),
        (
            b'{"extensions": {"x/y": {}, "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}, "sampling": {}}',
            b'{"sampling":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes": ["text/html"]}}}',
        ),
    ],
)
def test_a_server_of_the_other_era_is_told_what_it_may_ask_and_that_pages_are_shown(
    declared: bytes, told: bytes
) -> None:
    assert translated(declared) == told


@pytest.fixture
def both(paths: Paths) -> None:
    """A server that was listed by commands, and since then for a client that can be asked."""
    configure(paths, {"files": stub()})
    listed(paths, "files", [READ])
    listed(paths, "files", [READ, ASK], "elicitation")


def test_commands_list_what_they_were_listed_and_find_what_only_others_are(
    mcpctl: Mcpctl, paths: Paths, both: None
) -> None:
    assert [row["tool"] for row in mcpctl("tools", "ls", "--json").json] == ["read"]
    assert mcpctl("tools", "show", "files:ask").code == 0
    assert mcpctl("servers", "ls", "--json").json[0]["tools"] == 1


def test_what_only_others_are_listed_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"files": stub()})
    listed(paths, "files", [READ, ASK], "elicitation")
    ran = mcpctl("tools", "ls", tty=True)
    assert "files:ask" in ran.out
    assert "'files': as it is listed for clients that can do: elicitation" in ran.err
    listed(paths, "files", [READ])
    ran = mcpctl("tools", "ls", tty=True)
    assert "files:ask" not in ran.out
    assert "as it is listed for" not in ran.err


def test_a_toolset_has_tools_that_only_others_are_listed(mcpctl: Mcpctl, paths: Paths, both: None) -> None:
    toolset(paths, "triage", "files:read")
    assert mcpctl("toolsets", "add", "triage", "files:ask").code == 0
    assert {tool["status"] for tool in mcpctl("toolsets", "show", "triage", "--json").json["tools"]} == {"ok"}
    assert mcpctl("annotate", "check", "--json").json == []
    assert mcpctl("annotate", "add", "files:ask", "when", "Only when asked.", "--toolset", "triage").code == 0


def test_tab_offers_each_once(paths: Paths, both: None) -> None:
    _, found = tab_completion.candidates(tree, "mcpctl tools show files:")
    assert [value for value, _ in found] == ["files:ask", "files:read"]
