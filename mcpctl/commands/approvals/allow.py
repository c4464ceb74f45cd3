"""`mcpctl approvals allow`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

Session = Annotated[bool, typer.Option("--session", help="Allow all calls of the tool until the session ends.")]
Always = Annotated[
    bool, typer.Option("--always", help="Allow all calls of the tool, as long as its definition stays as it is.")
]


def allow(
    approval: opt.ApprovalId,
    session: Session = False,
    always: Always = False,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Allow a call that waits for your consent: this call, once, when it is made again with the same arguments.

    It is for people: it needs a terminal, and refuses where an agent may run it.

    \b
    Examples:
      mcpctl approvals allow 7f3a
      mcpctl approvals allow 7f3a --session
    """
    from mcpctl import output
    from mcpctl.commands.people import only_for_people
    from mcpctl.errors import WrongUsage
    from mcpctl.output.text import line_of
    from mcpctl.policy.answering import answer, row, until
    from mcpctl.store.approvals import ALWAYS, ONCE, SESSION

    if approval == "last":
        raise WrongUsage("name the approval by its id", "the last one may be another by now: mcpctl approvals ls")
    if session and always:
        raise WrongUsage("--session and --always contradict each other", "give one of them")
    only_for_people("allow a call")
    scope = ALWAYS if always else SESSION if session else ONCE
    answered = answer(opt.paths(config, data_dir), approval, scope, "terminal")
    output.write_done(json, lambda: row(answered), answered.id)
    how = {ONCE: f"once, until {until(answered)}", SESSION: "for the session", ALWAYS: "always"}[answered.scope or ONCE]
    output.say(line_of(f"{answered.key} is allowed {how}; have it called again"))
