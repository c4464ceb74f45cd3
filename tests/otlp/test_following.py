"""What follows is sent as it happens, once, also after a restart."""

import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from mcpctl.base import bounds
from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.store import journal_lines
from mcpctl.store.journal import Journal
from tests.conftest import MCPCTL, Mcpctl
from tests.otlp.conftest import Paused
from tests.otlp.conventions import values
from tests.otlp.receiver import METRICS, TRACES, Answer, OwnReceiver, own_receiver, status
from tests.otlp.test_spans import first
from tests.postgres import shipped
from tests.recorded import CURSOR, at, call, call_id, created, finished, opened, session, started, two_sessions

Follow = Callable[..., None]


@pytest.fixture
def follow(mcpctl: Mcpctl, receiver: OwnReceiver, monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Follow, and do a step each time that all there is was sent; it ends after the last of them."""

    def run(*steps: Callable[[], object], options: Sequence[str] = (), says: str = "enough") -> None:
        left = iter(steps)

        def pause() -> None:
            step = next(left, None)
            if step is None:
                raise Unusable("enough", "the test is over")
            step()

        monkeypatch.setattr("mcpctl.output.pause", pause)
        ran = mcpctl("records", "export", "--otlp", receiver.url, "--follow", *options)
        assert (ran.code, says in ran.err) == (5, True), ran
        assert next(left, None) is None

    return run


@pytest.fixture
def journal(paths: Paths) -> Iterator[Journal]:
    """A session that goes on."""
    journal = opened(paths, created())
    yield journal
    journal.close()


def write(journal: Journal, *lines: journal_lines.AnyLine) -> None:
    journal.append(b"".join(map(journal_lines.encode, lines)))


def ids(receiver: OwnReceiver) -> list[str]:
    """The ids of the calls whose spans have come, in their order."""
    known = [values(span.attributes)["mcpctl.call.id"] for span in receiver.spans]
    return known[::2]


def test_what_is_there_is_sent_and_then_what_follows_each_once(
    follow: Follow, journal: Journal, receiver: OwnReceiver
) -> None:
    write(journal, *call(1, 1), started(2, 2))
    seen: list[list[str]] = []

    def step(*lines: journal_lines.AnyLine) -> Callable[[], None]:
        def done() -> None:
            seen.append(ids(receiver))
            write(journal, *lines)

        return done

    follow(step(finished(2, 3)), step(), step(*call(3, 4), *call(4, 4)), step())
    one, two, three, four = map(call_id, range(1, 5))
    assert seen == [[one], [one, two], [one, two], [one, two, three, four]]


def test_after_a_restart_it_goes_on_where_it_was_with_the_tail_of_each_journal(
    follow: Follow, journal: Journal, receiver: OwnReceiver, paths: Paths
) -> None:
    write(journal, *call(1, 1), started(2, 2))
    follow()
    write(journal, finished(2, 3), *call(3, 4))
    session(paths, CURSOR, 1, call(4, 1.5, CURSOR))
    receiver.asked.clear()
    follow()
    assert ids(receiver) == [call_id(4), call_id(2), call_id(3)]
    receiver.asked.clear()
    follow()
    assert receiver.asked == []


def test_since_a_time_the_kept_position_does_not_count(follow: Follow, journal: Journal, receiver: OwnReceiver) -> None:
    write(journal, *call(1, 1), *call(2, 5))
    follow()
    receiver.asked.clear()
    follow(options=("--since", at(3)))
    assert ids(receiver) == [call_id(2)]


def test_each_receiver_has_a_position_of_its_own(
    follow: Follow, journal: Journal, receiver: OwnReceiver, mcpctl: Mcpctl
) -> None:
    write(journal, *call(1, 1))
    follow()
    with own_receiver() as other:
        assert mcpctl("records", "export", "--otlp", other.url, "--follow").code == 5
        assert ids(other) == ids(receiver) == [call_id(1)]


def test_a_second_one_for_the_same_receiver_is_refused(
    follow: Follow, journal: Journal, receiver: OwnReceiver, mcpctl: Mcpctl
) -> None:
    def second() -> None:
        error = mcpctl("records", "export", "--otlp", receiver.url, "-f", "--json").error
        assert error["code"] == "already_followed"
        assert mcpctl("records", "export", "--otlp", receiver.url).code == 0

    write(journal, *call(1, 1))
    follow(second)


def test_what_was_removed_before_it_was_sent_is_said(follow: Follow, receiver: OwnReceiver, paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    follow()
    write(journal, *call(2, 2))
    journal.close()
    journal.path.unlink()
    receiver.asked.clear()
    follow(says="spans may be missing: records were removed before they were sent")
    assert receiver.asked == []


def test_what_is_refused_is_counted_at_the_end(follow: Follow, journal: Journal, receiver: OwnReceiver) -> None:
    write(journal, *call(1, 1))
    receiver.answers[TRACES] = [status(400, "no")]
    follow(lambda: write(journal, *call(2, 2)), lambda: None, says="2 spans not taken")


def test_a_group_that_was_sent_is_not_sent_again(
    follow: Follow, journal: Journal, receiver: OwnReceiver, paused: Paused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The position is kept after each group, not after all of them."""

    def end(_: float) -> None:
        raise Unusable("enough", "the test is over")

    monkeypatch.setattr(bounds, "OTLP_SPANS", 4)
    write(journal, *(line for number in range(1, 4) for line in call(number, number)))
    receiver.answers[TRACES] = [Answer(), status(503)]
    with monkeypatch.context() as patched:
        patched.setattr("mcpctl.output.pause", lambda: None)
        paused(end)
        follow()
    receiver.asked.clear()
    follow()
    assert ids(receiver) == [call_id(3)]


def test_durations_add_up_while_it_runs(follow: Follow, journal: Journal, receiver: OwnReceiver) -> None:
    write(journal, *call(1, 1))
    follow(lambda: write(journal, *call(2, 2)), lambda: write(journal, *call(3, 3)), lambda: None)
    asked = [each.metrics for each in receiver.asked if each.path == METRICS]
    points = [each.resource_metrics[0].scope_metrics[0].metrics[0].histogram.data_points[0] for each in asked]
    assert [point.count for point in points] == [1, 2, 3]
    assert len({point.start_time_unix_nano for point in points}) == 1
    assert len({point.time_unix_nano for point in points}) == 3


@pytest.mark.process
@pytest.mark.slow
def test_over_a_store_the_spans_are_the_same_with_the_machine_and_a_position_of_their_own(
    follow: Follow, receiver: OwnReceiver, paths: Paths, store: str
) -> None:
    two_sessions(paths)
    shipped(paths, store)
    follow()
    here = [values(span.attributes) | {"id": span.span_id, "of": span.trace_id} for span in receiver.spans]
    receiver.asked.clear()
    follow(options=("--store", store))
    there = [values(span.attributes) | {"id": span.span_id, "of": span.trace_id} for span in receiver.spans]
    assert here
    assert there == [each | {"mcpctl.machine.name": "here"} for each in here]
    receiver.asked.clear()
    follow()
    follow(options=("--store", store))
    assert receiver.asked == []


@pytest.mark.usefixtures("sigint_counts")
@pytest.mark.process
@pytest.mark.slow
def test_a_process_waits_for_its_receiver_and_ends_at_a_signal(paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    with own_receiver() as receiver:
        receiver.answers[TRACES] = [Answer(breaks_off=True), status(503, retry_after="0")]
        line = [*MCPCTL, "records", "export", "--otlp", receiver.url, "--follow"]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as following:
            receiver.await_that(lambda own: len(own.taken) == 3)
            write(journal, *call(2, 2))
            receiver.await_that(lambda own: len(own.taken) == 4)
            following.send_signal(signal.SIGINT)
            _, said = following.communicate(timeout=60)
        assert following.returncode == 130
        assert "it is tried again" in said
        assert "Traceback" not in said
        assert ids(receiver)[-2:] == [call_id(1), call_id(2)]
    journal.close()


def has_taken(number: int, receiver: OwnReceiver) -> bool:
    return len(receiver.taken) >= number


@pytest.mark.process
@pytest.mark.slow
def test_nothing_is_left_out_by_one_that_is_killed_again_and_again(paths: Paths) -> None:
    journal = opened(paths, created())
    with own_receiver() as receiver:
        for kill in range(5):
            numbers = range(300 * kill, 300 * kill + 300)
            write(journal, *(line for number in numbers for line in call(f"{number:08}-call", number / 100)))
            enough = len(receiver.taken) + 1 + kill % 2
            line = [*MCPCTL, "records", "export", "--otlp", receiver.url, "--follow"]
            with subprocess.Popen(line) as following:
                receiver.await_that(partial(has_taken, enough))
                following.kill()
        with subprocess.Popen(line) as following:
            last = first(f"{300 * 5 - 1:08}-call", 8)
            receiver.await_that(lambda own: last in {span.span_id for span in own.spans})
            following.kill()
        expected = {first(f"{number:08}-call", 8) for number in range(1500)}
        assert {span.span_id for span in receiver.spans if span.kind == Span.SPAN_KIND_SERVER} == expected
    journal.close()
