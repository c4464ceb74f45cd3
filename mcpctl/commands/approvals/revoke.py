"""`mcpctl approvals revoke`"""

from mcpctl.commands import options as opt


def revoke(standing: opt.Standing, place: opt.JsonLocation) -> None:
    """Take back consent to more than one call. It is all of a tool's, or one by its id. Running sessions follow.

    Examples:
      mcpctl approvals revoke github:delete_repository
      mcpctl approvals revoke 7f3a91c2
    """
    from mcpctl import output
    from mcpctl.commands.confirmation import may_be_a_person
    from mcpctl.policy import answering

    rows = answering.revoke(place.paths(), standing, "terminal" if may_be_a_person() else "command")
    output.write_done(place.json, lambda: rows, *(row["id"] for row in rows))
    for row in rows:
        output.say(f"{row['key']} is asked about again")
