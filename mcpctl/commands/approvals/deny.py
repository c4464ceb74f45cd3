"""`mcpctl approvals deny`"""

from mcpctl.commands import options as opt


def deny(approval: opt.OpenApprovalId, place: opt.JsonLocation) -> None:
    """Say no to a call that waits for your consent. If the same call is made again, you are asked again.

    It also takes back the consent to a call that was allowed with --session or --always, or that has not been made yet.

    Examples:
      mcpctl approvals deny 7f3a
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.commands.confirmation import may_be_a_person
    from mcpctl.policy.answering import answer, row

    if approval == "last":
        raise WrongUsage("name the approval by its id", "the last one may be another by now: mcpctl approvals ls")
    answered = answer(place.paths(), approval, None, "terminal" if may_be_a_person() else "command")
    output.write_done(place.json, lambda: row(answered), answered.id)
    output.say(f"{answered.key} is refused")
