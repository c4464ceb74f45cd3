"""`mcpctl approvals show`"""

from mcpctl.commands import options as opt


def show(approval: opt.ApprovalId = "last", *, shown: opt.OneThing, data: opt.DataLocation) -> None:
    """Show what a call wants to do, and why you are asked. It says how you can answer. Without an ID it is the newest.

    Examples:
      mcpctl approvals show
      mcpctl approvals show 7f3a
    """
    from mcpctl import output
    from mcpctl.output import text
    from mcpctl.policy.answering import found, row
    from mcpctl.policy.consent import hidden_words

    kept = row(found(data.paths(), approval))
    shown.write(kept, text.pairs)
    if kept["state"] == "pending":
        if remark := hidden_words(kept["hidden"], kept["left_out"]):
            output.say(remark, always=True)
        output.say(f"answer with: mcpctl approvals allow {kept['id']} (or deny)")
