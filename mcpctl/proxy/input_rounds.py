"""What follows when a tool of 2026-07-28 answers that it wants input: round after round, until it has answered.

For an older client the rounds are made here: it is asked, and the tool is called again with its answers. A client of
2026-07-28 makes them itself; its calls only become one story on record.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from mcpctl.proxy import jsonrpc, translate
from mcpctl.proxy.connection import Caller
from mcpctl.proxy.questions import Questions, can_be_asked

_ODD = "the tool asks for input in a way that cannot be understood; nothing more was done"
_CANNOT_ASK = "the tool asks for input before it goes on, which this client cannot give; nothing more was done"
_MAX_ROUNDS = 10
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.05, 0.25
_MAX_PARENTS = 1000


class Rounds:
    """The rounds of one call of an older client's."""

    def __init__(
        self,
        caller: Caller,
        questions: Questions,
        again: Callable[[Mapping[str, bytes]], None],
        refuse: Callable[[str, str], None],
    ) -> None:
        self._caller = caller
        self._questions = questions
        self._again = again
        """Calls the tool again, with these members of its params besides those it had."""
        self._refuse = refuse
        """Ends the call with a code and a message."""
        self._number = 0
        self._pause: asyncio.TimerHandle | None = None
        self._open: set[bytes] = set()
        """The questions that the client has not answered."""

    def begin(self, result: bytes) -> None:
        """Ask what `result` wants to know, then call again with the answers."""
        self._number += 1
        try:
            self._take(result)
        except jsonrpc.Malformed:
            self._refuse("bad_answer", _ODD)

    def _take(self, result: bytes) -> None:
        found = jsonrpc.members(result)
        requests = jsonrpc.members(found.get("inputRequests", b"{}"))
        state = {"requestState": found["requestState"]} if "requestState" in found else {}
        if self._number > _MAX_ROUNDS:
            self._refuse("too_many_rounds", f"the tool has asked for input {_MAX_ROUNDS} times; it was left")
        elif requests:
            self._ask(requests, state)
        else:
            wait = min(_SHORTEST_WAIT_S * 2 ** (self._number - 1), _LONGEST_WAIT_S)
            self._pause = asyncio.get_running_loop().call_later(wait, self._again, state)

    def end(self) -> None:
        """Ask and call no more."""
        if self._pause:
            self._pause.cancel()
        for question in self._open:
            self._questions.withdraw(question, {})
        self._open.clear()

    def _ask(self, requests: Mapping[str, bytes], state: Mapping[str, bytes]) -> None:
        wanted = {key: jsonrpc.members(request) for key, request in requests.items()}
        methods = {key: jsonrpc.value(members.get("method", b'""'), str) for key, members in wanted.items()}
        if not all(can_be_asked(self._caller, method) for method in methods.values()):
            self._refuse("cannot_ask", _CANNOT_ASK)
            return
        responses: dict[str, bytes] = {}

        def answered(key: str, result: bytes) -> None:
            responses[key] = result
            if len(responses) == len(wanted):
                self._again({**state, "inputResponses": jsonrpc.object_of(responses)})

        for key, members in wanted.items():
            self._ask_one(key, methods[key], members.get("params", b"{}"), answered)

    def _ask_one(self, key: str, method: str, params: bytes, answered: Callable[[str, bytes], None]) -> None:
        def take(result: bytes, error: bytes) -> None:
            self._open.discard(ours)
            if error:
                said = translate.message_of(error)
                self._refuse("not_answered", f"the client did not answer what the tool asked: {said}")
            else:
                answered(key, result)

        ours = self._questions.ask(method, params, take)
        self._open.add(ours)


class Parents:
    """Which call asked for the input that another brings, between two sides of 2026-07-28. For the record alone."""

    def __init__(self) -> None:
        self._calls: dict[bytes, str] = {}

    def asked(self, key: str, result: bytes, record_id: str) -> None:
        """The call on record as `record_id`, of the tool `key`, was answered with `result`, which asks for input."""
        try:
            found = jsonrpc.members(result)
            requests = jsonrpc.members(found.get("inputRequests", b"{}"))
        except jsonrpc.Malformed:
            return  # what follows it, if anything does, cannot be told
        if len(self._calls) >= _MAX_PARENTS:
            del self._calls[next(iter(self._calls))]
        self._calls[_round(key, found.get("requestState", b""), requests)] = record_id

    def of(self, key: str, state: bytes, responses: Iterable[str]) -> str | None:
        """The call, once, whose input a request with this `requestState` and these `inputResponses` brings."""
        return self._calls.pop(_round(key, state, responses), None)


def _round(key: str, state: bytes, asked: Iterable[str]) -> bytes:
    """What an answer that wants input and the request that brings it have in common."""
    names = b"" if state else b",".join(sorted(name.encode("utf-8", "replace") for name in asked))
    return b"%b %b %b" % (key.encode("utf-8", "replace"), state, names)
