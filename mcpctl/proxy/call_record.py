"""What of one call is on record: its start, what was decided of it, and how it ended."""

from typing import TYPE_CHECKING

import msgspec

from mcpctl import hints
from mcpctl.failure import Failure
from mcpctl.policy import words
from mcpctl.policy.decide import ASK
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import OpenCall, Recorder

if TYPE_CHECKING:
    from mcpctl.proxy.call import Call

_RECORDED = {"held": "held", "needs_consent": "asked"}
"""What would have been decided by a policy that only records, by the code of the refusal."""


class CallRecord:
    """One call's record."""

    def __init__(self, call: "Call", recorder: Recorder) -> None:
        self.id = ""
        """Its id there, empty as long as it is not on record."""
        self._call = call
        self._recorder = recorder
        self._open: OpenCall | None = None

    def start(self) -> None:
        """Have the call on record from now on, if it is not, with the hints that its tool declares at this moment."""
        if self.id:
            return
        call = self._call
        self._open = self._recorder.call_started(
            call.server, call.name, call.arguments or b"{}",
            request_id=call.request.id, annotations=hints.snapshot(call.tool), parent_id=call.parent_id,
            origin=call.view.origin,
        )  # fmt: skip
        self.id = self._open.id

    def end(
        self, status: str, *, response: Json = b"null", error: bytes = b"null", recorded: bytes | None = None,
        delivered: int | None = None,
    ) -> None:  # fmt: skip
        """Put its outcome on record, which it has once; `recorded` and `delivered` are as in `Recorder`."""
        if self._open:
            self._recorder.call_finished(
                self._open, status, response=response, error=error, recorded=recorded, delivered=delivered
            )
            self._open = None

    def note_exception(self) -> None:
        """Put on record why it goes on although a rule would have stopped it."""
        failure, ruling = self._call.verdict.failure, self._call.verdict.ruling
        if failure:  # the policy only records
            self.note(_RECORDED.get(failure.code, "denied"), failure, enforced=False)
        elif ruling and ruling.effect == ASK and self._call.consent is None:
            self.note("allowed", Failure("granted", {"ruling": ruling}), channel="grant")

    def refuse(self, failure: Failure) -> None:
        """Put on record that it did not happen, or did not end; and the decision, where that is one and is not there
        yet."""
        self.start()
        if failure.code in words.DECISIONS:
            self.note("held" if failure.code == "held" else "denied", failure)
        error = {"code": failure.code, "message": words.for_person(failure).message}
        status = "denied" if failure.code in words.DENIED else "failed"
        self.end(failure.code if failure.code == "interrupted" else status, error=msgspec.json.encode(error))

    def note(
        self, decision: str, failure: Failure, *, channel: str = "rule", scope: str = "", waited_ms: int | None = None,
        enforced: bool = True,
    ) -> None:  # fmt: skip
        """Put a decision on record."""
        call, ruling = self._call, failure.facts.get("ruling")
        rule, place = words.rule_of(ruling, call.view) if ruling else (failure.code, "")
        if held := failure.facts.get("held"):
            rule, place = words.hold_rule(held, call.view.config)
        subject = call.subject
        self._recorder.decision_made(
            subject.key, decision, rule, place=place, call_id=self.id, channel=channel, scope=scope,
            arguments_hash=call.arguments_digest, pin=subject.pin, token_id=call.view.token_id, waited_ms=waited_ms,
            enforced=enforced, origin=call.view.origin,
        )  # fmt: skip
