"""What every command that shows one thing has in common: `--fields`, and its completion."""

import pytest

from mcpctl.base.paths import Paths
from tests import command_tree
from tests.commands.approvals.waiting import opened
from tests.configured import demo_tools, toolset
from tests.conftest import Mcpctl
from tests.recorded import two_sessions

SHOWN = {
    "calls show last": "tool",
    "sessions show last": "client_name",
    "servers show notes": "transport",
    "tools show notes:add_note": "risk",
    "toolsets show team": "name",
    "policy explain notes:add_note": "decision",
    "approvals show": "state",
}
"""Every command that shows one thing, and one of its fields."""

shown = pytest.mark.parametrize("words", SHOWN)


@pytest.fixture(autouse=True)
def data(paths: Paths) -> None:
    """One of everything."""
    demo_tools(paths)
    toolset(paths, "team", "notes:add_note")
    two_sessions(paths)
    opened(paths)


@shown
def test_json_has_only_the_named_members_in_their_order(mcpctl: Mcpctl, words: str) -> None:
    row = mcpctl(*words.split(), "--json").json
    first, *_, last = row
    chosen = mcpctl(*words.split(), "--fields", f"{last},{first}", "--json").json
    assert list(chosen.items()) == [(last, row[last]), (first, row[first])]


@shown
def test_text_has_only_the_named_pairs(mcpctl: Mcpctl, words: str) -> None:
    name = SHOWN[words]
    value = mcpctl(*words.split(), "--json").json[name]
    assert mcpctl(*words.split(), "--fields", name.upper()).out == f"{name}: {value}\n"


@shown
def test_an_unknown_field_is_refused_with_those_that_are_offered(mcpctl: Mcpctl, words: str) -> None:
    ran = mcpctl(*words.split(), "--fields", "bogus")
    assert ran.code == 2
    fields = ran.err.partition("fields: ")[2].strip().split(", ")
    offered = command_tree.candidates(f"{words} --fields ")[1]
    assert [name for name, _ in offered] == fields
    assert list(mcpctl(*words.split(), "--json").json) == fields


def test_a_member_that_is_a_list_of_rows_can_be_named(mcpctl: Mcpctl) -> None:
    calls = mcpctl("sessions", "show", "last", "--json").json["calls"]
    assert mcpctl("sessions", "show", "last", "--fields", "calls", "--json").json == {"calls": calls}
    assert calls[0]["id"] in mcpctl("sessions", "show", "last", "--fields", "calls").out
