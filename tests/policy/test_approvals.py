"""Approvals and yeses in policy.db: answered once, used once, and never more than so many."""

from functools import partial

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.approvals import ONCE, SESSION
from mcpctl.policy.policy_file import PolicyFile
from tests.commands.approvals.waiting import GRANT, wanted


def test_a_yes_is_used_once_and_after_a_no_one_is_asked_anew(paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        say = partial(approvals.answer, file, channel="terminal")
        ask = partial(approvals.open_for, file, wanted())
        first = ask()
        assert ask() == first
        assert say(id_=first.id, scope=ONCE)
        assert not say(id_=first.id, scope=ONCE), "it was answered"
        assert (ask().state, ask().id == first.id) == ("allowed", False)
        assert not say(id_=first.id, scope=None), "it was used"
        second = ask()
        assert say(id_=second.id, scope=None)
        assert approvals.find(file, second.id).state == "denied"
        assert (ask().state, ask().id in (first.id, second.id)) == ("pending", False)


def test_a_yes_that_is_used_at_once_waits_for_nobody(paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        first = approvals.open_for(file, wanted())
        assert approvals.answer(file, first.id, scope=SESSION, channel="client", grant=GRANT, used=True)
        assert approvals.open_for(file, wanted()).id != first.id
        assert approvals.grants(file) == {GRANT}
        approvals.end_session(file, GRANT.session)
        assert not approvals.grants(file)


def test_of_very_many_none_that_waits_is_forgotten(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "_MOST_PENDING", 3)
    with PolicyFile.connect(paths) as file:
        for number in range(3):
            approvals.open_for(file, wanted(number))
        for number in range(3, 9):
            with pytest.raises(Unusable, match="3 calls wait for consent already"):
                approvals.open_for(file, wanted(number))
        kept = approvals.listed(file, pending=True)
        assert {each.binding for each in kept} == {f"binding {number}" for number in range(3)}
        assert approvals.open_for(file, wanted(1)).binding == "binding 1"
        assert approvals.answer(file, kept[0].id, scope=None, channel="terminal")
        assert approvals.open_for(file, wanted(3)).state == "pending"
