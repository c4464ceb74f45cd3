"""The recorder: the line before the answer, cut and redacted; failing to write stops no call."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.callers import Client
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.secrets.redact import MARK
from mcpctl.store import journal_lines
from mcpctl.store.recorder import ENCODING, OpenCall, Origin, Recorder
from mcpctl.store.records import LocalRecords

CLIENT = Client("claude-code", "2.0", "2025-11-25", b'{"roots":{}}')
ORIGIN = Origin(CLIENT)


def recorder(paths: Paths, **settings: Any) -> Recorder:
    return Recorder(paths, RecordSettings(**settings))


def begin(made: Recorder, arguments: bytes = b"{}", tool: str = "t", origin: Origin = ORIGIN) -> OpenCall:
    return made.call_started("s", tool, arguments, request_id=b'"a"', annotations=b"null", origin=origin)


def rows(paths: Paths) -> list[dict[str, Any]]:
    """The calls on record, oldest first, their JSON decoded."""
    with LocalRecords(paths) as records:
        found = [dict(row) for row in records.calls().rows(None, 0)]
    for row in found:
        for name in ("arguments", "response", "error", "request_id"):
            row[name] = None if row[name] is None else json.loads(row[name])
    return found[::-1]


def only(paths: Paths) -> dict[str, Any]:
    (row,) = rows(paths)
    return row


def session_count(paths: Paths) -> int:
    with LocalRecords(paths) as records:
        return records.sessions().count()


def test_a_call_is_on_record_with_how_long_it_took(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((100.0, 101.2504))
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    made = recorder(paths)
    made.call_finished(begin(made), "ok")
    monkeypatch.undo()
    made.close()
    assert only(paths)["duration_ms"] == 1250


def test_a_connection_that_only_shakes_hands_leaves_nothing(paths: Paths) -> None:
    made = recorder(paths)
    made.flush()
    made.close()
    assert not paths.data.exists()


def test_a_call_is_on_disk_when_flush_returns(paths: Paths) -> None:
    made = recorder(paths)
    open_call = begin(made, b'{"a":1}')
    made.flush()
    assert only(paths)["status"] == "running"
    made.call_finished(open_call, "ok", response=b'{"content":[]}')
    made.flush()
    row = only(paths)
    assert (row["status"], row["arguments"], row["response"]) == ("ok", {"a": 1}, {"content": []})
    made.close()


def test_a_call_and_its_session_say_who_and_what(paths: Paths) -> None:
    made = recorder(paths)
    made.call_finished(begin(made, b'{"a":1}'), "ok", response=b'{"b":22}')
    made.close()
    row = only(paths)
    assert row["request_id"] == "a"
    known = {name: row[name] for name in ("via", "server", "tool", "client_name", "client_version", "session_id")}
    assert known == {
        "via": "client",
        "server": "s",
        "tool": "t",
        "client_name": "claude-code",
        "client_version": "2.0",
        "session_id": made.session_id,
    }
    with LocalRecords(paths) as records:
        (session,) = records.sessions().rows(None, 0)
    assert (session["client_name"], session["protocol_version"]) == ("claude-code", "2025-11-25")
    assert session["status"] == "closed"
    assert session["config_path"] == row["config_path"] == str(paths.config)


def test_a_session_of_commands_has_no_configuration_since_each_of_them_may_have_another(paths: Paths) -> None:
    made = Recorder(paths, RecordSettings(), via="cli")
    made.call_finished(begin(made), "ok", response=b"{}")
    made.close()
    with LocalRecords(paths) as records:
        (session,) = records.sessions().rows(None, 0)
    assert session["config_path"] is only(paths)["config_path"] is None


def test_the_path_of_a_configuration_is_absolute(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    paths.config.parent.mkdir()
    monkeypatch.chdir(paths.config.parent)
    made = recorder(replace(paths, config=Path(paths.config.name)))
    made.call_finished(begin(made), "ok", response=b"{}")
    made.close()
    assert only(paths)["config_path"] == str(paths.config)


def test_the_message_of_an_error_is_beside_it(paths: Paths) -> None:
    made = recorder(paths, max_response_kb=1)
    errors = [b'{"code":-1,"message":"no such city"}', b'{"code":-1}', b'"cut"', b'[1]', b"null",
              b'{"message":"' + b"so it is. " * 200 + b'"}', b'{"message":5}']  # fmt: skip
    for error in errors:
        made.call_finished(begin(made), "failed", error=error)
    said = {"content": [{"type": "text", "text": "it rains"}], "isError": True}
    made.call_finished(begin(made), "tool_error", response=json.dumps(said).encode())
    made.close()
    found = [(row["error_message"] or "")[:20] for row in rows(paths)]
    assert found == ["no such city", "", "cut", "", "", '{"message":"so it is', "", "it rains"]


def test_tokens_are_a_quarter_of_the_bytes_and_say_so(paths: Paths) -> None:
    made = recorder(paths)
    made.call_finished(begin(made, b'{"a":1}'), "ok", response=b'{"b":2222}')
    made.close()
    row = only(paths)
    assert (row["input_tokens"], row["output_tokens"], row["total_tokens"]) == (2, 3, 5)
    assert row["encoding"] == ENCODING == "estimate:bytes/4"


def test_of_a_shortened_response_the_tokens_count_that_the_client_got(paths: Paths) -> None:
    made = recorder(paths)
    made.call_finished(begin(made), "ok", response=b'{"b":"%b"}' % (b"x" * 4000), delivered=40)
    made.close()
    row = only(paths)
    assert (row["output_tokens"], row["delivered_bytes"], row["response_bytes"]) == (10, 40, 4008)


def test_an_error_counts_where_there_is_no_response(paths: Paths) -> None:
    made = recorder(paths)
    made.call_finished(begin(made), "failed", error=b'{"code":"x"}')
    made.close()
    row = only(paths)
    assert (row["response"], row["error"], row["response_bytes"], row["output_tokens"]) == (None, {"code": "x"}, 0, 3)


def test_a_long_response_is_cut_and_its_true_size_kept(paths: Paths) -> None:
    made = recorder(paths, max_response_kb=1)
    response = json.dumps({"text": "x y " * 1000}).encode()
    made.call_finished(begin(made), "ok", response=response)
    made.close()
    row = only(paths)
    assert (row["response_bytes"], row["response_truncated"]) == (len(response), True)
    assert response.decode().startswith(row["response"])
    assert 900 < len(row["response"]) <= 1024


def test_a_response_at_the_limit_is_whole(paths: Paths) -> None:
    made = recorder(paths, max_response_kb=1)
    response = b'"' + b"x" * 1022 + b'"'
    made.call_finished(begin(made), "ok", response=response)
    made.close()
    row = only(paths)
    assert (row["response"], row["response_truncated"]) == ("x" * 1022, False)


def test_long_arguments_are_cut_too(paths: Paths) -> None:
    made = recorder(paths, max_response_kb=1)
    begin(made, json.dumps({"text": "x y " * 1000}).encode())
    made.close()
    assert len(only(paths)["arguments"]) <= 1024


def test_secrets_are_redacted_in_arguments_responses_errors_and_searches(paths: Paths) -> None:
    made = recorder(paths, redact_keys=["pin"])
    secret = "hunter2-hunter2"
    members = json.dumps({"password": secret, "pin": secret, "city": "Oslo"}).encode()
    made.call_finished(begin(made, members), "failed", response=members, error=members)
    made.discovery_finished(
        [f"with token={secret}"], f"my password={secret} is", provider="bm25", fallback=None, results=[], started=0.0,
        answer_bytes=4, origin=ORIGIN,
    )  # fmt: skip
    made.close()
    (journal,) = paths.sessions.iterdir()
    assert secret.encode() not in journal.read_bytes()
    row = only(paths)
    marks = {row[name][key] for name in ("arguments", "response", "error") for key in ("password", "pin")}
    assert len(marks) == 1
    assert MARK.fullmatch(marks.pop())
    assert row["arguments"]["city"] == "Oslo"


def test_a_long_context_is_cut_and_then_redacted(paths: Paths) -> None:
    made = recorder(paths, max_response_kb=1)
    context = "x" * 1000 + " ghp_" + "Zz9" * 12
    made.discovery_finished(
        ["q"], context, provider="p", fallback=None, results=[], started=0.0, answer_bytes=0, origin=ORIGIN
    )
    made.close()
    with LocalRecords(paths) as records:
        (row,) = records.discoveries().rows(None, 0)
    assert row["context"].strip() == "x" * 1000


def test_names_and_ids_are_bounded_and_what_was_cut_says_so(paths: Paths) -> None:
    made = recorder(paths)
    huge = "näme " * 200_000
    origin = Origin(Client(huge, huge, huge, json.dumps({"x": huge}).encode()))
    for _ in range(3):
        made.call_finished(
            made.call_started(
                huge,
                huge,
                b"{}",
                request_id=json.dumps(huge, ensure_ascii=False).encode(),
                annotations=b"null",
                origin=origin,
            ),
            "ok",
            error=json.dumps(huge).encode(),
        )
    hits: list[dict[str, object]] = [{"key": huge, "relevance": 1.0}]
    made.discovery_finished(
        ["q"], None, provider=huge, fallback=huge, results=hits, started=0.0, answer_bytes=0, origin=origin
    )  # fmt: skip
    made.close()
    (journal,) = paths.sessions.iterdir()
    assert journal.stat().st_size < 5 * 65_536 + 20_000
    row = rows(paths)[0]
    with LocalRecords(paths) as records:
        (session,) = records.sessions().rows(None, 0)
        (search,) = records.discoveries().rows(None, 0)
    names = [row[name] for name in ("server", "tool", "client_name", "client_version", "request_id")]
    names += [session["client_name"], session["protocol_version"], search["provider"], search["fallback"]]
    names += [json.loads(search["results"])[0]["key"]]
    for name in names:
        assert name.lstrip('"').startswith("n")
        assert name.endswith(" characters]")
        assert "… [cut: 1,000," in name
        assert len(name) < 600
    assert len(session["capabilities"]) < 2 * 65_536  # some characters take two in a string


@pytest.mark.parametrize("tool", ["plain", "x" * 512, "snake_case-and.dots", "ünï"])
def test_a_name_that_is_no_secret_is_recorded_as_it_is(paths: Paths, tool: str) -> None:
    made = recorder(paths)
    begin(made, tool=tool)
    begin(made, tool=tool)
    made.close()
    assert [row["tool"] for row in rows(paths)] == [tool, tool]


def test_secrets_are_redacted_in_names_and_ids(paths: Paths) -> None:
    made = recorder(paths)
    secret = "ghp_" + "Zz9" * 12
    origin = Origin(Client(f"my {secret}", secret, secret, json.dumps({"token": secret}).encode()))
    for _ in range(2):
        made.call_started(
            secret, "x" * 490 + secret, b"{}", request_id=json.dumps(secret).encode(), annotations=b"null",
            origin=origin,
        )  # fmt: skip
    made.close()
    (journal,) = paths.sessions.iterdir()
    assert b"ghp_" not in journal.read_bytes()
    assert MARK.fullmatch(rows(paths)[0]["request_id"])


@pytest.mark.parametrize("sent", ["ghp_" + "Zz9" * 12, "x ghp_" + "Zz9" * 12 + " y" * 500_000], ids=["secret", "long"])
def test_no_field_from_outside_has_a_secret_or_is_long(paths: Paths, sent: str) -> None:
    made = recorder(paths)
    members = json.dumps({sent: sent, "a": [sent]}).encode()
    origin = Origin(Client(sent, sent, sent, members), sent, sent)
    call = made.call_started(
        sent, sent, members, request_id=json.dumps(sent).encode(), annotations=b"null", origin=origin
    )  # fmt: skip
    made.call_finished(call, "failed", response=members, error=members)
    made.discovery_finished(
        [sent, sent], sent, provider=sent, fallback=sent, results=[{"key": sent, "relevance": 1.0}], started=0.0,
        answer_bytes=0, origin=origin,
    )  # fmt: skip
    made.close()
    (journal,) = paths.sessions.iterdir()
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    assert len(lines) == 5
    assert b"Zz9" not in journal.read_bytes()
    text_of_any_length = ("capabilities", "arguments", "response", "error", "query", "context")
    for line in lines:
        for name, value in line.items():
            assert len(json.dumps(value)) < (140_000 if name in text_of_any_length else 700), name


def test_equal_secrets_are_recognisable_across_sessions_of_one_home(paths: Paths) -> None:
    for _ in range(2):
        made = recorder(paths)
        begin(made, b'{"token":"hunter2"}')
        made.close()
    first, second = rows(paths)
    assert first["arguments"] == second["arguments"]


def test_every_session_has_an_id_of_its_own_that_is_a_uuid(paths: Paths) -> None:
    ids = {Recorder(paths, RecordSettings()).session_id for _ in range(50)}
    assert len(ids) == 50
    assert {uuid.UUID(id_).version for id_ in ids} == {4}


# ---- where it cannot be written


def test_a_folder_that_cannot_be_written_is_said_once_and_stops_nothing(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    paths.data.mkdir(parents=True)
    paths.sessions.write_text("in the way", encoding="utf-8")
    made = recorder(paths)
    for _ in range(5):
        made.call_finished(begin(made), "ok", response=b"{}")
        made.flush()
    made.close()
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "calls go on but are not recorded" in err


def test_a_disk_that_is_full_for_a_while_costs_no_call(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = recorder(paths)
    made.call_finished(begin(made, tool="before"), "ok", response=b"{}")
    made.flush()

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for _ in range(3):
            made.call_finished(begin(made, tool="during"), "ok", response=b"{}")
            made.flush()
    made.call_finished(begin(made, tool="after"), "ok", response=b"{}")
    made.flush()
    made.close()
    assert [row["tool"] for row in rows(paths)] == ["before", "during", "during", "during", "after"]
    assert {row["status"] for row in rows(paths)} == {"ok"}
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_a_line_half_written_is_whole_later(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recorder(paths)
    made.call_finished(begin(made, tool="before"), "ok", response=b"{}")
    made.flush()
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[: len(data) // 2]))
        made.call_finished(begin(made, tool="during"), "ok", response=b"{}")
        made.flush()
    made.call_finished(begin(made, tool="after"), "ok", response=b"{}")
    made.close()
    assert [row["tool"] for row in rows(paths)] == ["before", "during", "after"]
    with LocalRecords(paths) as records:
        (session,) = records.sessions().rows(None, 0)
    assert session["tool_call_count"] == 3


LIMITED = """
import sys
import uuid
from mcpctl.config.settings import RecordSettings
from mcpctl.base.paths import find
from mcpctl.base.callers import Client
from mcpctl.store.recorder import Origin, Recorder
made = Recorder(find(), RecordSettings())
for number in range(200):
    call = made.call_started("s", "t", b"{}", request_id=b"1", annotations=b"null", origin=Origin(Client()))
    made.flush()
    made.call_finished(call, "ok", response=b'"' + b"x" * 200 + b'"')
    made.flush()
    print(number, flush=True)
made.close()
"""


@pytest.mark.process
def test_a_limit_on_file_size_keeps_what_fitted_and_calls_going(paths: Paths) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=30, preexec_fn=limit, check=True
    )
    assert len(done.stdout.splitlines()) == 200
    assert done.stderr.count("calls go on but are not recorded") == 1
    found = rows(paths)
    assert len(found) > 30
    assert {row["status"] for row in found[:-1]} == {"ok"}


@pytest.mark.process
def test_a_kill_at_any_moment_loses_no_call_that_was_answered(paths: Paths) -> None:
    process = subprocess.Popen([sys.executable, "-c", LIMITED], stdout=subprocess.PIPE)
    assert process.stdout
    answered = [int(process.stdout.readline()) for _ in range(37)][-1]
    process.kill()
    rest, _ = process.communicate(timeout=30)
    answered = int(rest.split()[-1]) if rest.split() else answered
    assert len([row for row in rows(paths) if row["status"] == "ok"]) >= answered + 1


@pytest.mark.parametrize("fsync", [True, False])
def test_with_fsync_a_call_is_on_the_disk_before_flush_returns(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, fsync: bool
) -> None:
    on_disk: dict[int, int] = {}
    sync = os.fsync

    def seen(fd: int) -> None:
        sync(fd)
        on_disk[os.fstat(fd).st_ino] = os.fstat(fd).st_size

    made = recorder(paths, fsync=fsync)
    open_call = begin(made)
    monkeypatch.setattr(os, "fsync", seen)
    for step in ("started", "finished"):
        made.flush()
        (journal,) = paths.sessions.glob("*.jsonl")
        found = journal.stat()
        assert on_disk.get(found.st_ino) == (found.st_size if fsync else None), step
        made.call_finished(open_call, "ok", response=b"{}")
    made.close()


def test_a_closed_session_is_closed_on_record(paths: Paths) -> None:
    made = recorder(paths)
    begin(made)
    made.close()
    (journal,) = paths.sessions.iterdir()
    assert isinstance(journal_lines.decode(journal.read_bytes().splitlines()[-1]), journal_lines.SessionClosed)
    assert session_count(paths) == 1


def test_names_of_clients_are_data(paths: Paths) -> None:
    made = recorder(paths)
    client = Client("'; DROP TABLE calls; --\x1b[2J", "\u202e", None, b"null")
    begin(made, origin=Origin(client))
    made.close()
    with LocalRecords(paths) as records:
        (session,) = records.sessions().rows(None, 0)
    assert session["client_name"] == client.name


def test_a_home_is_made_where_there_is_none(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "c", tmp_path / "a" / "b" / "data")
    made = recorder(paths)
    begin(made)
    made.close()
    assert only(paths)["tool"] == "t"


# ---- decisions


def test_a_decision_is_a_row_of_its_call_and_of_its_session(paths: Paths) -> None:
    made = recorder(paths)
    call = begin(made)
    first = made.decision_made("s:t", "asked", "ask s:*", place="config.toml:3", call_id=call.id, origin=ORIGIN)
    last = made.decision_made(
        "s:t", "approved", "ask s:*", call_id=call.id, channel="client", scope="once", waited_ms=1200, origin=ORIGIN
    )
    alone = made.decision_made("ghp_" + "a1B2" * 9, "denied", "bad_arguments", origin=ORIGIN)
    made.call_finished(call, "ok", response=b"{}")
    made.flush()
    made.close()
    with LocalRecords(paths) as records:
        row = records.call(call.id)
        session = records.session(made.session_id)
        of_session = list(session["decisions"].rows(None, 0))
    assert row["decision_id"] == last
    assert [each["id"] for each in row["decisions"]] == [first, last]
    assert [each["id"] for each in of_session] == [first, last, alone]
    assert (row["decisions"][0]["rule_place"], row["decisions"][0]["enforced"]) == ("config.toml:3", True)
    assert (row["decisions"][1]["scope"], row["decisions"][1]["waited_ms"]) == ("once", 1200)
    assert of_session[2]["call_id"] is None
    assert MARK.fullmatch(of_session[2]["key"])
