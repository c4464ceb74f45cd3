"""Badges: what is known of a tool, and that nobody said is not a no."""

import json
from typing import Any

from mcpctl.base import hints
from mcpctl.base.models import Overrides, Tool
from mcpctl.dashboard import badges
from tests.table import for_each


def recorded(annotations: dict[str, Any], **override: bool) -> Any:
    """Hints as the record of a call has them."""
    overrides = Overrides(override, "triage.json", True) if override else None
    tool = Tool("server", "tool", {"annotations": annotations}, "{}", overrides=overrides)
    return json.loads(hints.snapshot(tool))


def kinds(known: Any) -> list[str]:
    return [badge.kind for badge in badges.badges(known)]


@for_each(
    ("annotations", "expected"),
    [
        ({}, ["undeclared"]),
        ({"openWorldHint": True}, ["undeclared", "open-world"]),
        ({"readOnlyHint": True}, ["read-only"]),
        ({"readOnlyHint": True, "destructiveHint": True, "idempotentHint": True}, ["read-only"]),
        ({"readOnlyHint": False, "destructiveHint": True}, ["no", "destructive"]),
        ({"readOnlyHint": False}, ["no", "undeclared"]),
        ({"readOnlyHint": False, "idempotentHint": True}, ["no", "undeclared", "idempotent"]),
        ({"readOnlyHint": False, "destructiveHint": False}, ["no", "no"]),
        ({"readOnlyHint": True, "openWorldHint": False}, ["read-only", "no"]),
        ({"destructiveHint": True, "idempotentHint": True}, ["undeclared", "destructive", "idempotent"]),
        ({"destructiveHint": False}, ["undeclared", "no"]),
        ({"idempotentHint": False}, ["undeclared", "no"]),
        ({"readOnlyHint": "yes", "destructiveHint": 1}, ["undeclared"]),
    ],
)
def test_what_is_declared_has_its_colour(annotations: dict[str, Any], expected: list[str]) -> None:
    assert kinds(recorded(annotations)) == expected


def test_a_warning_of_the_team_counts_against_the_server() -> None:
    assert kinds(recorded({"readOnlyHint": True}, destructiveHint=True)) == ["read-only", "destructive"]
    assert kinds(recorded({"readOnlyHint": True}, readOnlyHint=True, destructiveHint=True)) == ["read-only"]
    warned = recorded({"readOnlyHint": True, "idempotentHint": True}, destructiveHint=True)
    assert kinds(warned) == ["read-only", "destructive", "idempotent"], "of what destroys, it matters"


@for_each("reads", [None, True, False])
@for_each("destroys", [None, True, False])
def test_nothing_that_makes_the_risk_is_left_unsaid(reads: bool | None, destroys: bool | None) -> None:
    said = {"readOnlyHint": reads, "destructiveHint": destroys}
    annotations = {name: value for name, value in said.items() if value is not None}
    texts = {badge.text for badge in badges.badges(recorded(annotations))}
    if reads:
        assert texts == {"Read-only"}
    elif reads is None and destroys is None:
        assert texts == {"Not declared"}
    else:
        assert texts == {
            {None: "Read-only: not declared", False: "Not read-only"}[reads],
            {None: "Destructive: not declared", True: "Destructive", False: "Not destructive"}[destroys],
        }


def test_a_badge_has_words_a_symbol_and_its_source() -> None:
    (badge,) = badges.badges(recorded({}, readOnlyHint=True))
    assert (badge.symbol, badge.text) == ("R", "Read-only")
    assert badge.title == "This tool only reads data, as a toolset says instead of its server"


@for_each("odd", [None, [], "x", {"readOnlyHint": True}, {"readOnlyHint": {"value": "yes"}}])
def test_a_record_that_is_odd_says_nothing(odd: Any) -> None:
    assert kinds(odd) == ["undeclared"]


def test_no_two_badges_look_the_same_without_colour() -> None:
    every = [*badges._WORDS.values(), badges._UNDECLARED, *badges._SILENCES.values()]
    assert len({badge.symbol for badge in every}) == len({badge.text for badge in every}) == len(every)
