"""What a tool may do at worst, from what it declares and what a person overrides."""

from typing import Any

import pytest

from mcpctl.catalog import hints
from mcpctl.models import Tool


def tool(read_only: object, destructive: object) -> Tool:
    """A tool that declares these; None is a hint that it does not declare."""
    said = {"readOnlyHint": read_only, "destructiveHint": destructive}
    annotations = {name: value for name, value in said.items() if value is not None}
    return Tool("s", "t", {"name": "t", "annotations": annotations}, "{}")


def risk(read_only: object, destructive: object, **overrides: Any) -> str:
    return hints.risk(hints.effective(tool(read_only, destructive), overrides))


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("read_only", [True, False, None])
@pytest.mark.parametrize("destructive", [True, False, None])
def test_what_filters_call_destructive_is_destructive_or_not_declared(read_only: object, destructive: object) -> None:
    effective = hints.effective(tool(read_only, destructive))
    is_destructive = effective["destructiveHint"].value and not effective["readOnlyHint"].value
    assert is_destructive == (hints.risk(effective) in ("destructive", "not-declared"))
