"""The questions of the audit guide: each is one command, and that gives exactly the rows of a prepared home."""

import re
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.docgen import guides
from mcpctl.store import clock, journal_lines
from tests import configured
from tests.configured import READ, WRITE
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, call, call_id, created, decided, hints, opened, raw

GUIDE = (Path(guides.__file__).parent / "guides" / "audit.md").read_text(encoding="utf-8")
QUESTIONS = {
    question: [shlex.split(line)[1:] for line in re.findall(r"^```text\n(mcpctl .*)\n```$", text, re.MULTILINE)]
    for question, _, text in (section.partition("\n") for section in GUIDE.split("\n## ")[2:])
}
HOUR, DAY = 3600, 86_400
NOW = time.mktime((*time.localtime()[:3], 12, 0, 0, 0, 0, -1))  # at noon: hours beside each other are of one day
DELETES = hints(False, True, None, None)
MARK = "[redacted:1a2b3c4d]"
WAITS = {"code": "needs_consent", "message": "tool 'files:wipe' was not run: it needs your consent"}
DENIED = {"code": "denied", "message": "tool 'files:delete' is denied by the policy\n(deny)"}


def _at(hours: float) -> str:
    return clock.iso(NOW - hours * HOUR)


@pytest.fixture
def home(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """A week of two clients on two servers, one of which has changed a tool since."""
    configured.configure(paths, {"files": configured.stub(), "web": configured.stub("x")}, policy={"mode": "enforce"})
    for days, description in ((60, "Reads a file."), (2, "Reads any file.")):
        configured.listed(paths, "files", [{**READ, "description": description}, {**WRITE, "name": "delete"}])
        with monkeypatch.context() as then:
            then.setattr(time, "time", lambda days=days: NOW - days * DAY)
            configured.pinned(paths, "files")
    configured.listed(paths, "web", [{"name": "get", "inputSchema": {}}, {"name": "put", "inputSchema": {}}])
    made: list[tuple[float, dict[str, Any]]] = [
        (50, {"tool": "delete", "annotations": DELETES, "arguments": raw({"path": "/tmp/a"})}),
        (49, {"tool": "delete", "annotations": DELETES, "arguments": raw({"path": "/etc/hosts"}), **_refused(DENIED)}),
        (48, {"tool": "wipe", "annotations": DELETES, **_refused(WAITS)}),
        (40, {"tool": "read", "arguments": raw({"path": "/etc/hosts"}), "duration_ms": 900, "output_tokens": 500}),
        (30, {"server": "web", "tool": "get", "arguments": raw({"key": MARK}), "client_name": "cursor",
              "duration_ms": 7000}),
        (29, {"server": "web", "tool": "get", "status": "tool_error", "response": _said("no answer in 30 s")}),
        (28, {"server": "web", "tool": "get", "status": "tool_error", "response": _said("no answer in 45 s")}),
    ]  # fmt: skip
    journal = opened(paths, created())
    for number, (hours, changes) in enumerate(made, 1):
        begun, ended = call(number, 0, **{"server": "files", "duration_ms": 10, **changes})
        begun.timestamp, ended.timestamp = _at(hours), _at(hours - 0.001)
        journal.append(journal_lines.encode_all((begun, ended)))
    yes: dict[str, Any] = {"key": "files:delete", "arguments_hash": "h", "scope": "once", "rule": "ask @destructive"}
    for id_, line in {
        "asked": decided(None, "approved", channel="terminal", person="anna@box, /dev/pts/3", **yes),
        "allowed": decided(call_id(1), "allowed", channel="terminal", **yes),
    }.items():
        line.id, line.timestamp = id_, _at(50)
        journal.append(journal_lines.encode(line))
    journal.close()


def _refused(error: dict[str, str]) -> dict[str, Any]:
    return {"status": "denied", "response": raw(None), "error": raw(error), "response_bytes": 0, "output_tokens": 0}


def _said(text: str) -> Any:
    return raw({"content": [{"type": "text", "text": text}], "isError": True})


def _local_day(hours: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(NOW - hours * HOUR))


ANSWERS: dict[str, list[list[tuple[str, ...]]]] = {
    "Who deleted what, when, and with whose yes?": [
        [(_at(50), "claude-code", "files:delete", "path=/tmp/a", "allowed once, terminal: anna@box, /dev/pts/3")],
        [
            (_at(50), "claude-code", "files:delete", "approved", "terminal", "anna@box, /dev/pts/3", "once", "", ""),
            (_at(50), "claude-code", "files:delete", "allowed", "terminal", "anna@box, /dev/pts/3", "once", "",
             call_id(1)),
        ],
    ],
    "Which server is flaky?": [
        [("web", "3", "2", "0", "66.7", "7000"), ("files", "4", "0", "2", "0.0", "900")],
        [("2", "web", "get", "no answer in # s", "error", "1", _at(28))],
    ],
    "Which tools are never used?": [[("web:put",)]],
    "What does each tool, day and client cost?": [
        [
            (_local_day(40), "claude-code", "files", "read", "1", "505"),
            (_local_day(29), "claude-code", "web", "get", "2", "34"),
            (_local_day(50), "claude-code", "files", "delete", "2", "22"),
            (_local_day(30), "cursor", "web", "get", "1", "17"),
            (_local_day(48), "claude-code", "files", "wipe", "1", "5"),
        ]
    ],
    "Which calls had this argument?": [
        [(_at(40), "claude-code", "files:read", "done"), (_at(49), "claude-code", "files:delete", "refused")]
    ],
    "What was refused?": [
        [(_at(49), "claude-code", "files:delete", "denied", "tool 'files:delete' is denied by the policy")],
        [(_at(48), "claude-code", "files:wipe", "city=Oslo")],
    ],
    "Was a secret in arguments?": [
        [(_at(30), "cursor", "web:get", "true", "false", f"key={MARK}")],
    ],
}  # fmt: skip


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("question", ANSWERS)
def test_its_command_gives_exactly_these_rows(mcpctl: Mcpctl, question: str) -> None:
    for words, rows in zip(QUESTIONS[question], ANSWERS[question], strict=True):
        ran = mcpctl(*words)
        assert (ran.code, ran.err) == (0, "")
        found = [tuple(line.split("\t")) for line in ran.out.splitlines()]
        assert sorted(found) == sorted(rows), words


@pytest.mark.usefixtures("home")
def test_the_slowest_come_first(mcpctl: Mcpctl) -> None:
    (words,) = QUESTIONS["Which calls took longest?"]
    rows = [line.split("\t") for line in mcpctl(*words).out.splitlines()]
    assert [row[0] for row in rows] == ["7000", "900", "10", "10", "10", "10", "10"]
    assert rows[0][1:] == [_at(30), "web:get", f"key={MARK}"]


@pytest.mark.usefixtures("home")
def test_a_definition_that_changed_is_shown_with_what_it_was(mcpctl: Mcpctl) -> None:
    (words,) = QUESTIONS["What changed in definitions since a date?"]
    (row,) = mcpctl(*words, "--json").json
    assert (row["key"], row["rule"], row["old"], row["new"]) == (
        "files:read", "W801", "Reads a file.", "Reads any file.",
    )  # fmt: skip
    assert row["message"] == f"the description changed, seen {_at(48)[:16]}Z"


@pytest.mark.usefixtures("home")
def test_a_session_is_told_whole(mcpctl: Mcpctl) -> None:
    (words,) = QUESTIONS["What did a session do?"]
    session = mcpctl(*words, "--json").json
    assert session["id"] == CLAUDE
    assert [row["id"] for row in session["calls"]] == [call_id(number) for number in range(1, 8)]
    assert [row["decision"] for row in session["decisions"]] == ["approved", "allowed"]


def test_every_question_is_tried() -> None:
    others = {"Which calls took longest?", "What changed in definitions since a date?", "What did a session do?"}
    assert set(QUESTIONS) == set(ANSWERS) | others
    assert len(QUESTIONS) == 10
