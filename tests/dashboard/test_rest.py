"""The records over REST: the same as `--json`, field by field, in REST's names."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from mcpctl import docgen
from mcpctl.base.fields import CALL_FIELDS, CALL_PAYLOADS
from mcpctl.base.models import Found
from mcpctl.base.paths import Paths
from mcpctl.dashboard import rest, rest_names
from mcpctl.dashboard.app import app
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.store import statistics
from mcpctl.store.filters import GROUPS, CallFilter
from mcpctl.store.records import Records
from tests import recorded
from tests.conftest import Mcpctl
from tests.dashboard.conftest import PERSON, PORT, seen_by
from tests.dashboard.held import ALIVE, BIG, KILLED, asked, every_kind, printed, same
from tests.recorded import CLAUDE, CURSOR, call_id
from tests.table import for_each

Browser = Callable[..., TestClient]


@pytest.fixture
def client(browser: Browser, paths: Paths) -> Iterator[TestClient]:
    """A dashboard over records of every kind."""
    with every_kind(paths):
        yield browser()


# ---- the same as --json


def test_sessions_are_those_of_the_command_line(client: TestClient, mcpctl: Mcpctl) -> None:
    answer, rows = asked(client, "/sessions"), printed(mcpctl, "sessions", "ls")
    assert answer["total"] == "4"
    for session, row in zip(answer["sessions"], rows, strict=True):
        same(session, row, rest_names.SESSION)
    killed = next(each for each in answer["sessions"] if each["id"] == KILLED)
    assert killed["status"] == "closed"
    assert "client_name" not in killed
    assert "end_time" not in next(each for each in answer["sessions"] if each["id"] == ALIVE)


@pytest.mark.parametrize("damaged", ["9" * 5000, '["x"]', '{"readOnlyHint": "x"}', '"x"'], ids=len)
def test_hints_on_record_that_are_none_hide_no_call(browser: Browser, paths: Paths, damaged: str) -> None:
    lines = recorded.call(1, 1, annotations=msgspec.Raw(damaged.encode()))
    recorded.opened(paths, recorded.created(), lines)
    client = browser()
    listed = client.get("/api/v1/tool-calls")
    assert (listed.status_code, '"annotations"' in listed.text) == (200, False)
    assert client.get(f"/tool-calls/{call_id(1)}").status_code == 200


@pytest.mark.parametrize("session", [CLAUDE, CURSOR, KILLED, ALIVE])
def test_a_session_has_its_aggregates(client: TestClient, mcpctl: Mcpctl, session: str) -> None:
    answer, row = asked(client, f"/sessions/{session}"), printed(mcpctl, "sessions", "show", session)
    same(answer, row, rest_names.SESSION, "tools", "decisions")
    assert answer["decisions"] == row["decisions"]
    for tool, of_row in zip(answer["tools"], row["tools"], strict=True):
        same(tool, of_row, rest_names.CALLED_TOOL)


def test_calls_are_those_of_the_command_line(client: TestClient, mcpctl: Mcpctl) -> None:
    answer, rows = asked(client, "/tool-calls"), printed(mcpctl, "calls", "ls")
    assert answer["total"] == str(len(rows)) == "13"
    for call, row in zip(answer["tool_calls"], rows, strict=True):
        same(call, row, rest_names.CALL)
        milliseconds = row["duration_ms"]
        assert call["duration"] == (None if milliseconds is None else str(int(milliseconds) * 1_000_000))
        assert call["config_path"] == row["config_path"]
        flat = {hint: known["value"] for hint, known in (row["annotations"] or {}).items()}
        assert call.get("annotations", {}) == flat
    statuses = {call["status"] for call in answer["tool_calls"]}
    assert statuses == {"ok", "running", "interrupted", "denied", "failed", "tool_error", "cancelled"}


def test_numbers_stay_as_they_are_on_record(client: TestClient) -> None:
    assert f'"arguments":{BIG}' in client.get("/api/v1/tool-calls", params={"grep": "1e400"}).text
    assert f'"arguments":{BIG}' in client.get(f"/api/v1/tool-calls/a1{call_id(1)[2:]}").text


@pytest.mark.parametrize("number", range(1, 9))
def test_a_call_is_that_of_the_command_line(client: TestClient, mcpctl: Mcpctl, number: int) -> None:
    answer, row = asked(client, f"/tool-calls/{call_id(number)}"), printed(mcpctl, "calls", "show", call_id(number))
    same(answer, row, rest_names.CALL, "decisions")
    assert answer["decisions"] == row["decisions"]


@pytest.mark.parametrize("session", [CLAUDE, ALIVE, "last"])
def test_a_session_has_its_calls(client: TestClient, mcpctl: Mcpctl, session: str) -> None:
    answer = asked(client, f"/sessions/{session}/tool-calls")
    rows = printed(mcpctl, "calls", "ls", "--session", session)
    assert [call["id"] for call in answer["tool_calls"]] == [row["id"] for row in rows]
    assert answer["total"] == str(len(rows))
    if session != "last":
        assert asked(client, "/tool-calls", session_id=session) == answer


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ("server=notes,weather&failed=true", "--server notes,weather --failed"),
        ("server=notes&server=weather&status=failed,denied", "--server notes,weather --status failed,denied"),
        ("tool=notes:*", "--tool notes:*"),
        ("hint=destructive", "--hint destructive"),
        ("hint=no-destructive,undeclared", "--hint no-destructive,undeclared"),
        ("client=cursor&client=claude-code", "--client cursor --client claude-code"),
        ("project=acme", "--project acme"),
        ("since=2100-01-01T12:03Z&until=2100-01-01T12:12Z", "--since 2100-01-01T12:03Z --until 2100-01-01T12:12Z"),
        ("grep=OSLO", "--grep OSLO"),
        ("min_duration=12ms&session_id=1c1a,last", "--min-duration 12ms --session 1c1a,last"),
        ("status=interrupted", "--status interrupted"),
    ],
)
def test_filters_are_those_of_the_command_line(
    client: TestClient, mcpctl: Mcpctl, parameters: str, options: str
) -> None:
    answer = client.get(f"/api/v1/tool-calls?{parameters}").json()
    ids = [row["id"] for row in printed(mcpctl, "calls", "ls", *options.split())]
    assert ids
    assert ([call["id"] for call in answer["tool_calls"]], answer["total"]) == (ids, len(ids))


@pytest.mark.parametrize(
    ("parameters", "options"),
    [("status=active", "--status active"), ("status=closed&failed=true", "--status closed --failed"),
     ("server=notes&since=2100-01-01T12:10Z", "--server notes --since 2100-01-01T12:10Z")],
)  # fmt: skip
def test_sessions_are_filtered_as_on_the_command_line(
    client: TestClient, mcpctl: Mcpctl, parameters: str, options: str
) -> None:
    answer = client.get(f"/api/v1/sessions?{parameters}").json()
    ids = [row["id"] for row in printed(mcpctl, "sessions", "ls", *options.split())]
    assert ids
    assert ([session["id"] for session in answer["sessions"]], answer["total"]) == (ids, len(ids))


def test_searches_are_those_of_the_command_line(client: TestClient, mcpctl: Mcpctl) -> None:
    rows = printed(mcpctl, "calls", "ls", "--kind", "discovery")
    assert asked(client, "/discoveries") == {"discoveries": rows, "total": "2"}
    assert client.get("/api/v1/discoveries?client=cursor").json()["total"] == 1


@pytest.mark.parametrize("by", [(), *((group,) for group in GROUPS), ("server", "status")])
def test_totals_are_those_of_the_command_line(client: TestClient, mcpctl: Mcpctl, by: tuple[str, ...]) -> None:
    options = ["--by", ",".join(by)] if by else []
    rows = printed(mcpctl, "calls", "stats", "--sort", "longest_ms", *options)
    answer = asked(client, "/stats", sort="longest_ms", **({"by": ",".join(by)} if by else {}))
    assert answer["total"] == str(len(rows))
    groups = [name for name in statistics.GROUPS if name in rows[0]]
    for stat, row in zip(answer["stats"], rows, strict=True):
        same(stat, row, rest_names.total(groups))


# ---- windows


def test_an_offset_offsets_and_a_total_is_of_all(client: TestClient) -> None:
    every = [call["id"] for call in asked(client, "/tool-calls", limit=1000)["tool_calls"]]
    for offset in (0, 1, 5, 12, 13, 999):
        answer = asked(client, "/tool-calls", limit=3, offset=offset)
        assert [call["id"] for call in answer["tool_calls"]] == every[offset : offset + 3]
        assert answer["total"] == "13"
    assert len(asked(client, "/sessions", limit=1, offset=3)["sessions"]) == 1
    assert asked(client, "/sessions", limit=1, offset=4) == {"sessions": [], "total": "4"}


def test_a_list_goes_on_after_a_call(client: TestClient) -> None:
    every = [call["id"] for call in asked(client, "/tool-calls")["tool_calls"]]
    seen: list[str] = []
    while len(seen) < len(every):
        before = {"before": seen[-1]} if seen else {}
        page = asked(client, "/tool-calls", limit=4, **before)
        assert page["total"] == "13"
        seen += [call["id"] for call in page["tool_calls"]]
    assert seen == every


def test_no_more_than_fifty_come_unasked(browser: Browser, paths: Paths) -> None:
    recorded.session(paths, rest=[recorded.started(f"{n:08}-0000-4000-8000-000000000000", 1) for n in range(1002)])
    client = browser()
    for limit, expected in (({}, 50), ({"limit": 1000}, 1000)):
        answer = asked(client, "/tool-calls", **limit)
        assert (len(answer["tool_calls"]), answer["total"]) == (expected, "1002")


def test_a_list_that_takes_too_much_memory_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_MOST_CHARACTERS", 1000)
    found = client.get("/api/v1/tool-calls")
    assert (found.status_code, found.json()["error"]["code"]) == (400, "answer_too_large")
    assert client.get("/api/v1/tool-calls", params={"payloads": "false", "limit": "1"}).status_code == 200


def test_fields_choose_and_order_members(client: TestClient) -> None:
    answer = asked(client, "/tool-calls", fields="tool_name,metrics,id", limit=1)
    assert [list(call) for call in answer["tool_calls"]] == [["tool_name", "metrics", "id"]]
    assert asked(client, "/sessions", fields="id", limit=1)["sessions"] == [{"id": ALIVE}]


def test_without_payloads_they_are_not_even_read(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Sequence[str]] = []
    calls = Records.calls

    def watched(
        self: Records, wanted: CallFilter, fields: Sequence[str] = CALL_FIELDS, sort: str | None = None
    ) -> Found:
        found = calls(self, wanted, fields, sort)
        return replace(found, rows=lambda limit, offset: read.append(fields) or found.rows(limit, offset))  # type: ignore[func-returns-value]

    monkeypatch.setattr(Records, "calls", watched)
    answer = asked(client, "/tool-calls", payloads="false")
    assert not set(CALL_PAYLOADS) & {member for call in answer["tool_calls"] for member in call}
    assert answer["total"] == "13"
    (fields,) = read
    assert set(fields) == set(CALL_FIELDS) - set(CALL_PAYLOADS)


# ---- what is refused


@for_each(
    ("path", "status", "code", "says"),
    [
        ("/sessions/ffff", 404, "session_not_found", "ffff"),
        ("/sessions/ffff/tool-calls", 404, "session_not_found", "ffff"),
        ("/tool-calls/ffff", 404, "call_not_found", "ffff"),
        ("/tool-calls?session_id=ffff", 404, "session_not_found", "ffff"),
        ("/tool-calls?before=ffff", 404, "call_not_found", "ffff"),
        ("/sessions?limits=1", 400, "usage", "did you mean 'limit'"),
        ("/sessions/last?limit=1", 400, "usage", "there are none here"),
        ("/sessions?session_id=last", 400, "usage", "unknown parameter 'session_id'"),
        ("/sessions?limit=0", 400, "usage", "from 1 to 1,000"),
        ("/sessions?limit=1001", 400, "usage", "from 1 to 1,000"),
        ("/sessions?limit=%C2%B2", 400, "usage", "limit is"),
        ("/sessions?limit=-1", 400, "usage", "limit is '-1'"),
        ("/sessions?offset=99999999999999999999", 400, "usage", "offset is"),
        ("/sessions?limit=1&limit=2", 400, "usage", "limit is given 2 times"),
        ("/sessions?fields=", 400, "usage", "fields has an empty value"),
        ("/sessions?fields=statuses", 400, "usage", "did you mean 'status'"),
        ("/sessions?status=ok", 400, "usage", "status has no value 'ok'"),
        ("/tool-calls?payloads=false&fields=arguments", 400, "usage", "unknown field 'arguments'"),
        ("/tool-calls?failed=yes", 400, "usage", "failed has no value 'yes'"),
        ("/tool-calls?failed=true&status=ok", 400, "usage", "failed and status are both given"),
        ("/tool-calls?hint=dangerous", 400, "usage", "hint has no value 'dangerous'"),
        ("/tool-calls?since=never", 400, "usage", "give since as"),
        ("/tool-calls?since=today&until=yesterday", 400, "usage", "between since today and until yesterday"),
        ("/tool-calls?min_duration=2x", 400, "usage", "give min_duration as"),
        ("/tool-calls?grep=", 400, "usage", "grep has no text"),
        ("/tool-calls?server=a,", 400, "usage", "server has an empty value"),
        ("/tool-calls?session_id=a,", 400, "usage", "session_id has an empty value"),
        ("/discoveries?server=a", 400, "usage", "unknown parameter 'server'"),
        ("/stats?by=weather", 400, "usage", "by has no value 'weather'"),
        ("/stats?sort=calls&sort=failed", 400, "usage", "sort is given 2 times"),
        ("/export?format=xml", 400, "usage", "format has no value 'xml'"),
        ("/export?session_id=ffff", 404, "session_not_found", "ffff"),
        ("/approvals/ffff", 404, "approval_not_found", "ffff"),
        ("/nothing", 404, "not_found", "openapi.json"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(
    client: TestClient, path: str, status: int, code: str, says: str
) -> None:
    answer = client.get(f"/api/v1{path}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert says in f"{error['message']} {error['hint']}"


def test_a_search_is_not_a_call(client: TestClient) -> None:
    (search, *_) = asked(client, "/discoveries")["discoveries"]
    assert client.get(f"/api/v1/tool-calls/{search['id']}").status_code == 404


# ---- everything at once


@pytest.mark.parametrize(
    ("parameters", "options"),
    [("", ""), ("failed=true", "--failed"), ("server=notes&payloads=false", "--server notes --no-payloads"),
     ("grep=oslo", "--grep oslo")],
)  # fmt: skip
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_an_export_is_that_of_the_command_line_but_for_its_names(
    client: TestClient, mcpctl: Mcpctl, format: str, parameters: str, options: str
) -> None:
    answer = client.get(f"/api/v1/export?format={format}&{parameters}")
    printed = mcpctl("calls", "export", "--format", format, *options.split()).out
    if format == "csv":
        header, _, rows = printed.partition("\r\n")
        expected = ",".join(rest_names.EXPORTED[field] for field in header.split(",")) + "\r\n" + rows
    else:
        expected = "".join(map(renamed, printed.splitlines(keepends=True)))
    assert answer.content == expected.encode()
    assert answer.headers["content-disposition"] == f'attachment; filename="calls.{format}"'


def renamed(line: str) -> str:
    """A line of JSON with REST's names, its values byte for byte as they were."""
    row = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    return "{" + ",".join(f'"{rest_names.EXPORTED[field]}":{bytes(raw).decode()}' for field, raw in row.items()) + "}\n"


def test_only_so_many_exports_are_sent_at_once_and_each_makes_room_at_its_end(paths: Paths) -> None:
    recorded.two_sessions(paths)
    board = Dashboard(paths, PORT, exports=asyncio.Semaphore(1))
    with TestClient(seen_by(PERSON, app(board)), base_url=f"http://127.0.0.1:{PORT}") as client:
        for _ in range(2):
            assert client.get("/api/v1/export").status_code == 200
        board.exports = asyncio.Semaphore(0)
        answer = client.get("/api/v1/export")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert answer.json()["error"]["code"] == "too_many_exports"


def test_every_field_is_exported_under_a_name_of_its_own() -> None:
    assert set(rest_names.EXPORTED) == {*CALL_FIELDS, "machine"}
    assert len(set(rest_names.EXPORTED.values())) == len(CALL_FIELDS) + 1


@for_each("text", ["%00", "%ff", "%ED%A0%80", "a" * 20_000, "'%20OR%201=1", "..%2f..%2fetc", "%E2%80%AE"])
@pytest.mark.slow
def test_odd_texts_are_only_texts(client: TestClient, text: str) -> None:
    for path in ("/sessions/{}", "/tool-calls/{}", "/tools/{}", "/approvals/{}", "/tool-calls?session_id={}"):
        assert client.get(f"/api/v1{path.format(text)}").status_code == 404, path
    for name in ("server", "tool", "client", "project"):
        assert client.get(f"/api/v1/tool-calls?{name}={text}").json() == {"tool_calls": [], "total": 0}
    for name in ("since", "status", "hint", "limit", "fields", "by", "min_duration"):
        assert client.get(f"/api/v1/stats?{name}={text}").status_code == 400


@pytest.mark.slow
@pytest.mark.process
def test_what_serves_the_records_imports_nothing_heavy() -> None:
    heavy = ("pydantic", "numpy", "mcp", "mcp_types", "rich", "jsonschema", "tomlkit")
    program = f"import sys, mcpctl.dashboard.app; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_the_addresses_in_the_guide_are_answered(client: TestClient) -> None:
    guide = (Path(docgen.__file__).parent / "guides" / "dashboard.md").read_text(encoding="utf-8")
    addresses = [line for line in guide.splitlines() if line.startswith("/api/v1/")]
    assert len(addresses) == 11
    for address in addresses:
        assert client.get(address).status_code == 200, address
