"""`mcpctl tools call` at a terminal: a person is asked there about a call that needs a yes; nobody else ever is."""

import os
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from mcpctl.policy import approvals
from mcpctl.policy.approvals import CallApproval
from mcpctl.policy.policy_file import PolicyFile
from tests.configured import demo_tools
from tests.conftest import MCPCTL, Mcpctl
from tests.proxy.client import journal_lines
from tests.terminal import Terminal

pytestmark = pytest.mark.process
ADD = ("tools", "call", "notes:add_note", "title=a", "text=first\nrm -rf ~/")


def terminal(*words: str, **variables: str) -> Terminal:
    environment = {name: value for name, value in os.environ.items() if name not in confirmation.AGENTS}
    return Terminal([*MCPCTL, *words], {**environment, **variables, "COLUMNS": "100"})


def kept(paths: Paths) -> list[CallApproval]:
    with PolicyFile.connect(paths) as file:
        return list(approvals.listed(file))


def decisions(home: Path) -> list[tuple[Any, ...]]:
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    return [(each["decision"], each["channel"], each["scope"]) for each in made]


@pytest.fixture(autouse=True)
def asked_about(paths: Paths) -> None:
    demo_tools(paths, policy={"ask": ["notes:*"]})


@pytest.mark.slow
def test_a_yes_is_on_record_and_the_call_goes_on_with_the_same_server(paths: Paths, home: Path) -> None:
    with terminal(*ADD) as asked:
        shown = asked.wait_for(r"(?s).*May it be called\? \[y/N\] ")[0]
        for line in (
            "wants to call notes:add_note", "  | text: 2 lines, 15 characters", "  |   | rm -rf ~/",
            "the checks find in them: 'rm -rf ~/'", "Asked by the rule: ask notes:*, config.toml:",
        ):  # fmt: skip
            assert line in shown
        asked.type("y\n")
        asked.wait_for("(?s)y.*a")
        asked.wait_for_end()
    assert decisions(home) == [("asked", "terminal", None), ("approved", "terminal", "once")]
    assert [(each.state, each.channel, each.scope) for each in kept(paths)] == [("used", "terminal", "once")]
    ended = [line for line in journal_lines(home) if line["type"] == "calls.finished"]
    assert [line["status"] for line in ended] == ["ok"]


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["\n", "n\n", "perhaps\nNo\n"])
def test_all_else_is_a_no_and_on_record(keys: str, paths: Paths, home: Path) -> None:
    with terminal(*ADD) as asked:
        asked.wait_for(r"\[y/N\] ")
        asked.type(keys)
        asked.wait_for("you said no")
    assert decisions(home) == [("asked", "terminal", None), ("declined", "terminal", None)]
    assert [each.state for each in kept(paths)] == ["denied"]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "said"), [("\x03", "you gave no answer"), ("\x04", "it needs your consent")])
def test_who_gives_no_answer_can_give_it_later(key: str, said: str, paths: Paths, home: Path, mcpctl: Mcpctl) -> None:
    with terminal(*ADD) as asked:
        asked.wait_for(r"\[y/N\] ")
        asked.type(key)
        asked.wait_for(f"(?s){said}.*mcpctl approvals allow {kept(paths)[0].id}")
    assert [each.state for each in kept(paths)] == ["pending"]
    (ended,) = [line for line in journal_lines(home) if line["type"] == "calls.finished"]
    assert (ended["status"], ended["error"]["code"]) == ("denied", "needs_consent"), "it is no error of its server"
    with PolicyFile.connect(paths) as file:
        approvals.answer(file, kept(paths)[0].id, scope="once", channel="dashboard")
    assert mcpctl(*ADD).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "said"), [("once", "a"), (None, "you said no")])
def test_an_answer_from_elsewhere_ends_the_question(scope: str | None, said: str, paths: Paths, home: Path) -> None:
    with terminal(*ADD) as asked:
        asked.wait_for(r"\[y/N\] ")
        with PolicyFile.connect(paths) as file:
            assert approvals.answer(file, kept(paths)[0].id, scope=scope, channel="dashboard")
        asked.wait_for(f"(?s)\r\n.*{said}")
        asked.wait_for_end()
    assert decisions(home)[1][1] == "dashboard"


@pytest.mark.slow
def test_keys_that_were_pressed_before_the_question_are_no_answer(paths: Paths) -> None:
    with terminal(*ADD) as asked:
        asked.type("y\n")
        asked.wait_for(r"\[y/N\] ")
        asked.type("n\n")
        asked.wait_for("you said no")
    assert [each.state for each in kept(paths)] == ["denied"]


@pytest.mark.slow
def test_replay_asks_about_each_call(paths: Paths, home: Path) -> None:
    with terminal(*ADD) as asked:
        asked.wait_for(r"\[y/N\] ")
        asked.type("y\n")
        asked.wait_for_end()
    with terminal("calls", "replay", "last", "--execute") as asked:
        asked.wait_for(r"\[y/N\] ")
        asked.type("y\n")
        asked.wait_for("ran")
    assert decisions(home).count(("approved", "terminal", "once")) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "variables"),
    [((*ADD, "--json"), {}), (ADD, {"CLAUDECODE": "1"}), (("calls", "replay", "last", "--execute", "--jsonl"), {})],
)
def test_scripts_and_agents_are_not_asked(
    words: tuple[str, ...], variables: dict[str, str], paths: Paths, mcpctl: Mcpctl
) -> None:
    assert mcpctl(*ADD).code == 6
    with terminal(*words, **variables) as run:
        run.wait_for("(?s)consent")
        run.wait_for_end()
    assert [each.state for each in kept(paths)] == ["pending"]


def test_in_a_pipe_nobody_is_asked(paths: Paths, mcpctl: Mcpctl) -> None:
    ran = mcpctl(*ADD, stdin="y\n")
    assert (ran.code, "it needs your consent" in ran.err) == (6, True)
    assert [each.state for each in kept(paths)] == ["pending"]
