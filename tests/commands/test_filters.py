"""The filters of records: several values, times, texts, hints, and what is refused."""

import time

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import clock, journal_lines
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, CURSOR, call, created, opened, raw, searched, session, started, two_sessions


def numbers(mcpctl: Mcpctl, *options: str) -> list[int]:
    """The calls that are listed, each by the number it has in the fixed data."""
    ran = mcpctl("calls", "ls", "--fields", "id", *options)
    assert (ran.code, ran.err) == (0, "")
    return [int(id_[0]) for id_ in ran.out.split()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--server notes --server weather", [6, 5, 4, 3, 2, 1]),
        ("--server notes,weather --failed", [5, 4, 3]),
        ("--status failed,tool_error", [5, 3]),
        ("--status failed --status denied", [5, 4]),
        ("--failed", [5, 4, 3]),
        ("--tool add_note,get_forecast", [3, 2, 1]),
        ("--tool notes:*", [6, 4, 2]),
        ("--tool notes.*", [6, 4, 2]),
        ("--tool *_note", [4, 2]),
        ("--tool *_note?", [6]),
        ("--tool *:get_*", [3, 1]),
        ("--tool notes:list_notes,weather.convert_*", [6, 5]),
        ("--session 1c1a --session last --server notes", [6, 4, 2]),
        ("--client cursor", [6, 5, 4]),
        ("--client cursor --client claude-code --status ok", [6, 2, 1]),
        ("--hint destructive", [4]),
        ("--hint read-only", [6, 3, 1]),
        ("--hint no-destructive,undeclared", [5, 2]),
        ("--hint undeclared", [5]),
        ("--hint open-world,no-open-world", [6, 4, 3, 2, 1]),
        ("--min-duration 12ms", [6, 5, 3, 1]),
        ("--min-duration 1s", []),
        ("--since 2100-01-01T12:03Z --until 2100-01-01T12:12Z", [4, 3, 2]),
        ("--grep oslo", [6, 5, 4, 2, 1]),
        ("--grep DIED", [5]),
        ("--grep cloudy --server weather", [3, 1]),
    ],
)
def test_filters_take_several_values_and_fit_together(
    mcpctl: Mcpctl, paths: Paths, options: str, expected: list[int]
) -> None:
    two_sessions(paths)
    assert numbers(mcpctl, *options.split()) == expected
    assert mcpctl("calls", "ls", "--count", *options.split()).out == f"{len(expected)}\n"


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ("--failed --status ok", 2, "--failed and --status"),
        ("--status ok,bogus", 2, "'bogus'"),
        ("--hint dangerous", 2, "undeclared"),
        ("--server notes,", 2, "empty value"),
        ("--min-duration 2x", 2, "500ms, 2s or 1m30s"),
        ("--min-duration yesterday", 2, "500ms"),
        ("--until never", 2, "give --until as"),
        ("--since today --until yesterday", 2, "nothing is between"),
        ("--since 1h --since 2h", 2, "given 2 times"),
        ("--grep a --grep b", 2, "given 2 times"),
        ("--server notes,wether", 3, "did you mean 'weather'?"),
        ("--client curser", 3, "did you mean 'cursor'?"),
        ("--tool get_forecast,ad_note", 3, "did you mean 'add_note'"),
        ("--tool notess:*", 3, "no tool 'notess:*'"),
        ("--kind discovery --server notes --failed", 2, "searches have no --server or --failed"),
        ("--kind discovery --hint destructive", 2, "searches have no --hint"),
    ],
)
def test_what_cannot_be_meant_is_refused_though_other_values_have_rows(
    mcpctl: Mcpctl, paths: Paths, options: str, code: int, says: str
) -> None:
    two_sessions(paths)
    ran = mcpctl("calls", "ls", *options.split())
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err


@pytest.mark.parametrize("option", ["server", "tool", "client", "project", "session"])
def test_more_values_than_can_be_asked_for_are_refused(mcpctl: Mcpctl, paths: Paths, option: str) -> None:
    two_sessions(paths)
    values = [f"--{option}=n{number}" for number in range(201)]
    ran = mcpctl("calls", "ls", *values)
    assert (ran.code, "201 values" in ran.err) == (2, True)


def test_an_empty_text_finds_nothing_to_look_for(mcpctl: Mcpctl) -> None:
    assert mcpctl("calls", "ls", "--grep", "").code == 2
    assert mcpctl("calls", "ls", "--grep", "x" * 1001).code == 2


@pytest.mark.parametrize(("zone", "midnight"), [("UTC", 1_800_000_000 // 86_400 * 86_400), ("Asia/Kathmandu", None)])
def test_a_day_is_its_beginning_here(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, zone: str, midnight: int | None
) -> None:
    """Yesterday is the day before the local one, as `--since yesterday --until today` says."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        today = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
        journal = opened(paths, created())
        for number, moment in enumerate((today - 86_401 - 3600, today - 3600, today - 1, today)):
            begun = started(number + 1, 0)
            begun.timestamp = clock.iso(moment)
            journal.append(journal_lines.encode(begun))
        journal.close()
        assert numbers(mcpctl, "--since", "yesterday", "--until", "today") == [3, 2]
        assert numbers(mcpctl, "--since", "today") == [4]
        assert numbers(mcpctl, "--since", time.strftime("%Y-%m-%d", time.localtime(today))) == [4]
        assert numbers(mcpctl, "--until", "yesterday") == [1]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(("ago", "is_listed"), [(80, True), (100, False)])
def test_units_of_time_add_up(mcpctl: Mcpctl, paths: Paths, ago: int, is_listed: bool) -> None:
    begun = started(1, 0)
    begun.timestamp = clock.iso(time.time() - ago * 60)
    opened(paths, created(), [begun]).close()
    assert numbers(mcpctl, "--since", "1h30m") == [1] * is_listed


def test_a_call_of_a_killed_session_is_interrupted_in_every_filter(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    killed = "3e551015-0000-4000-8000-000000000000"
    opened(paths, created(killed, 30), [started(7, 31, killed)]).close()
    alive = "4e551015-0000-4000-8000-000000000000"
    running = opened(paths, created(alive, 40), [started(8, 41, alive)])
    assert numbers(mcpctl, "--status", "running") == [8]
    assert numbers(mcpctl, "--status", "interrupted") == [7]
    assert numbers(mcpctl, "--status", "running,interrupted,denied") == [8, 7, 4]
    assert numbers(mcpctl, "--failed") == [7, 5, 4, 3]
    running.close()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--server weather", [CURSOR, CLAUDE]),
        ("--tool list_*", [CURSOR]),
        ("--failed --server weather --until 2100-01-01T12:05Z", [CLAUDE]),
        ("--failed", [CURSOR, CLAUDE]),
        ("--hint destructive", [CURSOR]),
        ("--grep died", [CURSOR]),
        ("--since 2100-01-01T12:08Z", [CURSOR]),
        ("--until 2100-01-01T12:08Z", [CLAUDE]),
        ("--client cursor,", []),
        ("--client cursor --client claude-code --status closed", [CURSOR, CLAUDE]),
        ("--status active,closed --failed --tool delete_note", [CURSOR]),
        ("--status active", []),
    ],
)
def test_sessions_are_chosen_by_their_calls(mcpctl: Mcpctl, paths: Paths, options: str, expected: list[str]) -> None:
    two_sessions(paths)
    session(paths, "3e551015-0000-4000-8000-000000000000", 7, [])
    opened(paths, created("4e551015-0000-4000-8000-000000000000", 7, client_name="cursor,")).close()
    found = mcpctl("sessions", "ls", "--fields", "id", *options.split())
    assert found.code == 0
    listed = [id_ for id_ in found.out.split() if id_ in (CLAUDE, CURSOR)]
    assert listed == expected


def test_searches_are_chosen_by_text_client_and_time(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    extra = "3e551015-0000-4000-8000-000000000000"
    session(paths, extra, 20, [searched(3, 21, extra, query=raw(["Zürich"]), duration_ms=900)])

    def found(*options: str) -> list[str]:
        return [id_[0] for id_ in mcpctl("calls", "ls", "--kind", "discovery", "--fields", "id", *options).out.split()]

    assert found("--grep", "ZÜRICH") == ["3"]
    assert found("--grep", "get_forecast") == ["3", "1"]
    assert found("--grep", "TIDYING") == ["2"]
    assert found("--client", "cursor") == ["2"]
    assert found("--until", "2100-01-01T12:13Z") == ["1"]
    assert found("--min-duration", "900ms") == ["3"]


def test_a_text_in_another_tools_arguments_is_found_by_whom_it_was_sent(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, arguments=raw({"to": "Ünal\n<unal@example.com>"})))
    for text in ("ünal", "UNAL@EXAMPLE.COM", "\n<unal", "\\n<unal"):
        assert numbers(mcpctl, "--grep", text) == [1]
