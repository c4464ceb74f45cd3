"""The approvals in `policy.db` as rows, and the answer that a person gives to one, kept and put on record."""

import time

from mcpctl import config
from mcpctl.callers import Client
from mcpctl.errors import NotFound, Refused
from mcpctl.models import Found, Row
from mcpctl.paths import Paths
from mcpctl.store import approvals, clock
from mcpctl.store.approvals import ALWAYS, DENIED, SESSION, Approval
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.recorder import Origin, Recorder


def rows(paths: Paths, *, pending: bool) -> Found:
    """The approvals, the newest first. Where nothing was ever decided, asking makes no database."""
    if not paths.policy.exists():
        return Found.of([], filtered=pending)
    with PolicyFile.connect(paths) as file:
        return Found.of([row(each) for each in approvals.listed(file, pending=pending)], filtered=pending)


def row(approval: Approval) -> Row:
    """One approval, under the names that users see."""
    return {
        "id": approval.id,
        "state": approval.state_at(time.time()),
        "scope": approval.scope,
        "key": approval.key,
        "risk": approval.risk,
        "hints": approval.hints,
        "arguments": approval.arguments,
        "rule": approval.rule,
        "rule_place": approval.rule_place or None,
        "project": approval.project or None,
        "token_id": approval.token or None,
        "session_id": approval.session,
        "arguments_hash": approval.arguments_hash,
        "pin": approval.pin,
        "channel": approval.channel,
        "created_at": clock.iso(approval.created),
        "expires_at": clock.iso(approval.expires),
        "answered_at": clock.iso(approval.answered) if approval.answered else None,
    }


def found(paths: Paths, ref: str) -> Approval:
    """The approval that `ref` names; raises `NotFound`, and `WrongUsage` where it names several."""
    if not paths.policy.exists():
        raise NotFound(f"no approval '{ref}'", "nothing was ever asked about", "approval_not_found")
    with PolicyFile.connect(paths) as file:
        return approvals.find(file, ref)


def answer(paths: Paths, ref: str, scope: str | None, channel: str) -> Approval:
    """Say yes for a scope, or no where it is None, which also takes back a yes that still holds; by way of `channel`,
    `terminal` or `dashboard`.

    Raises `NotFound` where there is none, or none that is open, and `Refused` where it cannot hold for so long; nothing
    is kept then, nor where config.toml cannot be read.
    """
    settings = config.load(paths.config).records
    approval = found(paths, ref)
    holds = approval.grant._replace(session="") if scope == ALWAYS else approval.grant
    grant = holds if scope in (SESSION, ALWAYS) else None
    if scope == ALWAYS and not approval.pin:
        hint = "allow it once; after its server has listed it, it can be allowed always"
        raise Refused(f"the definition of {approval.key} is not known", hint, "definition_unknown")
    with PolicyFile.connect(paths) as file:
        if scope is None and approval.scope in (SESSION, ALWAYS) and approval.state != DENIED:
            is_mine = approvals.withdraw(file, approval)
        else:
            is_mine = approvals.answer(file, approval.id, scope=scope, channel=channel, grant=grant)
        answered = approvals.find(file, approval.id)  # which others may have answered, too, by now
        if not is_mine:
            state = answered.state_at(time.time())
            hint = "have it called again: that asks anew" if state == "expired" else "see: mcpctl approvals show"
            raise NotFound(
                f"approval {approval.id} cannot be answered any more: it is {state}", hint, "approval_closed"
            )
    _record(Recorder(paths, settings, via="cli"), answered, scope, channel)
    return answered


def _record(recorder: Recorder, approval: Approval, scope: str | None, channel: str) -> None:
    recorder.decision_made(
        approval.key, "approved" if scope else "declined", approval.rule, place=approval.rule_place,
        channel=channel, scope=scope or approval.scope or "", arguments_hash=approval.arguments_hash, pin=approval.pin,
        token_id=approval.token, waited_ms=round(((approval.answered or 0) - approval.created) * 1000),
        origin=Origin(Client("mcpctl"), approval.project or None),
    )  # fmt: skip
    recorder.flush()
    recorder.close()


def until(approval: Approval) -> str:
    """The time until which the call has to be made."""
    return clock.iso(approval.expires)
