"""`mcpctl approvals show`"""

from mcpctl.commands import options as opt


def show(
    approval: opt.ApprovalId = "last",
    fields: opt.Fields = None,
    json: opt.Json = False,
    data_dir: opt.DataDir = None,
) -> None:
    """Show what a call wants to do, why you are asked, and how you can answer. Without an ID it is the newest.

    \b
    Examples:
      mcpctl approvals show
      mcpctl approvals show 7f3a
    """
    from mcpctl import output
    from mcpctl.output import text
    from mcpctl.policy.answering import found, row
    from mcpctl.policy.consent import hidden_words

    shown = row(found(opt.paths(None, data_dir), approval))
    output.write_row(shown, json, lambda: text.pairs(shown), fields)
    if shown["state"] == "pending":
        if said := hidden_words(shown["hidden"], shown["left_out"]):
            output.say(said, always=True)
        output.say(f"answer with: mcpctl approvals allow {shown['id']} (or deny)")
