"""Calls of `serve` are on record once, in order, as they were sent, whoever else reads or writes; no call waits."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import state_file
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, ROOT, Client, journal_lines, until, write_config
from tests.proxy.conftest import BOTH, Serve
from tests.servers import command

pytestmark = [pytest.mark.process, BOTH]


SERVES, CALLS = 4, 100


@pytest.mark.stdio("of processes")
@pytest.mark.slow
def test_four_at_once_put_every_call_on_record_once_and_in_order(
    home: Path, paths: Paths, serve: Serve, mcpctl: Mcpctl
) -> None:
    write_config(home, {"counter": command("counter")})
    clients = [serve(opened=False, process=True) for _ in range(SERVES)]
    with ThreadPoolExecutor(SERVES + 1) as pool:
        work = [pool.submit(drive, client, who) for who, client in enumerate(clients)]
        counts = pool.submit(counted_meanwhile, home, paths, work).result(60)
        for one in work:
            one.result(60)
    assert counts == sorted(counts)
    recorded = mcpctl("calls", "ls", "--json").json
    rows = [(row["arguments"]["who"], row["arguments"]["n"], row["status"]) for row in recorded]
    assert sorted(rows) == [(who, n, "ok") for who in range(SERVES) for n in range(CALLS)]
    sessions: dict[str, list[tuple[int, int]]] = {}
    for row in reversed(recorded):
        sessions.setdefault(row["session_id"], []).append((row["arguments"]["who"], row["arguments"]["n"]))
    assert sorted(sessions.values()) == [[(who, n) for n in range(CALLS)] for who in range(SERVES)]
    assert mcpctl("db", "rebuild").code == 0
    assert mcpctl("calls", "ls", "--json").json == recorded


def drive(client: Client, who: int) -> None:
    """A hundred calls, ten unanswered at any time once the first has its answer: calls that wait for a list of tools
    have no order among themselves."""
    client.open()
    client.answer(client.start_call("counter:echo", {"who": who, "n": 0}))
    ids = [client.start_call("counter:echo", {"who": who, "n": n}) for n in range(1, 11)]
    for n in range(11, CALLS + 10):
        client.answer(ids[n - 11])
        if n < CALLS:
            ids.append(client.start_call("counter:echo", {"who": who, "n": n}))


def counted_meanwhile(home: Path, paths: Paths, work: Sequence[Future[None]]) -> list[int]:
    """How many calls a command sees, again and again; the index is deleted in the middle."""
    counts: list[int] = []
    deleted = False
    while not all(one.done() for one in work):
        rows = json.loads(command_output(home, "calls", "ls", "--json"))
        assert len({row["id"] for row in rows}) == len(rows)
        counts.append(len(rows))
        if not deleted and len(rows) > SERVES * CALLS // 3:
            paths.index.unlink()
            deleted = True
    assert deleted
    return counts


def command_output(home: Path, *words: str) -> bytes:
    """The output of a command, in a process of its own; its stderr is empty."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MCPCTL_HOME": str(home)}
    ran = subprocess.run([sys.executable, "-m", "mcpctl", *words], capture_output=True, env=env, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout


def test_the_index_can_be_deleted_and_gives_the_same_answers(paths: Paths, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"counter": command("counter")})
    for _ in range(5):
        client.call("counter:count")
    client.discover("count")
    before = [mcpctl(*words, "--json").json for words in LISTS]
    paths.index.unlink()
    assert [mcpctl(*words, "--json").json for words in LISTS] == before


LISTS = (("calls", "ls"), ("calls", "ls", "--kind", "discovery"), ("sessions", "ls"), ("sessions", "show", "last"))


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_session_that_only_shakes_hands_leaves_nothing(revision: str, home: Path, serve: Serve) -> None:
    client = serve({"counter": command("counter")}, revision=revision)
    client.ask("tools/list")
    client.ask("ping")
    client.end_input()
    client.wait()
    assert journal_lines(home) == []


def test_a_search_alone_is_a_session_on_record(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"counter": command("counter")})
    client.discover("how many calls", context="testing")
    (session,) = mcpctl("sessions", "ls", "--json").json
    assert (session["tool_call_count"], session["discovery_count"], session["status"]) == (0, 1, "active")
    (found,) = mcpctl("calls", "ls", "--kind", "discovery", "--json").json
    assert (found["query"], found["context"]) == (["how many calls"], "testing")
    assert found["results"][0]["key"] == "counter:count"


def test_arguments_and_the_response_are_on_record_as_they_were_sent(home: Path, tmp_path: Path, serve: Serve) -> None:
    arguments = b'{"n":123456789012345678901234567890, "f":1.0,"e":1E400,"t":"\\u0041 \xe6\x9d\xb1"}'
    response = b'{"content":[],"structuredContent":{"n":-123456789012345678901234567890,"f":1.0},"x":[ 1 ]}'
    (tmp_path / "answer").write_bytes(response)
    file = json.dumps(str(tmp_path / "answer")).encode()
    arguments = arguments[:-1] + b',"file":' + file + b"}"
    serve({"raw": command("raw")}).call("raw:raw", arguments)
    (journal,) = (home / "data" / "sessions").glob("*.jsonl")
    _, started, finished = journal.read_bytes().splitlines()
    assert b'"arguments":' + arguments + b"," in started
    assert b'"response":' + response + b"," in finished


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_session_has_the_client_s_name_version_and_revision(revision: str, serve: Serve, mcpctl: Mcpctl) -> None:
    serve({"counter": command("counter")}, revision=revision).call("counter:count")
    (session,) = mcpctl("sessions", "ls", "--json").json
    assert (session["client_name"], session["client_version"]) == ("tester", "0.1")
    assert session["protocol_version"] == revision


def test_a_call_has_the_hints_that_its_tool_declared(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"counter": command("counter")})
    client.call("counter:count")
    client.call("counter:echo")
    echo, count = mcpctl("calls", "ls", "--json").json
    assert count["annotations"] == {"readOnlyHint": {"value": True, "source": "declared"}}
    assert not echo["annotations"]


def test_a_call_is_on_record_before_its_server_answers(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"raw": command("raw")})
    client.start_call("raw:sleep", {"seconds": 60})
    until("the call on record", lambda: mcpctl("calls", "ls", "--count").out == "1\n")
    (call,) = mcpctl("calls", "ls", "--json").json
    assert (call["status"], call["response"], call["duration_ms"]) == ("running", None, None)


def test_an_answer_that_is_too_long_is_cut_on_record_alone(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"raw": command("raw")}, records={"max_response_kb": 1})
    answer = client.call("raw:big", {"bytes": 5000})
    (call,) = mcpctl("calls", "ls", "--json").json
    assert len(answer.text) == 5000
    assert call["response_truncated"] is True
    assert call["response_bytes"] == len(answer.result)
    assert len(call["response"]) <= 1024


SECRETS = {
    "password": "correct horse battery",
    "api_key": "0123456789abcdef",
    "note": "use ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "headers": {"Authorization": "Bearer abcdefghijklmnop"},
    "house_number": "four and twenty",
}


def test_secrets_are_not_on_record_but_reach_the_server(home: Path, serve: Serve) -> None:
    client = serve({"counter": command("counter")}, records={"redact_keys": ["house_number"]})
    assert json.loads(client.call("counter:echo", SECRETS).text) == SECRETS
    client.discover("the password=hunter2hunter2 of ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    written = b"".join(file.read_bytes() for file in (home / "data").rglob("*") if file.is_file())
    for secret in ("correct horse", "0123456789abcdef", "ghp_abc", "abcdefghijklmnop", "four and", "hunter2"):
        assert secret.encode() not in written
    assert b"[redacted:" in written


def test_a_key_that_no_tool_has_takes_little_room_on_record(home: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"counter": command("counter")})
    for key in ("counter:" + "x" * 1_000_000, "y" * 1_000_000, "counter:ghp_abcdefghijklmnopqrstuvwxyz0123456789"):
        assert client.call(key).is_error
    assert sum(file.stat().st_size for file in (home / "data" / "sessions").iterdir()) < 20_000
    secret, unknown, long = mcpctl("calls", "ls", "--json").json
    assert secret["tool"].startswith("[redacted:")
    assert unknown["server"].endswith("y… [cut: 1,000,000 characters]")
    assert long["tool"].endswith("x… [cut: 1,000,000 characters]")


@pytest.mark.parametrize("text", ["-----BEGIN RSA PRIVATE KEY-----", '{"k": "-----BEGIN PRIVATE KEY----- MIIa"}'])
def test_half_a_secret_costs_nothing_else_on_record(text: str, serve: Serve, mcpctl: Mcpctl) -> None:
    serve({"counter": command("counter")}).call("counter:echo", {"text": text, "n": 1})
    (call,) = mcpctl("calls", "ls", "--json").json
    assert call["status"] == "ok"
    assert call["arguments"]["n"] == 1
    assert "PRIVATE KEY" not in json.dumps(call)


# ---- records that cannot be written


@pytest.mark.slow
def test_a_limit_on_files_costs_no_call_and_is_said_once(home: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"raw": command("raw")}, opened=False)
    client.open()
    client.call("raw:big", {"bytes": 1})
    client.close()
    client = serve(limit=200_000)
    answers = [client.call("raw:big", {"bytes": 30_000}) for _ in range(12)]
    assert [len(answer.text) for answer in answers] == [30_000] * 12
    until("the warning", lambda: client.stderr.count("calls go on but are not recorded") == 1)
    client.close()
    recorded = mcpctl("calls", "ls", "--json").json
    assert len(recorded) > 4
    assert Counter(row["status"] for row in recorded)["ok"] >= len(recorded) - 1


def test_a_data_directory_that_cannot_be_made_costs_no_call(home: Path, serve: Serve, transport: str) -> None:
    if transport == "http":
        return  # a process for many needs a place where it says which sessions live: it does not begin without
    home.mkdir()
    (home / "data").write_text("in the way")
    client = serve({"counter": command("counter")})
    answers = [json.loads(client.call("counter:count").text)["count"] for _ in range(3)]
    assert answers == [1, 2, 3]
    assert client.discover("count")["results"][0]["toolKey"] == "counter:count"
    until("the warning", lambda: client.stderr.count("calls go on but are not recorded") == 1)
    assert (home / "data").read_text() == "in the way"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason="root writes everywhere")
def test_a_data_directory_that_cannot_be_written_costs_no_call(home: Path, serve: Serve) -> None:
    (home / "data").mkdir(parents=True, mode=0o500)
    client = serve({"counter": command("counter")}, unprivileged=True)
    for _ in range(2):
        assert not client.call("counter:count").is_error
    until("the warning", lambda: "calls go on but are not recorded" in client.stderr)
    client.end_input()
    assert client.wait() == 0
    assert client.stderr.count("calls go on but are not recorded") == 1


def test_a_newer_state_db_is_refused_before_anything_is_served(paths: Paths, serve: Serve) -> None:
    with closing(state_file.connect(paths)) as db:
        db.execute("INSERT INTO steps VALUES ('a step of tomorrow')")
    client = serve({"counter": command("counter")}, opened=False)
    assert client.wait() == 5
    assert client.rest() == []
    assert "state.db was written by a newer mcpctl" in client.stderr


def test_what_serve_makes_is_the_user_s_own(home: Path, serve: Serve) -> None:
    old = os.umask(0)
    try:
        client = serve({"counter": command("counter")})
        client.call("counter:count")
        client.discover("count")
    finally:
        os.umask(old)
    modes = {path: path.stat().st_mode & 0o777 for path in (home / "data").rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} <= {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert (home / "data").stat().st_mode & 0o777 == 0o700
