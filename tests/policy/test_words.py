"""Failures in words."""

from mcpctl.failure import Failure
from mcpctl.policy import words


def test_what_is_read_later_does_not_say_when_the_server_is_tried_again() -> None:
    failure = Failure("server_did_not_start", {"server": "s", "did": "did not start", "reason": "it ended"})
    waiting = failure.about(retry_s=4)
    assert words.for_person(waiting).message == "server 's' did not start: it ended; it is tried again in 4 s"
    assert words.in_brief(waiting) == words.in_brief(failure) == "server 's' did not start: it ended"
