"""`mcpctl approvals deny`"""

from mcpctl.commands import options as opt


def deny(
    approval: opt.ApprovalId,
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Say no to a call that waits for your consent. For ten minutes the same call is refused without asking again.

    Of a call that was allowed with --session or --always, or that has not been made yet, it takes that back.

    \b
    Examples:
      mcpctl approvals deny 7f3a
    """
    from mcpctl import output
    from mcpctl.output.text import line_of
    from mcpctl.policy.answering import answer, row

    answered = answer(opt.paths(config, data_dir), approval, None, "terminal")
    output.write_done(json, lambda: row(answered), answered.id)
    output.say(line_of(f"{answered.key} is refused"))
