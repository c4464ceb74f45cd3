"""What is sent to a receiver, and what becomes of its answers."""

import email.utils
import threading
import time
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.paths import Paths
from mcpctl.otlp.receiver import Receiver, ReceiverAway, RefusedByReceiver
from tests.otlp.conftest import Export, Paused
from tests.otlp.receiver import METRICS, PROTOBUF, TRACES, Answer, OwnReceiver, partly, status
from tests.recorded import at, call, session
from tests.table import for_each


@pytest.fixture
def waits(paused: Paused) -> list[float]:
    """The seconds that were to be waited between tries."""
    waited: list[float] = []
    paused(waited.append)
    return waited


def calls(paths: Paths, number: int, **more: Any) -> None:
    """A session with so many calls."""
    session(paths, rest=[each for n in range(number) for each in call(f"{n:08}-call", n / 100, **more)])


def test_spans_are_protobuf_in_gzip_with_the_headers_that_were_given(
    paths: Paths, export: Export, receiver: OwnReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "k-123")
    calls(paths, 2)
    assert export("--header", "Api-Key=${API_KEY}", "--header", "x-more=a=b, c").out == (
        f"sent 4 spans and 2 data points of 2 calls to {receiver.url}\n"
    )
    assert [each.path for each in receiver.asked] == [TRACES, METRICS]
    for each in receiver.asked:
        assert each.headers["content-type"] == PROTOBUF
        assert each.headers["content-encoding"] == "gzip"
        assert (each.headers["api-key"], each.headers["x-more"]) == ("k-123", "a=b, c")
        assert each.headers["user-agent"].startswith("mcpctl/")
    (resource,) = receiver.asked[0].traces.resource_spans
    assert next((each.key, each.value.string_value) for each in resource.resource.attributes) == (
        "service.name", "mcpctl"
    )  # fmt: skip
    assert resource.scope_spans[0].scope.name == "mcpctl"


def test_spans_go_in_groups_of_512(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    calls(paths, 600)
    export()
    assert [len(each.spans) for each in receiver.taken] == [512, 512, 176]
    assert len({span.span_id for span in receiver.spans}) == 1200
    assert [each.path for each in receiver.asked].count(METRICS) == 1


def test_a_group_of_many_bytes_is_sent_before(
    paths: Paths, export: Export, receiver: OwnReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "OTLP_GROUP", 1)
    calls(paths, 3)
    export()
    assert [len(each.spans) for each in receiver.taken] == [2, 2, 2]


@for_each("code", [429, 502, 503, 504])
def test_what_a_receiver_has_no_time_for_is_sent_again(
    paths: Paths, export: Export, receiver: OwnReceiver, waits: list[float], code: int
) -> None:
    if not receiver.asked:
        calls(paths, 2)
    receiver.asked.clear()
    waits.clear()
    receiver.answers[TRACES] = [
        status(code, retry_after="7"),
        status(code),
        status(code),
        status(code, retry_after="-"),
    ]
    export()
    assert [each.path for each in receiver.asked] == [*[TRACES] * 5, METRICS]
    assert len({each.body for each in receiver.taken}) == 1
    told, *backed_off = waits
    assert told == 7
    for wait, most in zip(backed_off, (2, 4, 8), strict=True):
        assert most / 2 <= wait <= most


def test_a_date_of_a_retry_after_counts_and_no_longer_than_an_hour(
    paths: Paths, export: Export, receiver: OwnReceiver, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "OTLP_PATIENCE_S", 1e9)
    calls(paths, 1)
    soon, past = (email.utils.formatdate(time.time() + seconds, usegmt=True) for seconds in (600, -600))
    receiver.answers[TRACES] = [status(503, retry_after=each) for each in (soon, past, "99999999", "9" * 400)]
    export()
    assert 0 < waits[0] <= 600
    assert waits[1:] == [0, 3600, 3600]


@for_each(
    "answer",
    [
        Answer(breaks_off=True),
        status(503),
        status(429, retry_after="3000"),
        Answer(502, b"<html>Bad Gateway</html>", "text/html"),
    ],
)
def test_without_end_nothing_is_tried_and_what_is_left_is_said(
    paths: Paths, export: Export, receiver: OwnReceiver, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    monkeypatch.setattr(bounds, "OTLP_PATIENCE_S", 0)
    monkeypatch.setattr(bounds, "OTLP_SPANS", 4)
    if not receiver.asked:
        calls(paths, 3)
    receiver.answers[TRACES] = [Answer(), answer]
    error = export("--json", code=4).error
    assert error["code"] == "receiver_away"
    assert error["message"].startswith(f"{receiver.url} takes no spans: ")
    assert "sent 4 spans" in error["message"]
    assert f"with --since {at(0.02 + 0.1)}" in error["hint"]


def test_a_receiver_that_is_not_there_or_slow_is_tried_again(
    paths: Paths, export: Export, receiver: OwnReceiver, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls(paths, 1)
    goes_on = threading.Event()
    receiver.answers[TRACES] = [Answer(breaks_off=True), Answer(after=goes_on)]
    monkeypatch.setattr(bounds, "OTLP_S", 0.2)
    try:
        ran = export()
    finally:
        goes_on.set()
    assert len(receiver.taken) >= 3
    assert len({each.body for each in receiver.taken}) == 1
    assert len(waits) == len(receiver.taken) - 1
    assert "the connection broke off; it is tried again" in ran.err
    assert "takes what it is sent again, after" in ran.err


def test_nothing_listens_there(mcpctl: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "OTLP_PATIENCE_S", 0)
    calls(paths, 1)
    ran = mcpctl("records", "export", "--otlp", "http://127.0.0.1:9", "--json")
    assert ran.code == 4
    assert "http://127.0.0.1:9 takes no spans: nothing listens there" in ran.error["message"]


@for_each(
    "answer, words",
    [
        (status(400, "no such field"), "HTTP 400 Bad Request: no such field"),
        (status(401), "HTTP 401 Unauthorized"),
        (status(403, "key k-123-secret is not good"), "HTTP 403 Forbidden: key *** is not good"),
        (status(413), "HTTP 413 "),
        (status(500, "\x1b[2Jno\n"), "HTTP 500 Internal Server Error: \N{REPLACEMENT CHARACTER}[2Jno"),
        (status(501), "HTTP 501 Not Implemented"),
        (Answer(404, b'{"message": "no such page"}', "application/json"), "HTTP 404 Not Found: no such page"),
        (Answer(400, b"\xff\xff\xff"), "HTTP 400 Bad Request"),
        (status(307, location="http://elsewhere.example/v1/traces?key=a"),
         "it redirects to http://elsewhere.example/v1/traces, which has to be named itself"),
        (status(308, location="/other"), "other, which has to be named itself"),
    ],
)  # fmt: skip
def test_other_refusals_are_counted_and_said_and_not_tried_again(
    paths: Paths, export: Export, receiver: OwnReceiver, answer: Answer, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.base.errors._warned", {})
    monkeypatch.setattr(bounds, "OTLP_SPANS", 4)
    if not receiver.asked:
        calls(paths, 3)
    receiver.asked.clear()
    receiver.answers[TRACES] = [answer]
    ran = export("--header", "api-key=k-123-secret", "--json", code=4)
    assert words in ran.err
    assert "k-123-secret" not in ran.err
    assert [each.path for each in receiver.asked] == [TRACES, TRACES, METRICS]
    assert ran.error["code"] == "spans_refused"
    assert "sent 2 spans and 2 data points of 3 calls" in ran.error["message"]
    assert "4 spans not taken" in ran.error["message"]


def test_a_partial_success_is_counted_and_said(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    calls(paths, 3)
    receiver.answers[TRACES] = [partly(2, "too old")]
    ran = export("--json", code=4)
    assert f"{receiver.url} has not taken all spans: too old" in ran.err
    assert "sent 4 spans and 2 data points of 3 calls" in ran.error["message"]
    assert "2 spans not taken" in ran.error["message"]
    receiver.answers[TRACES] = [partly(0, "use another version")]
    ran = export()
    assert f"{receiver.url} has taken the spans, and says: use another version" in ran.err
    receiver.answers[TRACES] = [partly(-5), partly(10**15)]
    assert "sent 6 spans" in export().out


@for_each(
    "answer",
    [Answer(200, b"\xff" * 10), Answer(200, b"{}", "application/json"), Answer(202), Answer(200, b"x" * (1 << 17))],
)
def test_an_answer_that_says_nothing_is_a_success(
    paths: Paths, export: Export, receiver: OwnReceiver, answer: Answer
) -> None:
    if not receiver.asked:
        calls(paths, 1)
    receiver.answers[TRACES] = [answer]
    assert "sent 2 spans" in export().out


def test_a_receiver_of_its_own_raises_what_became_of_a_message(receiver: OwnReceiver) -> None:
    own = Receiver(receiver.url + TRACES, {}, patience_s=0)
    try:
        assert own.post(b"") == b""
        receiver.answers[TRACES] = [status(400), status(503, "later")]
        with pytest.raises(RefusedByReceiver, match="400"):
            own.post(b"")
        with pytest.raises(ReceiverAway, match="503 Service Unavailable: later"):
            own.post(b"")
    finally:
        own.close()
