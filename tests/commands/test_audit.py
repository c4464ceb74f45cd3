"""Questions about the records that one command answers, by its filters."""

import time
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import clock, journal_lines
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, call, created, hints, opened, raw, searched

DAY = 86_400


@pytest.fixture
def audited(paths: Paths) -> None:
    """Calls of three days by two clients, the first of them yesterday at noon."""
    noon = time.mktime((*time.localtime()[:3], 12, 0, 0, 0, 0, -1))
    made: list[tuple[float, dict[str, Any]]] = [
        (noon - DAY, {"server": "github", "tool": "create_issue", "status": "failed"}),
        (noon - DAY + 60, {"server": "linear", "tool": "list_issues", "duration_ms": 4000}),
        (noon - DAY + 120, {"server": "linear", "tool": "delete_issue", "status": "denied",
                            "annotations": hints(False, True, None, None)}),
        (noon - DAY + 180, {"server": "notes", "tool": "list_notes", "status": "tool_error"}),
        (noon - 3 * DAY, {"server": "github", "tool": "delete_repo", "annotations": hints(False, True, None, None)}),
        (noon - 3 * DAY + 60, {"server": "github", "tool": "search", "client_name": "cursor", "project": "acme",
                               "arguments": raw({"q": "Ünal"}), "duration_ms": 9000}),
        (noon - 30 * DAY, {"server": "notes", "tool": "list_notes", "client_name": "cursor", "output_tokens": 999}),
    ]  # fmt: skip
    journal = opened(paths, created())
    for number, (moment, changes) in enumerate(made, 1):
        begun, ended = call(number, 0, **{"duration_ms": 10, "annotations": hints(True, None, None, None), **changes})
        begun.timestamp, ended.timestamp = clock.iso(moment), clock.iso(moment + 1)
        journal.append(journal_lines.encode(begun) + journal_lines.encode(ended))
    search = searched(1, 0)
    search.timestamp = search.started_at = clock.iso(noon - DAY)
    journal.append(journal_lines.encode(search))
    journal.close()


def day(ago: int) -> str:
    return time.strftime(
        "%Y-%m-%d", time.localtime(time.mktime((*time.localtime()[:3], 12, 0, 0, 0, 0, -1)) - ago * DAY)
    )


@pytest.mark.usefixtures("audited")
@pytest.mark.parametrize(
    ("question", "command", "answer"),
    [
        ("What failed on github or linear yesterday?",
         "calls ls --failed --server github,linear --since yesterday --until today --fields tool",
         "delete_issue\ncreate_issue\n"),
        ("What did cursor cost this week?",
         "calls stats --client cursor --since 7d --fields calls,total_tokens", "1\t17\n"),
        ("Which destructive tools were called between two days?",
         f"calls ls --hint destructive --since {day(3)} --until {day(2)} --fields tool", "delete_repo\n"),
        ("Who called anything with this text?",
         "calls ls --grep ÜNAL --fields client_name,tool", "cursor\tsearch\n"),
        ("Which tools are the slowest?",
         "calls stats --by tool --sort p95_ms --limit 2 --fields tool,p95_ms", "search\t9000\nlist_issues\t4000\n"),
        ("Which calls took longer than two seconds?",
         "calls ls --min-duration 2s --fields tool", "list_issues\nsearch\n"),
        ("How many calls failed each day of the last week?",
         "calls stats --by day --failed --since 1w --fields day,calls", f"{day(1)}\t3\n"),
        ("What was refused?", "calls ls --status denied --fields tool", "delete_issue\n"),
        ("Which sessions had failures on notes?",
         "sessions ls --failed --server notes --fields id", f"{CLAUDE}\n"),
        ("What deleted anything, whichever server?",
         "calls ls --tool delete_* --fields server,status", "linear\tdenied\ngithub\tok\n"),
        ("Who works in project acme?",
         "calls stats --by client --project acme --fields client_name,calls", "cursor\t1\n"),
        ("What was searched for yesterday?",
         "calls ls --kind discovery --since yesterday --until today --fields query", "weather in a city\n"),
    ],
)  # fmt: skip
def test_one_command_answers(mcpctl: Mcpctl, question: str, command: str, answer: str) -> None:
    ran = mcpctl(*command.split())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == answer
