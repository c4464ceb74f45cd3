"""Servers are started once, kept, and harm only their own calls, whatever they do."""

import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcpctl.base.feature_names import KINDS
from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, Client, journal_lines, until, write_config
from tests.proxy.conftest import BOTH, Serve, starter
from tests.servers import command
from tests.servers.malformed import DEFINITIONS

pytestmark = [pytest.mark.process, BOTH]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory, transport: str) -> Iterator[dict[str, Client]]:
    """A client of each era, for tests that leave the servers as they are."""
    folder = tmp_path_factory.mktemp("upstreams")
    for serve in starter(folder, folder / "home", transport=transport):
        legacy = serve({name: command(name) for name in ("counter", "progress", "rubbish")})
        yield {LATEST: legacy, MODERN: serve(revision=MODERN)}


def table(argv: list[str], **more: Any) -> dict[str, Any]:
    """A server's whole table."""
    return {"command": argv[0], "args": argv[1:], **more}


def pid(client: Client, name: str = "counter") -> int:
    """The process that answers for the server of that name."""
    return int(json.loads(client.call(f"{name}:count").text)["pid"])


# ---- one process


def test_a_hundred_calls_to_two_servers_start_each_once(tmp_path: Path, serve: Serve) -> None:
    client = serve({name: command("counter", tmp_path / name) for name in ("one", "two")})
    ids = [client.start_call(f"{name}:count") for _ in range(50) for name in ("one", "two")]
    counts = [json.loads(client.answer(id).text)["count"] for id in ids]
    assert [sorted(counts[of::2]) for of in (0, 1)] == [list(range(1, 51))] * 2
    assert [len((tmp_path / name).read_text().splitlines()) for name in ("one", "two")] == [1, 1]


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_ten_first_calls_at_once_start_one_process(revision: str, tmp_path: Path, serve: Serve) -> None:
    client = serve({"counter": command("counter", tmp_path / "starts")}, revision=revision)
    ids = [client.start_call("counter:count") for _ in range(10)]
    pids = {json.loads(client.answer(id).text)["pid"] for id in ids}
    assert len(pids) == 1
    assert (tmp_path / "starts").read_text() == f"{pids.pop()}\n"


def test_a_server_whose_tools_are_known_is_not_started_before_a_call_names_it(
    tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    servers = {name: command("counter", tmp_path / name) for name in ("one", "two")}
    write_config(tmp_path / "home", servers)
    assert mcpctl("tools", "refresh").code == 0
    client = serve()
    client.ask("tools/list")
    client.discover("count the calls")
    client.call("one:count")
    assert [len((tmp_path / name).read_text().splitlines()) for name in ("one", "two")] == [2, 1]


def test_calls_to_one_server_run_side_by_side(serve: Serve) -> None:
    client = serve({"raw": command("raw")})
    for _ in range(20):
        client.start_call("raw:sleep", {"seconds": 1000})
    assert client.call("raw:sleep", {"seconds": 0}).text == "slept 0 s"


def test_a_late_answer_goes_to_the_call_that_it_belongs_to(serve: Serve) -> None:
    client = serve({"raw": command("raw")})
    slow = client.start_call("raw:sleep", {"seconds": 0.2})
    quick = client.start_call("raw:sleep", {"seconds": 0.01})
    assert client.answer(slow).text == "slept 0.2 s"
    assert client.answer(quick).text == "slept 0.01 s"


# ---- the ends of a server


def test_a_server_that_dies_during_a_call_is_named_with_its_status_and_its_last_words_are_kept_for_people(
    tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    answer = serve({"mortal": command("mortal", tmp_path / "calls")}).call("mortal:die")
    assert answer.is_error
    assert "server 'mortal'" in answer.text
    assert "exit status 3" in answer.text
    assert "last words" not in answer.text
    assert "last words" in mcpctl("calls", "show", "last", "--json").json["error"]["message"]


def test_a_call_that_a_server_died_in_is_never_sent_twice(tmp_path: Path, serve: Serve) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")})
    client.call("mortal:die", {"n": 1})
    client.call("mortal:work", {"n": 2})
    assert (tmp_path / "calls").read_text() == 'die {"n": 1}\nwork {"n": 2}\n'


def test_all_calls_that_a_server_died_in_are_answered(tmp_path: Path, serve: Serve) -> None:
    client = serve({"raw": command("raw")})
    ids = [client.start_call("raw:sleep", {"seconds": 60}) for _ in range(5)]
    ids.append(client.start_call("raw:die"))
    assert all(client.answer(id).is_error for id in ids)


def test_a_server_that_died_during_a_call_is_started_again_by_the_next(tmp_path: Path, serve: Serve) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")})
    before = client.call("mortal:work").text
    client.call("mortal:die")
    after = client.call("mortal:work")
    assert not after.is_error
    assert after.text != before


def test_a_server_that_died_between_calls_is_started_again_by_the_next(serve: Serve) -> None:
    client = serve({"counter": command("counter")})
    before = pid(client)
    psutil.Process(before).kill()
    until("the dead to be noticed", lambda: not psutil.pid_exists(before))
    assert pid(client) != before


def test_a_server_that_closes_its_stdout_is_ended_and_started_again(tmp_path: Path, serve: Serve) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")})
    before = int(client.call("mortal:work").text)
    assert client.call("mortal:fall_silent").is_error
    until("the process to be ended", lambda: not psutil.pid_exists(before))
    assert int(client.call("mortal:work").text) != before


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_call_taken_back_from_a_silent_server_takes_back_no_other(tmp_path: Path, serve: Serve) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")}, process=True)
    client.call("mortal:work")
    before = set(client.children())
    old = client.start_call("mortal:fall_silent")

    def next_is_started() -> bool:
        client.start_call("mortal:linger")
        return bool(set(client.children()) - before)

    until("the next process", next_is_started)
    new = [client.start_call("mortal:linger") for _ in range(8)]
    client.call("mortal:work")
    client.notify("notifications/cancelled", {"requestId": old})
    assert [client.answer(id).text for id in new] == ["late"] * 8


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_server_that_exits_at_once_is_named_with_its_status_and_its_last_words_are_kept_for_people(
    revision: str, serve: Serve, mcpctl: Mcpctl
) -> None:
    answer = serve({"exits": command("exits")}, revision=revision).call("exits:anything")
    assert answer.is_error
    assert "server 'exits' did not start" in answer.text
    assert "exit status 7" in answer.text
    assert "mcpctl servers check exits" in answer.text
    assert "cannot find my configuration" not in answer.text
    assert "cannot find my configuration" in mcpctl("calls", "show", "last", "--json").json["error"]["message"]


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_server_that_hangs_at_start_is_given_its_start_timeout(serve: Serve) -> None:
    client = serve({"hangs": table(command("hangs"), start_timeout_s=0.3)}, process=True)
    answer = client.call("hangs:anything")
    assert answer.is_error
    assert "server 'hangs' did not start: no answer within 0.3 s" in answer.text
    until("it to be ended", lambda: not client.children())


def test_a_server_that_hangs_in_a_call_is_given_its_call_timeout(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"raw": table(command("raw"), call_timeout_s=0.3)})
    answer = client.call("raw:sleep", {"seconds": 60})
    assert answer.is_error
    assert "no answer within 0.3 s (call_timeout_s)" in answer.text
    (call,) = mcpctl("calls", "ls", "--json").json
    assert (call["status"], call["error"]["code"]) == ("failed", "timed_out")


def test_a_server_that_timed_out_in_a_call_still_answers_others(home: Path, serve: Serve) -> None:
    client = serve({"raw": table(command("raw"), call_timeout_s=0.3)})
    client.call("raw:sleep", {"seconds": 0.5})
    write_config(home, {"raw": command("raw")})  # which keeps its process
    assert client.call("raw:sleep", {"seconds": 0}).text == "slept 0 s"
    assert client.said == []


def test_a_command_that_does_not_exist_is_named(serve: Serve) -> None:
    answer = serve({"missing": ["/nonexistent/program"]}).call("missing:anything")
    assert answer.is_error
    assert "server 'missing' did not start" in answer.text
    assert "/nonexistent/program" in answer.text


def test_a_variable_that_is_not_set_is_named(serve: Serve) -> None:
    servers = {"needs": table(command("counter"), env={"TOKEN": "${SURELY_NOT_SET}"}), "counter": command("counter")}
    client = serve(servers)
    assert "variable SURELY_NOT_SET is not set" in client.call("needs:count").text
    assert not client.call("counter:count").is_error


def test_a_folder_that_does_not_exist_is_named(serve: Serve) -> None:
    answer = serve({"lost": table(command("counter"), cwd="/nonexistent/folder")}).call("lost:count")
    assert answer.is_error
    assert "/nonexistent/folder" in answer.text


def test_a_server_that_keeps_failing_is_asked_less_and_less_often(tmp_path: Path, serve: Serve) -> None:
    starts = tmp_path / "starts"
    client = serve({"broken": ["sh", "-c", f"echo start >> '{starts}'; exit 7"]})
    answers = [client.call("broken:anything").text for _ in range(6)]
    assert "it is tried again in" in answers[-1]
    assert "exit status 7" in answers[-1]
    assert len(starts.read_text().splitlines()) <= 3


def test_rubbish_on_stdout_and_a_flood_on_stderr_do_no_harm(clients: dict[str, Client]) -> None:
    client = clients[LATEST]
    client.said.clear()
    assert [client.call("rubbish:works").text for _ in range(3)] == ["works"] * 3
    assert {json.loads(line)["params"]["data"] for line in client.said} <= {"BOM"}


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory, transport: str) -> Iterator[Client]:
    """A client in front of a server that writes badly."""
    folder = tmp_path_factory.mktemp("messy")
    for serve in starter(folder, folder / "home", transport=transport):
        yield serve({"messy": command("messy"), "counter": command("counter")})


@pytest.mark.parametrize(
    "way",
    ["pretty", "batch", "halves", "bom", "twice", "string_id", "float_id", "unknown_id", "crlf"],
)
def test_an_answer_that_is_written_badly_is_still_an_answer(messy: Client, way: str) -> None:
    assert messy.call(f"messy:{way}").text == way
    assert json.loads(messy.call("counter:count").text)["count"] > 0
    assert messy.said == []


def test_bytes_that_are_no_utf8_reach_no_client(messy: Client) -> None:
    answer = messy.call("messy:latin")
    answer.line.decode()
    assert answer.text == "latin \ufffd"


def test_an_answer_without_a_result_is_told(messy: Client) -> None:
    assert "has neither result nor error" in messy.call("messy:no_result").text
    assert messy.call("messy:null_result").json["result"] is None


def test_a_server_that_reads_nothing_delays_no_other(tmp_path: Path, serve: Serve) -> None:
    deaf = (
        "import sys, time, json\n"
        "for _ in range(3):\n"
        "    message = json.loads(sys.stdin.readline())\n"
        "    if message['method'] == 'initialize':\n"
        "        result = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {}}\n"
        "    else:\n"
        "        result = {'tools': [{'name': 'swallow'}]}\n"
        "    if 'id' in message:\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)\n"
        "time.sleep(60)\n"
    )
    client = serve({"deaf": [sys.executable, "-S", "-c", deaf], "counter": command("counter")})
    client.start_call("deaf:swallow", b'{"text":"' + b"x" * 5_000_000 + b'"}')
    assert not client.call("counter:count").is_error


# ---- what a server lists


def found_first(client: Client, query: str) -> str | None:
    """The key of the first result, if there is one yet."""
    return next((found["toolKey"] for found in client.discover(query)["results"]), None)


@pytest.mark.slow
def test_a_list_is_paged_through_to_its_end(serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"pages": command("pages", 2_998), "counter": command("counter")})
    client.discover("anything")
    until("the list", lambda: found_first(client, "pages:tool_2997") == "pages:tool_2997")
    assert client.call("pages:tool_2900").text == "tool_2900"
    assert client.call("counter:count").json["result"]["content"]
    assert mcpctl("tools", "ls", "--server", "pages", "--count").out == "3000\n"


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_of_malformed_definitions_only_those_without_a_name_are_lost(serve: Serve, revision: str) -> None:
    client = serve({"malformed": command("malformed")}, revision=revision)
    named = [each["name"] for each in DEFINITIONS if isinstance(each, dict) and isinstance(each.get("name"), str)]
    named.remove("")
    for name in named:
        assert client.discover(f"malformed:{name}")["results"][0]["toolKey"] == f"malformed:{name}"
        assert client.call(f"malformed:{name}").json["result"]["called"] == name
    assert "5 tools without a usable name" in client.stderr


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_tool_that_a_server_adds_can_be_called_at_once(revision: str, serve: Serve) -> None:
    client = serve({"pages": command("pages", 3)}, revision=revision)
    assert client.call("pages:grow").text == "tool_3"
    assert client.call("pages:tool_3").text == "tool_3"


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_list_that_is_older_than_a_tool_refuses_no_call_of_it(revision: str, serve: Serve) -> None:
    client = serve({"pages": command("pages", 3, 0.2)}, revision=revision)
    client.call("pages:tool_0")
    for number in range(3, 6):
        unknown = client.start_call("pages:nothing")
        assert client.call("pages:grow").text == f"tool_{number}"
        assert client.call(f"pages:tool_{number}").text == f"tool_{number}"
        assert "there is no tool 'pages:nothing'" in client.answer(unknown).text


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_what_a_server_announces_is_found_or_gone(serve: Serve, revision: str) -> None:
    client = serve({"pages": command("pages", 3)}, revision=revision)
    client.discover("anything")

    def found(name: str) -> bool:
        return f"pages:{name}" in {each["toolKey"] for each in client.discover(f"pages:{name}")["results"]}

    assert client.call("pages:grow").text == "tool_3"
    until("the tool to be found", lambda: found("tool_3"))
    assert found("tool_0")
    in_flight = client.start_call("pages:shrink")
    until("the tool to be gone", lambda: not found("tool_0"))
    assert client.answer(in_flight).text == "shrunk"


def kept_lists(paths: Paths) -> int:
    """How many lists of servers are kept: of tools, and of each kind of what is beside them."""
    with closing(sqlite3.connect(paths.state)) as db:
        return int(db.execute("SELECT count(*) FROM lists").fetchone()[0])


def test_a_tool_that_is_not_known_is_looked_up_once_and_refused(tmp_path: Path, serve: Serve, paths: Paths) -> None:
    tap = f"tee -a '{tmp_path / 'received'}' | {' '.join(command('pages', 3))}"
    serve({"pages": ["sh", "-c", tap]}).discover("pages:tool_0")
    until("what it has beside tools", lambda: kept_lists(paths) > len(KINDS))
    client = serve({"pages": ["sh", "-c", tap]})  # which knows the list, and so asks for none beside that of its start
    (tmp_path / "received").write_text("")
    client.call("pages:tool_0")
    known = until("the list after the start", lambda: _text(tmp_path / "received").count('"tools/list"'))
    answer = client.call("pages:tool_7")
    assert answer.is_error
    assert "there is no tool 'pages:tool_7'" in answer.text
    assert _text(tmp_path / "received").count('"tools/list"') == known + 1


def test_calls_that_wait_for_a_list_are_all_sent_once(tmp_path: Path, serve: Serve) -> None:
    tap = f"tee -a '{tmp_path / 'received'}' | {' '.join(command('pages', 3, 0.2))}"
    client = serve({"pages": ["sh", "-c", tap]})
    ids: list[Any] = []
    while not client.said and len(ids) < 200:
        ids.append(client.start_call("pages:tool_0", {"n": len(ids)}))
        client.ask("ping")
    ids += [client.start_call("pages:tool_0", {"n": len(ids) + more}) for more in range(20)]
    assert {client.answer(id).text for id in ids} == {"tool_0"}
    received = re.findall(r'"n":\s?(\d+)', _text(tmp_path / "received"))
    assert sorted(int(n) for n in received) == list(range(len(ids)))


# ---- refusals


def test_an_unknown_key_gets_near_names_and_nothing_is_executed(tmp_path: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")})
    client.call("mortal:work", {"n": 1})
    answer = client.call("mortal:wrk", {"n": 2})
    assert answer.is_error
    assert "did you mean mortal:work" in answer.text
    assert (tmp_path / "calls").read_text() == 'work {"n": 1}\n'
    call = mcpctl("calls", "ls", "--json").json[0]
    assert (call["tool"], call["status"], call["error"]["code"]) == ("wrk", "failed", "unknown_tool")


@pytest.mark.parametrize("key", ["nowhere:tool", "counter", "", ":", "counter:", "::"])
def test_a_key_of_no_server_or_tool_is_refused_with_the_servers_there_are(key: str, clients: dict[str, Client]) -> None:
    answer = clients[LATEST].call(key)
    assert answer.is_error
    assert "counter" in answer.text or "server:tool" in answer.text


def test_a_tool_that_is_not_permitted_is_neither_found_nor_callable(
    tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    client = serve({"mortal": table(command("mortal", tmp_path / "calls"), tools={"die": False})})
    found = client.discover("exits during the call", "mortal:die", "answers with its pid")
    assert [result["toolKey"] for result in found["results"]].count("mortal:die") == 0
    assert "Not permitted by the user's configuration: mortal:die." in found["notice"]
    answer = client.call("mortal:die")
    assert answer.is_error
    assert "not permitted" in answer.text
    assert not (tmp_path / "calls").exists()
    (call,) = mcpctl("calls", "ls", "--json").json
    assert (call["status"], call["server"], call["tool"]) == ("denied", "mortal", "die")


def test_a_disabled_server_is_refused_as_that(tmp_path: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"off": table(command("counter", tmp_path / "starts"), enabled=False)})
    answer = client.call("off:count")
    assert answer.is_error
    assert "server 'off' is disabled" in answer.text
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["denied"]
    assert not (tmp_path / "starts").exists()


def test_a_wrong_entry_is_reported_and_stops_no_other(serve: Serve) -> None:
    client = serve({"wrong": {"comand": "x"}, "counter": command("counter")})
    assert not client.call("counter:count").is_error
    answer = client.call("wrong:anything")
    assert answer.is_error
    assert "comand" in answer.text
    assert len(re.findall(r"servers\.wrong", client.stderr)) == 1


# ---- during a call


@pytest.mark.parametrize("revision", [LATEST, MODERN])
@pytest.mark.parametrize("token", ["abc", 7, "7"])
def test_progress_carries_the_caller_s_own_token(token: Any, revision: str, clients: dict[str, Client]) -> None:
    client = clients[revision]
    client.said.clear()
    assert client.call("progress:slow", {"n": 3}, token=token).text == "3 steps"
    told = [json.loads(line)["params"] for line in client.said if b"notifications/progress" in line]
    assert [(params["progressToken"], params["progress"]) for params in told] == [(token, 1), (token, 2), (token, 3)]


def test_without_a_token_there_is_no_progress(clients: dict[str, Client]) -> None:
    client = clients[LATEST]
    client.said.clear()
    client.call("progress:slow")
    assert [line for line in client.said if b"notifications/progress" in line] == []


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_cancelled_call_is_cancelled_at_the_server_and_never_answered(
    revision: str, tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    client = serve({"progress": command("progress", tmp_path / "cancelled")}, revision=revision)
    id = client.start_call("progress:slow", {"n": 1000, "pause": 0.05}, token="t")
    assert b"notifications/progress" in client.line()
    client.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})
    until("the cancellation", lambda: _text(tmp_path / "cancelled"))
    client.end_input()
    assert not [line for line in client.rest() if b'"result"' in line or b'"error"' in line]
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["cancelled"]


def test_a_call_cancelled_before_its_server_has_started_is_not_sent(
    tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")})
    id = client.start_call("mortal:work", {"n": 1})
    client.notify("notifications/cancelled", {"requestId": id})
    client.call("mortal:work", {"n": 2})
    assert client.said == []
    assert (tmp_path / "calls").read_text() == 'work {"n": 2}\n'
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["ok", "cancelled"]


def test_a_cancellation_of_nothing_does_nothing(clients: dict[str, Client]) -> None:
    client = clients[LATEST]
    client.call("counter:count")
    for params in ({"requestId": 2}, {"requestId": "x"}, {}, {"requestId": None}):
        client.notify("notifications/cancelled", params)
    client.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled"}')
    client.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}')
    assert not client.call("counter:count").is_error


def test_what_a_server_asks_of_the_client_is_asked_and_answered(tmp_path: Path, serve: Serve) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")}, opened=False)
    client.open(capabilities={"elicitation": {}})
    id = client.start_call("mortal:ask")
    asked = json.loads(client.line())
    assert asked["method"] == "elicitation/create"
    assert asked["params"]["message"] == "[from server 'mortal'] Your name?"
    client.send(
        b'{"jsonrpc":"2.0","id":%b,"result":{"action":"accept","content":{"name":"Ada"}}}'
        % json.dumps(asked["id"]).encode()
    )
    assert json.loads(client.answer(id).text) == {"action": "accept", "content": {"name": "Ada"}}


def test_a_modern_server_s_questions_and_the_client_s_answers_pass_through(
    tmp_path: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")}, revision=MODERN)
    asked = client.call("mortal:ask").json["result"]
    assert (asked["resultType"], asked["requestState"]) == ("input_required", "here")
    assert asked["inputRequests"]["name"]["method"] == "elicitation/create"
    answers = b',"inputResponses":{"name":{"action":"accept"}},"requestState":"here"'
    answer = client.tool("tool_execute", {"toolKey": "mortal:ask"}, extra=answers)
    assert json.loads(answer.text) == [{"name": {"action": "accept"}}, "here"]
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["ok", "input_required"]


@pytest.mark.stdio("over HTTP the handshake gives the session that all else belongs to")
def test_an_older_client_is_told_what_it_cannot_be_asked(tmp_path: Path, serve: Serve) -> None:
    client = serve({"mortal": command("mortal", tmp_path / "calls")}, revision=MODERN)
    client.call("mortal:ask")
    client.send(
        b'{"jsonrpc":"2.0","id":"old","method":"tools/call",'
        b'"params":{"name":"tool_execute","arguments":{"toolKey":"mortal:ask"}}}'
    )
    answer = client.answer("old")
    assert answer.is_error
    assert "which this client cannot give" in answer.text


def test_an_argument_that_no_process_can_have_is_a_failed_start(serve: Serve) -> None:
    client = serve({"odd": [*command("counter"), "a\0b"]})
    assert "did not start" in client.call("odd:count").text


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_catalog_that_breaks_while_it_is_used_costs_no_answer(paths: Paths, serve: Serve) -> None:
    client = serve({"counter": command("counter")}, process=True)
    assert not client.call("counter:count").is_error
    # Its -shm is mapped in memory: a process whose map is cut short is ended by SIGBUS, whatever it does.
    for suffix in ("", "-wal"):
        Path(f"{paths.state}{suffix}").write_bytes(b"no database")
    assert client.tool("tool_discovery", {"query": ["count the calls"]}).result
    assert not client.call("counter:count").is_error


@pytest.mark.slow
def test_servers_that_never_list_do_not_keep_the_others_from_being_found(serve: Serve) -> None:
    code = (
        "from mcpctl.demo.weather import server; reply = server.reply;"
        "server.reply = lambda line: None if b'tools/list' in line else reply(line); server.run()"
    )
    silent = {f"silent{n}": table([sys.executable, "-c", code], start_timeout_s=1) for n in range(4)}
    client = serve({**silent, "notes": [sys.executable, "-m", "mcpctl.demo.notes"]})
    client.ask("tools/list")
    found = until("the notes found", lambda: client.discover("search the notes")["results"])
    assert found[0]["toolKey"] == "notes:search_notes"
    assert not client.call("silent0:get_forecast", {"city": "Oslo"}).is_error


def test_a_request_that_cannot_be_written_costs_no_other_its_answer(serve: Serve) -> None:
    client = serve({"counter": command("counter")})
    line = b'{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"tool_execute","arguments":%b%b}}'
    call = b'{"toolKey":"counter:count"}'
    client.send(line % (1, call, b',"_meta":{"\\ud800":1}'), line % (2, call, b""), line % (3, call, b""))
    answers = [client.answer(str(id)) for id in (1, 2, 3)]
    assert [answer.is_error for answer in answers[1:]] == [False, False]


# ---- clients


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_flood_of_requests_is_answered_each_once(serve: Serve) -> None:
    # In a thread it reads them faster than it gets to know its servers, and each call that waits looks at all others.
    client = serve({"counter": command("counter"), "gone": ["no-such-command"]}, process=True)
    lines = []
    for id_ in range(10_000):
        tool = b"tool_execute" if id_ % 2 else b"nothing"
        key = b"counter:count" if id_ % 4 == 1 else b"gone:count"
        arguments = b'{"toolKey":"%b"}' % key
        params = b'{"name":"%b","arguments":%b}' % (tool, arguments)
        lines.append(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}' % (id_, params))
    client.send(*lines)
    answered = [json.loads(client.line())["id"] for _ in lines]
    assert sorted(answered) == list(range(10_000))
    client.end_input()
    assert client.rest() == []


@pytest.mark.stdio("of a process and its memory")
@pytest.mark.slow
def test_a_client_that_does_not_read_costs_a_bounded_memory(serve: Serve, home: Path) -> None:
    client = serve({"flood": command("flood"), "counter": command("counter")}, process=True)
    id_ = client.start_call("flood:flood", token="t")
    server = psutil.Process(client.process.pid)
    highest = 0

    def flooded() -> bool:
        nonlocal highest
        highest = max(highest, server.memory_info().rss)
        return any(line["type"] == "calls.finished" for line in journal_lines(home))

    until("the end of the flood", flooded)
    assert highest < 120 << 20
    assert client.answer(id_).text == "flooded"
    assert json.loads(client.call("counter:count").text)["count"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_server_that_asks_before_anyone_can_answer_works(serve: Serve, revision: str) -> None:
    client = serve({"flood": command("flood")}, revision=revision)
    assert client.discover("flood:flood")["results"][0]["toolKey"] == "flood:flood"
