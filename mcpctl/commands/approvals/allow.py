"""`mcpctl approvals allow`"""

from mcpctl.commands import options as opt


def allow(
    approval: opt.OpenApprovalId,
    session: bool = opt.flag("--session", "Allow all calls of the tool until the session ends."),
    always: bool = opt.flag("--always", "Allow all calls of the tool, as long as its definition stays as it is."),
    ends: str | None = opt.option("--for", "TIME", "Allow all calls of the tool until then: 8h, 7d."),
    *,
    place: opt.JsonLocation,
) -> None:
    """Allow a call that waits for your consent. That is this call, once, when it is made again with the same arguments.

    It is for people: it needs a terminal, and refuses where an agent may run it. --session and --always are refused
    where config.toml has confirm = "always", and where a part of the arguments is hidden or left out: there a yes is
    for this call alone. mcpctl approvals ls --standing lists longer consent.

    Examples:
      mcpctl approvals allow 7f3a
      mcpctl approvals allow 7f3a --session
      mcpctl approvals allow 7f3a --for 7d
    """
    import time

    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.commands.confirmation import only_for_people
    from mcpctl.policy import pausing
    from mcpctl.policy.answering import answer, row
    from mcpctl.policy.approvals import ALWAYS, ONCE, SESSION
    from mcpctl.store import clock

    if approval == "last":
        raise WrongUsage("name the approval by its id", "the last one may be another by now: mcpctl approvals ls")
    if session and (always or ends):
        raise WrongUsage(f"--session and {'--always' if always else '--for'} contradict each other", "give one of them")
    end = opt.moment(ends, time.time(), "--for")
    only_for_people("allow a call")
    scope = ALWAYS if always or ends else SESSION if session else ONCE
    answered = answer(place.paths(), approval, scope, "terminal", end)
    output.write_done(place.json, lambda: row(answered), answered.id)
    always_how = f"until {clock.local(end)}" if end else "always"
    how = {ONCE: f"once, until {clock.local(answered.expires)}", SESSION: "for the session", ALWAYS: always_how}
    paused = pausing.current(place.paths())
    then = f"but nothing is called while it is {paused.told}" if paused else "have it called again"
    output.say(f"{answered.key} is allowed {how[answered.scope or ONCE]}; {then}", always=paused is not None)
