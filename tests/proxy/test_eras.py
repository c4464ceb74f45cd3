"""Questions of a tool to the client in the middle of a call, and log messages of a server, in every pair of eras."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.client import ENVELOPE, LATEST, META, MODERN, ROOT, Answer, Client, journal_lines, until
from tests.proxy.conftest import BOTH, Serve, starter
from tests.servers import command

pytestmark = [pytest.mark.process, BOTH]

ALL = {"elicitation": {"form": {}}, "sampling": {}, "roots": {"listChanged": True}}
ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
ANSWERS: dict[str, Any] = {
    ELICIT: {"action": "accept", "content": {"n": 1.0}},
    SAMPLE: {"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"},
    ROOTS: {"roots": [{"uri": "file:///x"}]},
}
PAIRS = pytest.mark.parametrize(
    ("client_revision", "server_revision"), [(LATEST, LATEST), (LATEST, MODERN), (MODERN, LATEST), (MODERN, MODERN)]
)
START = Callable[..., Client]


@pytest.fixture
def start(serve: Serve) -> START:
    """A client with these capabilities, in front of one server that asks."""

    def started(client_revision: str, server_revision: str, capabilities: Any = ALL) -> Client:
        servers = {"asks": command("asks", server_revision)}
        client = serve(servers, revision=client_revision, opened=False)
        client.open(capabilities=capabilities)
        return client

    return started


def begin(client: Client, arguments: dict[str, Any], capabilities: Any = ALL, **more: Any) -> Any:
    """Send the call, as a client with these capabilities does; its id."""
    params = {"name": "tool_execute", "arguments": {"toolKey": "asks:ask", "arguments": arguments}, **more}
    if client.revision == MODERN:
        params["_meta"] = {**ENVELOPE, META + "clientCapabilities": capabilities}
    return client.request("tools/call", params)


def asked_directly(client: Client) -> dict[str, Any]:
    """The next request that an older client is sent."""
    while "method" not in (message := json.loads(client.line())) or "id" not in message:
        pass
    found: dict[str, Any] = message
    return found


def finished(client: Client, arguments: dict[str, Any], rounds: int) -> Answer:
    """Run a call to its end, answering what is asked as a client of its era does; `rounds` is how often that is."""
    id_ = begin(client, arguments)
    for _ in range(rounds):
        if client.revision == MODERN:
            result = client.answer(id_).json["result"]
            assert result["resultType"] == "input_required"
            responses = {key: ANSWERS[asked["method"]] for key, asked in result["inputRequests"].items()}
            id_ = begin(client, arguments, inputResponses=responses, requestState=result["requestState"])
        else:
            question = asked_directly(client)
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": ANSWERS[question["method"]]}
            client.send(json.dumps(reply).encode())
    return client.answer(id_)


@PAIRS
def test_each_question_is_answered_and_the_call_goes_on(
    start: START, client_revision: str, server_revision: str
) -> None:
    client = start(client_revision, server_revision)
    methods = [ELICIT, SAMPLE, ROOTS]
    result = finished(client, {"methods": methods}, 3).json["result"]
    assert result["structuredContent"]["answers"] == [ANSWERS[method] for method in methods]
    told = result["structuredContent"]["capabilities"]
    assert told == ALL


@PAIRS
def test_questions_at_once_are_all_answered(start: START, client_revision: str, server_revision: str) -> None:
    client = start(client_revision, server_revision)
    # A client of 2026-07-28 sees the first of an older server's questions before the second is there.
    rounds = {(MODERN, MODERN): 1}.get((client_revision, server_revision), 2)
    result = finished(client, {"methods": [ELICIT, ROOTS], "at_once": True}, rounds).json["result"]
    assert result["structuredContent"]["answers"] == [ANSWERS[ELICIT], ANSWERS[ROOTS]]


@PAIRS
def test_a_server_is_told_no_more_than_the_client_declared(
    start: START, client_revision: str, server_revision: str
) -> None:
    client = start(client_revision, server_revision, {"roots": {}})
    id_ = begin(client, {"methods": []}, {"roots": {}})
    assert client.answer(id_).json["result"]["structuredContent"]["capabilities"] == {"roots": {}}


@pytest.mark.parametrize("server_revision", [LATEST, MODERN])
def test_a_question_that_the_client_cannot_be_asked_is_refused(start: START, server_revision: str) -> None:
    client = start(LATEST if server_revision == MODERN else MODERN, server_revision, {"roots": {}})
    answer = client.answer(begin(client, {"methods": [ELICIT]}, {"roots": {}}))
    if server_revision == LATEST:
        refusal = {"code": -32601, "message": "the client cannot be asked this"}
        assert answer.json["result"]["structuredContent"]["answers"] == [refusal]
    else:
        assert "which this client cannot give" in answer.text
        assert answer.is_error


@pytest.mark.parametrize("server_revision", [LATEST, MODERN])
def test_every_round_is_on_record_linked_to_the_one_before(start: START, home: Path, server_revision: str) -> None:
    client = start(MODERN, server_revision)
    finished(client, {"methods": [ELICIT, ROOTS]}, 2)
    lines = journal_lines(home)
    begun = [line for line in lines if line["type"] == "calls.started"]
    ended = {line["id"]: line["status"] for line in lines if line["type"] == "calls.finished"}
    assert [ended[line["id"]] for line in begun] == ["input_required", "input_required", "ok"]
    assert [line["parent_id"] for line in begun] == [None, begun[0]["id"], begun[1]["id"]]


def test_the_rounds_of_an_older_client_are_on_record_too(start: START, home: Path) -> None:
    client = start(LATEST, MODERN)
    finished(client, {"methods": [ELICIT]}, 1)
    begun = [line for line in journal_lines(home) if line["type"] == "calls.started"]
    assert [line["parent_id"] for line in begun] == [None, begun[0]["id"]]


def test_a_client_that_refuses_to_answer_ends_the_call(start: START) -> None:
    client = start(LATEST, MODERN)
    id_ = begin(client, {"methods": [ELICIT]})
    question = asked_directly(client)
    client.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}}).encode())
    assert "the client did not answer what the server asked" in client.answer(id_).text


def test_a_call_taken_back_takes_its_question_back(start: START) -> None:
    client = start(LATEST, MODERN)
    id_ = begin(client, {"methods": [ELICIT]})
    question = asked_directly(client)
    client.notify("notifications/cancelled", {"requestId": id_})
    told = json.loads(client.line())
    assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", question["id"])


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_the_question_of_a_server_that_died_is_closed(start: START, revision: str) -> None:
    client = start(revision, LATEST)
    arguments = {"methods": [ELICIT], "die": True}
    id_ = begin(client, arguments)
    if revision == LATEST:
        question = asked_directly(client)
        answer = client.answer(id_)
        withdrawn = [json.loads(line) for line in client.said if b"cancelled" in line]
        assert [told["params"]["requestId"] for told in withdrawn] == [question["id"]]
    else:
        result = client.answer(id_).json["result"]
        responses = dict.fromkeys(result["inputRequests"], ANSWERS[ELICIT])
        again = begin(client, arguments, inputResponses=responses, requestState=result["requestState"])
        answer = client.answer(again)
    assert "may have taken effect" in answer.text


def test_a_question_is_answered_once(start: START) -> None:
    client = start(MODERN, LATEST)
    arguments = {"methods": [ELICIT]}
    result = client.answer(begin(client, arguments)).json["result"]
    retry = {"inputResponses": dict.fromkeys(result["inputRequests"], ANSWERS[ELICIT])}
    state = result["requestState"]
    assert not client.answer(begin(client, arguments, requestState=state, **retry)).json["result"].get("isError")
    for wrong in (state, state + "x", "x" + state):
        error = client.answer(begin(client, arguments, requestState=wrong, **retry)).json["error"]
        assert error["code"] == -32602
        assert "not open" in error["message"]


def test_what_was_not_answered_is_asked_again(start: START) -> None:
    client = start(MODERN, LATEST)
    arguments = {"methods": [ELICIT]}
    result = client.answer(begin(client, arguments)).json["result"]
    again = begin(client, arguments, inputResponses={}, requestState=result["requestState"])
    assert client.answer(again).json["result"]["inputRequests"] == result["inputRequests"]


@pytest.mark.slow
def test_a_question_that_nobody_answers_is_given_up(tmp_path: Path, serve: Serve) -> None:
    # Ten minutes, in little.
    (tmp_path / "sitecustomize.py").write_text(
        "from mcpctl.proxy import input_rounds\nassert input_rounds._OPEN_S == 600\ninput_rounds._OPEN_S = 0.1\n",
        encoding="utf-8",
    )
    reason = tmp_path / "reason"
    servers = {"asks": command("asks", LATEST, reason)}
    client = serve(servers, revision=MODERN, env={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    arguments = {"methods": [ELICIT]}
    result = client.answer(begin(client, arguments)).json["result"]
    until("the call to be taken back", lambda: reason.exists() and reason.read_text() == "the user did not answer")
    responses = dict.fromkeys(result["inputRequests"], ANSWERS[ELICIT])
    late = begin(client, arguments, inputResponses=responses, requestState=result["requestState"])
    assert "not open" in client.answer(late).json["error"]["message"]


def test_the_time_of_people_does_not_count(serve: Serve) -> None:
    words = command("asks", LATEST)
    server = {"command": words[0], "args": words[1:], "call_timeout_s": 1}
    client = serve({"asks": server}, revision=MODERN)
    client.discover("ask")  # it has started then
    arguments = {"methods": [ELICIT]}
    result = client.answer(begin(client, arguments)).json["result"]
    # One that began later has had its time.
    assert "no answer within 1 s" in client.call("asks:hang").text
    responses = dict.fromkeys(result["inputRequests"], ANSWERS[ELICIT])
    again = begin(client, arguments, inputResponses=responses, requestState=result["requestState"])
    assert client.answer(again).json["result"]["structuredContent"]["answers"] == [ANSWERS[ELICIT]]


@pytest.mark.parametrize("rounds", [10, 11])
def test_a_tool_that_goes_on_asking_is_left_after_ten_rounds(rounds: int, start: START) -> None:
    client = start(LATEST, MODERN)
    answer = finished(client, {"methods": [ELICIT] * rounds}, 10)
    assert answer.is_error == (rounds > 10)
    assert ("the server has asked for input 10 times" in answer.text) == answer.is_error


@pytest.mark.parametrize("server_revision", [LATEST, MODERN])
def test_whose_question_is_given_up_for_newer_ones_is_told(start: START, server_revision: str) -> None:
    client = start(LATEST, server_revision)
    id_ = begin(client, {"methods": [ROOTS] * 1001, "at_once": True})
    questions = [asked_directly(client)["id"] for _ in range(1001)]
    if server_revision == LATEST:
        for question in questions[1:]:
            client.send(json.dumps({"jsonrpc": "2.0", "id": question, "result": ANSWERS[ROOTS]}).encode())
        first, *others = client.answer(id_).json["result"]["structuredContent"]["answers"]
        assert (first["code"], others) == (-32603, [ANSWERS[ROOTS]] * 1000)
        assert "too many questions are open" in first["message"]
    else:
        assert "too many questions are open" in client.answer(id_).text


@pytest.mark.parametrize("state", [{}, {"requestState": "its own"}, {"requestState": "mcpctl-1"}])
@pytest.mark.parametrize("responses", [5, [1], "x"])
def test_responses_that_are_no_object_are_invalid_params(asks: Client, responses: Any, state: dict[str, str]) -> None:
    error = asks.answer(begin(asks, {"methods": []}, inputResponses=responses, **state)).json["error"]
    assert (error["code"], error["message"]) == (-32602, "mcpctl: inputResponses must be an object")


@pytest.fixture(scope="module")
def asks(tmp_path_factory: pytest.TempPathFactory, transport: str) -> Iterator[Client]:
    """A client of 2026-07-28 in front of a server of its era, for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("asks")
    for serve in starter(folder, folder / "home", transport=transport):
        yield serve({"asks": command("asks", MODERN)}, revision=MODERN)


@pytest.mark.parametrize("requests", [b"[1]", b"5", b'"x"', b'{"a":1}'])
def test_odd_requests_for_input_pass_between_two_sides_of_2026(tmp_path: Path, serve: Serve, requests: bytes) -> None:
    result = b'{"resultType":"input_required","inputRequests":%b}' % requests
    (tmp_path / "result").write_bytes(result)
    client = serve({"raw": command("raw")}, revision=MODERN)
    assert client.call("raw:raw", {"file": str(tmp_path / "result")}).result == result


# ---- what servers log


@pytest.mark.parametrize("server_revision", [LATEST, MODERN])
def test_an_older_client_hears_what_it_asked_for(start: START, server_revision: str) -> None:
    client = start(LATEST, server_revision)
    assert client.ask("logging/setLevel", {"level": "info"}).json["result"] == {}
    client.call("asks:log")
    heard = [json.loads(line)["params"] for line in client.said if b"notifications/message" in line]
    assert heard == [{"level": level, "data": {"said": level}, "x": 1} for level in ("info", "error")]
    assert client.ask("logging/setLevel", {"level": "loud"}).json["error"]["code"] == -32602


@pytest.mark.parametrize("server_revision", [LATEST, MODERN])
def test_a_client_of_2026_hears_what_its_request_asks_for(start: START, server_revision: str) -> None:
    client = start(MODERN, server_revision)
    arguments = {"toolKey": "asks:log", "arguments": {}}
    for level, heard in ((None, []), ("error", ["error"])):
        meta = {**ENVELOPE, **({META + "logLevel": level} if level else {})}
        client.said.clear()
        client.ask("tools/call", {"name": "tool_execute", "arguments": arguments, "_meta": meta})
        lines = [json.loads(line) for line in client.said]
        assert [line["params"]["level"] for line in lines if line["method"] == "notifications/message"] == heard


def test_changed_roots_are_told_to_the_servers(start: START) -> None:
    client = start(LATEST, LATEST)
    client.call("asks:log")
    client.notify("notifications/roots/list_changed")
    until("the echo", lambda: b"roots have changed" in client.line())
