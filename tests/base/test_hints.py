"""What a tool may do at worst, from what it declares and what a person overrides."""

from typing import Any

from mcpctl.base import hints
from mcpctl.base.models import Overrides, Tool
from tests.table import for_each


def tool(read_only: object, destructive: object, *, own: bool = True, **overrides: bool) -> Tool:
    """A tool that declares these; None is a hint that it does not declare."""
    said = {"readOnlyHint": read_only, "destructiveHint": destructive}
    annotations = {name: value for name, value in said.items() if value is not None}
    by_toolset = Overrides(overrides, "/t.json", own) if overrides else None
    return Tool("s", "t", {"name": "t", "annotations": annotations}, "{}", overrides=by_toolset)


def risk(read_only: object, destructive: object, **overrides: Any) -> str:
    return hints.risk(hints.effective(tool(read_only, destructive, **overrides)))


@for_each(
    ("read_only", "destructive", "expected"),
    [
        (True, None, "read-only"),
        (True, False, "read-only"),
        (True, True, "read-only"),
        (False, None, "destructive"),
        (False, False, "changing"),
        (False, True, "destructive"),
        (None, None, "not-declared"),
        (None, False, "changing"),
        (None, True, "destructive"),
        ("yes", 0, "not-declared"),
        ("yes", False, "changing"),
    ],
)
def test_the_risk_is_what_the_declared_hints_leave_open_at_worst(
    read_only: object, destructive: object, expected: str
) -> None:
    assert risk(read_only, destructive) == expected


@for_each(
    ("overrides", "expected"),
    [
        ({"readOnlyHint": True}, "read-only"),
        ({"readOnlyHint": False}, "destructive"),
        ({"destructiveHint": False}, "changing"),
        ({"destructiveHint": True}, "destructive"),
        ({"idempotentHint": True, "openWorldHint": False}, "not-declared"),
    ],
)
def test_an_override_is_as_good_as_a_declaration(overrides: dict[str, bool], expected: str) -> None:
    assert risk(None, None, **overrides) == expected


def test_an_override_beats_what_is_declared() -> None:
    assert risk(True, None, readOnlyHint=False) == "destructive"
    assert risk(False, True, destructiveHint=False) == "changing"


@for_each("read_only", [True, False, None])
@for_each("destructive", [True, False, None])
def test_what_filters_call_destructive_is_destructive_or_not_declared(read_only: object, destructive: object) -> None:
    effective = hints.effective(tool(read_only, destructive))
    is_destructive = effective["destructiveHint"].value and not effective["readOnlyHint"].value
    assert is_destructive == (hints.risk(effective) in ("destructive", "not-declared"))


def test_a_tool_that_a_toolset_calls_destructive_is_so_whatever_else_it_declares() -> None:
    assert risk(True, None, destructiveHint=True) == "destructive"
    assert risk(True, None, destructiveHint=True, readOnlyHint=True) == "read-only"


LOOSE = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


@for_each("name", LOOSE)
def test_what_a_file_of_others_loosens_is_shown_and_decides_nothing(name: str) -> None:
    theirs = tool(None, None, own=False, **{name: LOOSE[name]})
    assert hints.effective(theirs)[name] == hints.Hint(LOOSE[name], "override")
    assert hints.deciding(theirs)[name] == hints.Hint(hints.DEFAULTS[name], "default")
    mine = tool(None, None, own=True, **{name: LOOSE[name]})
    assert hints.deciding(mine)[name] == hints.Hint(LOOSE[name], "override")


@for_each("name", LOOSE)
def test_what_a_file_of_others_tightens_decides(name: str) -> None:
    theirs = tool(None, None, own=False, **{name: not LOOSE[name]})
    assert hints.deciding(theirs)[name] == hints.Hint(not LOOSE[name], "override")


def test_an_override_that_says_what_is_declared_anyway_loosens_nothing() -> None:
    theirs = tool(False, False, own=False, destructiveHint=False)
    assert hints.deciding(theirs)["destructiveHint"] == hints.Hint(False, "override")


@for_each(
    ("read_only", "destructive", "own", "overrides", "expected"),
    [
        (True, None, False, {}, "read"),
        (False, False, False, {}, "write"),
        (False, None, False, {}, "destructive"),
        (None, None, False, {}, "destructive"),
        (None, None, True, {"readOnlyHint": True}, "read"),
        (None, None, False, {"readOnlyHint": True}, "destructive"),
        (None, None, True, {"destructiveHint": False}, "write"),
        (None, None, False, {"destructiveHint": False}, "destructive"),
        (True, None, False, {"readOnlyHint": False}, "destructive"),
        (True, None, False, {"destructiveHint": True}, "destructive"),
        (False, False, False, {"destructiveHint": True, "readOnlyHint": True}, "destructive"),
    ],
)
def test_what_one_permits_is_what_counts_without_what_others_loosen(
    read_only: object, destructive: object, own: bool, overrides: dict[str, bool], expected: str
) -> None:
    assert hints.permission(tool(read_only, destructive, own=own, **overrides)) == expected
