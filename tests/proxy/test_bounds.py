"""Nothing that one server or client sends stops the others: too much fails alone, what takes long waits alone."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, Client, until
from tests.proxy.conftest import BOTH, Serve
from tests.servers import command
from tests.servers.wicked import SENTENCE

pytestmark = [pytest.mark.process, BOTH]

ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
MB = 1 << 20
WICKED = {"wicked": command("wicked"), "counter": command("counter")}


def memory_mb(client: Client) -> float:
    """The most memory that `serve` has had."""
    status = Path(f"/proc/{client.process.pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024


@pytest.fixture
def wicked(serve: Serve) -> Client:
    """A client of a server that does all of it, and of one that does not."""
    return serve(WICKED)


@pytest.fixture
def measured(serve: Serve) -> Client:
    """The same in a process of its own, whose memory can be looked at."""
    return serve(WICKED, process=True)


def entry(argv: list[str], **settings: Any) -> dict[str, Any]:
    """A server's entry with settings of its own."""
    return {"command": argv[0], "args": argv[1:], **settings}


# ---- messages


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_message_of_more_than_64_mb_fails_its_own_call_alone(measured: Client) -> None:
    other = measured.start_call("wicked:wait")
    answer = measured.call("wicked:long", {"size": bounds.MESSAGE})
    assert answer.is_error
    assert "its answer has more than 64 MB. The call was sent and may have taken effect" in answer.text
    assert measured.call("wicked:many").text == "many"
    assert not [line for line in measured.said if json.loads(line).get("id") == other]
    assert memory_mb(measured) < 300


def test_a_message_that_no_decoder_takes_fails_its_own_call_at_once(wicked: Client) -> None:
    assert "its answer is not JSON" in wicked.call("wicked:unreadable").text
    assert wicked.call("wicked:many").text == "many"


@pytest.mark.slow
@ERAS
@pytest.mark.parametrize("tool, size", [("table", 60_000), ("brackets", 100_000)])
def test_what_takes_long_to_read_holds_up_nobody_else(
    tool: str, size: int, revision: str, serve: Serve, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    client = serve({"wicked": command("wicked", "plainly", seen), "counter": command("counter")}, revision=revision)
    assert client.call("counter:count").text
    client.call("wicked:many")
    slow = client.start_call(f"wicked:{tool}", {"size": size})
    until("all of it to be there", lambda: seen.read_text(encoding="utf-8").count("answered") == 2)
    # The other's call is answered before it: it is read in the time in which that is.
    assert not client.call("counter:count").is_error
    assert not [line for line in client.said if b'"id":%d,' % slow in line[:40]]
    assert client.answer(slow, 60).result


@pytest.mark.slow
def test_a_large_table_with_nan_passes_as_the_bytes_it_came_as(wicked: Client) -> None:
    answer = wicked.call("wicked:table", {"size": 50_000})
    rows = b",".join(b'{"a":{"b":NaN,"c":"\\"%d\\""}}' % number for number in range(50_000))
    assert answer.result == b'{"content":[],"structuredContent":{"rows":[' + rows + b"]}}"


def test_a_string_that_does_not_end_is_given_up_in_linear_time(wicked: Client) -> None:
    assert not wicked.call("wicked:unterminated", {"size": MB}).is_error


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_message_printed_over_too_many_bytes_is_no_message(measured: Client) -> None:
    assert not measured.call("wicked:printed", {"size": 100}, timeout=60).is_error
    assert memory_mb(measured) < 300


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_server_that_prints_rubbish_without_end_waits_while_others_do_not(serve: Serve) -> None:
    # Its output is still being read when all else has ended: only a process ends that too.
    client = serve({"yes": ["yes"], "counter": command("counter")}, process=True)
    client.start_call("yes:anything")
    for _ in range(20):
        assert not client.call("counter:count").is_error


def test_rubbish_between_messages_costs_no_answer(wicked: Client) -> None:
    assert not wicked.call("wicked:junk", {"size": 5 * bounds.JUNK_LINES}).is_error


# ---- lists


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_list_without_end_is_cut_and_said(serve: Serve, tmp_path: Path, mcpctl: Mcpctl) -> None:
    client = serve(
        {"endless": command("wicked", "endlessly", tmp_path / "seen"), "counter": command("counter")}, process=True
    )
    found = client.discover("one of many", "count the calls", maxResults=50)
    assert {result["toolKey"].partition(":")[0] for result in found["results"]} == {"endless", "counter"}
    asked = (tmp_path / "seen").read_text(encoding="utf-8").split()
    # Each list was given up after that many pages, and it was asked for a few times at most.
    pages = bounds.TOOLS // 1000 + 1
    assert pages <= asked.count("tools/list") <= 3 * pages
    assert "lists more than 10000 tools or 16 MB of them: the rest is left out" in client.stderr
    assert mcpctl("tools", "ls", "--server", "endless", "--count").out.strip() == str(bounds.TOOLS)
    assert memory_mb(client) < 300


def test_tools_that_are_too_large_or_named_too_long_are_left_out_and_said(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"loud": command("wicked", "loudly")})
    client.discover("anything")
    assert "lists 2 tools without a usable name of its own, or too long: left out" in client.stderr
    names = {row["tool"] for row in mcpctl("tools", "ls", "--json").json}
    assert {"wide", SENTENCE} < names
    assert not {"huge", "n" * 5000} & names


def test_a_list_that_never_comes_holds_up_no_call_for_long(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpctl.proxy.tool_calls._LIST_WAIT_S", 0.1)
    client = serve({"listless": entry(command("wicked", "never"), start_timeout_s=600)})
    assert client.call("listless:many").text == "many"


# ---- what a model is shown


@pytest.mark.slow
def test_no_name_that_is_a_sentence_is_in_a_sentence_of_ours(serve: Serve) -> None:
    client = serve({"loud": command("wicked", "loudly")})
    client.discover("anything")
    for told in (client.call(f"loud:{SENTENCE}!").text, client.discover(SENTENCE[:-1])["notice"]):
        assert "all is well" not in told


def test_one_server_does_not_fill_an_answer(serve: Serve) -> None:
    client = serve({"loud": command("wicked", "loudly"), "pages": command("pages", 3)})
    found = client.discover("send an email", "tool 0")
    servers = [result["toolKey"].partition(":")[0] for result in found["results"]]
    assert "pages" in servers
    relevance = [result["relevance"] for result in found["results"]]
    assert relevance == sorted(relevance, reverse=True)


@pytest.mark.parametrize("detail", ["auto", "names"])
def test_a_schema_that_would_fill_the_answer_is_left_out_and_said(detail: str, serve: Serve) -> None:
    client = serve({"loud": command("wicked", "loudly"), "counter": command("counter")})
    found = client.discover("loud:wide", "count the calls", detail=detail)
    assert len(found["results"]) > 1
    assert "inputSchema" not in found["results"][0]
    assert 'The schema of loud:wide did not fit; ask for it with detail "full".' in found["notice"]
    assert client.discover("loud:wide", detail="full")["results"][0]["inputSchema"]["properties"]["p2999"]


def test_a_notice_is_bounded(serve: Serve) -> None:
    servers: dict[str, Any] = {f"server-number-{number}": ["no-such-program"] for number in range(30)}
    client = serve({**servers, "counter": command("counter")})
    notice = client.discover("count the calls")["notice"]
    assert len(notice.encode()) <= 600
    assert "server-number-0 has been down since" in notice


# ---- clients


@ERAS
@pytest.mark.parametrize("arguments", [b'{"query":["\xff\xfe"]}', b'{"query":' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_a_search_is_answered_whatever_its_bytes(arguments: bytes, revision: str, serve: Serve) -> None:
    client = serve({"counter": command("counter")}, revision=revision)
    client.tool("tool_discovery", arguments)
    assert client.discover("count")["results"]


def test_json_that_is_none_reaches_no_server(serve: Serve, tmp_path: Path) -> None:
    client = serve({"wicked": command("wicked", "plainly", tmp_path / "seen")})
    client.call("wicked:many")
    client.send(
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":'
        b'{"name":"tool_execute","arguments":{"toolKey":"wicked:many","arguments":{"x":}}}}'
    )
    error = json.loads(client.line())
    assert (error["id"], error["error"]["code"]) == (None, -32700)
    client.notify("notifications/roots/list_changed")
    until("what follows it", lambda: "roots" in (tmp_path / "seen").read_text(encoding="utf-8"))
    assert (tmp_path / "seen").read_text(encoding="utf-8").count("tools/call") == 1


def test_a_batch_in_a_batch_is_an_invalid_request(wicked: Client) -> None:
    wicked.send(b"[" * 5000 + b"]" * 5000)
    assert json.loads(wicked.line())["error"]["code"] == -32600
    wicked.send(b'[{"jsonrpc":"2.0","id":"in","method":"ping"},[[]]]')
    answers = [json.loads(wicked.line()) for _ in range(2)]
    assert [answer.get("id") for answer in answers] == ["in", None]


@pytest.mark.slow
@pytest.mark.stdio("[http] max_body_mb is the bound of a body")
def test_a_request_that_is_too_long_is_refused_by_its_id(wicked: Client) -> None:
    padding = b"x" * bounds.MESSAGE
    wicked.send(b'{"jsonrpc":"2.0","id":"huge","method":"ping","params":{"x":"' + padding + b'"}}')
    assert wicked.answer("huge", 60).json["error"]["message"] == "Invalid Request: a message has at most 64 MB"
    assert wicked.ask("ping").result == b"{}"


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_client_that_reads_nothing_has_no_more_read_for_it(serve: Serve) -> None:
    client = serve({"raw": command("raw")}, process=True)
    client.call("raw:big", {"bytes": 1})
    calls = [client.start_call("raw:big", {"bytes": MB}) for _ in range(100)]
    until("the pipe to be full", client.readable)
    until("it to have as much as it takes", lambda: memory_mb(client) > 40)
    for id_ in calls:
        assert not client.answer(id_, 60).is_error
    assert memory_mb(client) < 100


@pytest.mark.stdio("a client that has gone ends the process")
@pytest.mark.slow
def test_a_client_that_goes_without_reading_is_gone(serve: Serve) -> None:
    client = serve({"raw": command("raw")}, process=True)
    client.call("raw:big", {"bytes": 1})
    for _ in range(100):
        client.start_call("raw:big", {"bytes": MB})
    until("it to have as much as it takes", lambda: memory_mb(client) > 60)
    client.end_input()
    assert client.wait(20) == 0


@pytest.mark.parametrize("id_", [b'"a\x01b"', b"1.2.3", b"NaN"])
def test_an_id_that_no_answer_can_carry_is_refused(id_: bytes, wicked: Client) -> None:
    wicked.send(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id_)
    assert json.loads(wicked.line())["id"] is None


def test_a_method_with_half_a_character_is_not_known(wicked: Client) -> None:
    wicked.send(b'{"jsonrpc":"2.0","id":"half","method":"\\ud800"}')
    assert wicked.answer("half").json["error"]["code"] == -32601


@pytest.mark.slow
def test_log_messages_do_not_queue_before_answers(serve: Serve, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    client = serve({"wicked": command("wicked", "plainly", seen)})
    flood = client.start_call("wicked:log", {"size": 20_000})
    until("all of it to be sent", lambda: seen.exists() and "answered" in seen.read_text(encoding="utf-8"))
    client.answer(flood, 60)
    told = sum(len(line) for line in client.said if b"notifications/message" in line)
    assert 0 < told < 2 * bounds.UNREAD_NOTICES


@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}])
def test_an_older_client_is_asked_only_what_it_said_it_can_be_asked(capabilities: dict[str, Any], serve: Serve) -> None:
    client = serve({"asks": command("asks", LATEST)}, opened=False)
    client.open(capabilities=capabilities)
    id_ = client.start_call("asks:ask", {"methods": ["sampling/createMessage"]})
    message = json.loads(client.line())
    if capabilities:
        assert message["method"] == "sampling/createMessage"
    else:
        assert message["id"] == id_


# ---- the database


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
@ERAS
def test_a_database_that_another_process_holds_stops_no_ping(revision: str, serve: Serve, home: Path) -> None:
    import sqlite3
    from contextlib import closing

    from mcpctl.base import paths
    from mcpctl.store import state_file

    with closing(state_file.connect(paths.find(env={**os.environ, "MCPCTL_HOME": str(home)}))) as db:
        db.execute("BEGIN EXCLUSIVE")
        client = serve({"counter": command("counter")}, revision=revision, process=True)
        call = client.start_call("counter:count")
        search = client.start_tool("tool_discovery", {"query": ["count"]})
        assert client.answer(client.request("tools/list"), 5).result
        with pytest.raises(sqlite3.OperationalError):
            db.execute("BEGIN")
        db.execute("ROLLBACK")
    assert not client.answer(call).is_error
    assert client.answer(search).json["result"]["structuredContent"]["results"]
