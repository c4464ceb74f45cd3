"""`tools diff --since`: how tools were defined at a time, whether or not the change was approved."""

import time
from collections.abc import Callable

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import versions
from tests import configured
from tests.configured import READ, WRITE
from tests.conftest import Mcpctl

OLD, NEW = {**READ, "description": "Reads a file."}, {**READ, "description": "Reads a file of any kind."}
START = 1_700_000_000
DAY = 86_400


@pytest.fixture
def on_day(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has the server list these tools on a day, and mcpctl see them."""
    configured.configure(paths, {"files": configured.stub()}, policy={"mode": "enforce"})

    def list_on(day: int, *tools: dict[str, object], instructions: str = "") -> None:
        configured.listed(paths, "files", tools, instructions=instructions)
        with monkeypatch.context() as on_that_day:
            on_that_day.setattr(time, "time", lambda: START + day * DAY)
            configured.pinned(paths, "files")

    return list_on


def _moment(day: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(START + day * DAY))


def _found(mcpctl: Mcpctl, day: float) -> list[tuple[str, str]]:
    rows = mcpctl("tools", "diff", "--json", "--since", _moment(day)).json
    return [(row["rule"], row["key"]) for row in rows]


def test_tools_are_compared_with_those_of_that_time(mcpctl: Mcpctl, on_day: Callable[..., None]) -> None:
    on_day(0, OLD)
    on_day(2, NEW)
    on_day(4, NEW, WRITE)
    assert _found(mcpctl, 1) == [("W801", "files:read"), ("W803", "files:write")]
    assert _found(mcpctl, 3) == [("W803", "files:write")]
    assert _found(mcpctl, 5) == []


def test_a_change_says_when_it_was_seen_and_what_it_was(mcpctl: Mcpctl, on_day: Callable[..., None]) -> None:
    on_day(0, OLD)
    on_day(2, NEW)
    (row,) = mcpctl("tools", "diff", "--json", "--since", _moment(1)).json
    assert row["message"] == f"the description changed, seen {_moment(2)}"
    assert (row["old"], row["new"]) == ("Reads a file.", "Reads a file of any kind.")
    assert mcpctl("tools", "diff", "--since", _moment(1)).code == 7


def test_an_approved_change_is_still_a_change(mcpctl: Mcpctl, on_day: Callable[..., None], person: None) -> None:
    on_day(0, OLD)
    on_day(2, NEW)
    assert mcpctl("tools", "approve", "files:read", "--yes").code == 0
    assert mcpctl("tools", "diff", "--json").json == []
    assert _found(mcpctl, 1) == [("W801", "files:read")]


def test_a_change_that_was_taken_back_is_none(mcpctl: Mcpctl, on_day: Callable[..., None]) -> None:
    on_day(0, OLD)
    on_day(2, NEW)
    on_day(4, OLD)
    assert _found(mcpctl, 1) == []
    assert _found(mcpctl, 3) == [("W801", "files:read")]


def test_other_instructions_are_a_change(mcpctl: Mcpctl, on_day: Callable[..., None]) -> None:
    on_day(0, OLD, instructions="Read first.")
    on_day(2, OLD, instructions="Write first.")
    (row,) = mcpctl("tools", "diff", "--json", "--since", _moment(1)).json
    assert (row["rule"], row["key"], row["old"], row["new"]) == ("W804", "files", "Read first.", "Write first.")


def test_a_tool_that_is_gone_is_said(mcpctl: Mcpctl, on_day: Callable[..., None]) -> None:
    on_day(0, OLD, WRITE)
    on_day(2, OLD)
    assert _found(mcpctl, 1) == [("I901", "files:write")]


def test_of_very_many_versions_the_first_and_the_newest_are_kept(
    mcpctl: Mcpctl, on_day: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_MOST", 2)
    for day in range(6):
        on_day(day, {**READ, "description": f"Version {day}."})
    olds = [
        mcpctl("tools", "diff", "--json", "--since", _moment(day)).json[0]["old"] for day in (0.5, 2.5, 4.5)
    ]  # fmt: skip
    assert olds == ["Version 0.", "Version 0.", "Version 4."]


def test_since_and_a_lock_file_contradict_each_other(mcpctl: Mcpctl) -> None:
    failed = mcpctl("tools", "diff", "--since", "7d", "--lock", "x.json")
    assert failed.code == 2
    assert "--since and --lock are both given" in failed.err
