"""The approvals in `policy.db` as rows, and the answer that a person gives to one, kept and put on record."""

import time
from collections.abc import Sequence

from mcpctl.base.callers import Client
from mcpctl.base.errors import NotFound, Refused
from mcpctl.base.fields import APPROVAL_FIELDS
from mcpctl.base.models import STANDING_FIELDS, Found, Row
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.policy import approvals
from mcpctl.policy.approvals import ALWAYS, DENIED, ONCE, SESSION, CallApproval, Given
from mcpctl.policy.consent import hidden_words
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import clock
from mcpctl.store.recorder import Origin, Recorder, person_of

_OF_CLIENTS = ("client", approvals.HOOK)


def rows(paths: Paths, *, pending: bool) -> Found:
    """The newest first. Makes no database where there is none."""
    if not PolicyFile.is_made(paths):
        return Found.of([], filtered=pending)
    with PolicyFile.connect(paths) as file:
        approvals.forget_expired(file)
        every = approvals.listed(file, pending=pending)
        return Found.of([row(approval) for approval in every], filtered=pending)


def waiting(paths: Paths, most: int) -> tuple[Sequence[CallApproval], int]:
    """The newest calls that wait, with all of their arguments, and how many wait."""
    if not PolicyFile.is_made(paths):
        return (), 0
    with PolicyFile.connect(paths) as file:
        number = len(approvals.listed(file, pending=True))
        return approvals.listed(file, pending=True, whole=True, most=most), number


def standing(paths: Paths) -> Found:
    if not PolicyFile.is_made(paths):
        return Found.of([])
    with PolicyFile.connect(paths) as file:
        return Found.of([_standing_row(given) for given in approvals.given(file)])


def _standing_row(given: Given) -> Row:
    grant = given.grant
    values = (
        given.id, grant.key, SESSION if grant.session else ALWAYS, clock.iso(given.since),
        clock.iso(given.until) if given.until else None, grant.project or None, grant.token or None,
        grant.session or None, grant.pin,
    )  # fmt: skip
    return dict(zip(STANDING_FIELDS, values, strict=True))


def row(approval: CallApproval) -> Row:
    values = {
        **approval._asdict(), "state": approval.state_at(time.time()), "session_id": approval.session,
        "arguments": approval.whole or approval.arguments, "rule_place": approval.rule_place or None,
        "title": approval.title or None, "client_name": approval.client or None,
        "project": approval.project or None, "token_id": approval.token or None,
        "created_at": clock.iso(approval.created), "expires_at": clock.iso(approval.expires),
        "answered_at": clock.iso(approval.answered) if approval.answered else None,
        "person": approval.person or (approval.client if approval.channel in _OF_CLIENTS else None) or None,
    }  # fmt: skip
    return {name: values[name] for name in APPROVAL_FIELDS}


def found(paths: Paths, ref: str) -> CallApproval:
    """Raises `NotFound`, and `WrongUsage` where `ref` names several."""
    if not PolicyFile.is_made(paths):
        raise NotFound(f"no approval '{ref}'", "nothing was ever asked about", "approval_not_found")
    with PolicyFile.connect(paths) as file:
        return approvals.find(file, ref)


def scopes(loaded: Config, approval: Row) -> Sequence[str]:
    return [scope for scope in (ONCE, SESSION, ALWAYS) if not _why_not(_of_project(loaded, approval), approval, scope)]


def _of_project(loaded: Config, approval: Row) -> Config:
    project = approval["project"]
    return config.parsed(loaded.path, loaded.text, project) if project in loaded.known_projects else loaded


def _why_not(loaded: Config, approval: Row, scope: str | None) -> Refused | None:
    if scope not in (SESSION, ALWAYS):
        return None
    if (confirm := loaded.policy.table.confirm) != "session":
        project = loaded.projects.get(loaded.project or "")
        is_of_project = project is not None and project.policy is not None and project.policy.confirm is not None
        place = ("projects", loaded.project or "", "policy") if is_of_project else ("policy",)
        line = loaded.line_of(place, "confirm")
        where = f"{loaded.path}{f':{line}' if line else ''}"
        return Refused(
            f'{where}: with confirm = "{confirm}" a yes applies to one call only',
            f'allow it once: mcpctl approvals allow {approval["id"]}; or write confirm = "session" there', "not_kept",
        )  # fmt: skip
    if hidden := hidden_words(approval["hidden"], approval["left_out"]):
        hint = f"allow it once: mcpctl approvals allow {approval['id']}"
        return Refused(f"of its arguments, {hidden}", hint, "not_shown")
    if scope == ALWAYS and not approval["pin"]:
        hint = "allow it once; after its server has listed it, it can be allowed always"
        return Refused(f"the definition of {approval['key']} is not known", hint, "definition_unknown")
    return None


def answer(
    paths: Paths, ref: str, scope: str | None, channel: str, until: float | None = None, *, login: str = ""
) -> CallApproval:
    """Say yes for a scope, perhaps only `until` a moment, or no where the scope is None, which also takes back a yes
    that still applies; `channel` is `terminal` or `dashboard`. Raises `NotFound` where none is open, and `Refused`
    where no yes can last so long; nothing is kept then, nor where config.toml cannot be read."""
    loaded = config.load(paths.config)
    settings = loaded.records
    approval = found(paths, ref)
    if refusal := _why_not(_of_project(loaded, row(approval)), row(approval), scope):
        raise refusal
    holds = approval.grant._replace(session="") if scope == ALWAYS else approval.grant
    grant = holds if scope in (SESSION, ALWAYS) else None
    with PolicyFile.connect(paths) as file:
        if scope is None and approval.scope in (SESSION, ALWAYS) and approval.state != DENIED:
            is_mine = approvals.withdraw(file, approval, channel=channel, person=person_of(login))
        else:
            is_mine = approvals.answer(
                file, approval.id, scope=scope, channel=channel, grant=grant, until=until, person=person_of(login)
            )
        answered = approvals.find(file, approval.id)  # which others may have answered, too, by now
        if not is_mine:
            state = answered.state_at(time.time())
            hint = "have it called again: that asks again" if state == "expired" else "see: mcpctl approvals show"
            message = f"approval {approval.id} cannot be answered any more: it is {state}"
            raise NotFound(message, hint, "approval_closed")
    _record(Recorder(paths, settings, via="cli"), answered, scope, channel, login)
    return answered


def revoke(paths: Paths, ref: str, channel: str, *, login: str = "") -> Sequence[Row]:
    """Take back the yeses to a tool, or one by its id or that of its approval; returns their rows."""
    settings = config.load(paths.config).records
    with PolicyFile.connect(paths) as file:
        every = approvals.given(file)
        of_approval = {approval.grant._replace(session="") for approval in approvals.listed(file) if approval.id == ref}
        chosen = [
            given for given in every
            if ref in (given.grant.key, given.id) or given.grant._replace(session="") in of_approval
        ]  # fmt: skip
        if not chosen:
            keys = {given.grant.key for given in every}
            hint = did_you_mean(ref, keys, "list them with: mcpctl approvals ls --standing")
            raise NotFound(f"no standing yes '{ref}'", hint, "grant_not_found")
        for given in chosen:
            approvals.end_grant(file, given.grant, channel=channel, person=person_of(login))
    recorder = Recorder(paths, settings, via="cli")
    for given in chosen:
        recorder.decision_made(
            given.grant.key, "declined", "standing yes taken back", channel=channel, pin=given.grant.pin,
            scope=SESSION if given.grant.session else ALWAYS, token_id=given.grant.token, login=login,
            origin=Origin(Client("mcpctl"), given.grant.project or None),
        )  # fmt: skip
    recorder.flush()
    recorder.close()
    return [_standing_row(given) for given in chosen]


def _record(recorder: Recorder, approval: CallApproval, scope: str | None, channel: str, login: str) -> None:
    recorder.decision_made(
        approval.key, "approved" if scope else "declined", approval.rule, place=approval.rule_place,
        channel=channel, scope=scope or approval.scope or "", arguments_hash=approval.arguments_hash, pin=approval.pin,
        token_id=approval.token, waited_ms=approval.waited_ms, login=login,
        origin=Origin(Client("mcpctl"), approval.project or None),
    )  # fmt: skip
    recorder.flush()
    recorder.close()
