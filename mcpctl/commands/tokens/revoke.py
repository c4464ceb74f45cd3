"""`mcpctl tokens revoke`"""

from mcpctl.commands import options as opt


def revoke(ids: opt.TokenIds, json: bool = opt.JSON, *, data: opt.DataLocation) -> None:
    """Revoke tokens. They are invalid from the next request of a running serve on.

    Examples:
      mcpctl tokens revoke 3f9c21a0
      mcpctl tokens revoke ann
    """
    from mcpctl import output
    from mcpctl.policy import tokens
    from mcpctl.policy.policy_file import PolicyFile

    with PolicyFile.connect(data.paths()) as file:
        revoked = tokens.revoke(file, ids)
        rows = [token.row(token.created) for token in tokens.every(file) if token.id in revoked]
    output.write_done(json, lambda: rows, *dict.fromkeys(ids))
