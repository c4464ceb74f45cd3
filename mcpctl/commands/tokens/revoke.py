"""`mcpctl tokens revoke`"""

from typing import Annotated

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Ids = Annotated[list[str], opt.argument("ID...", "The tokens' ids.", complete.tokens)]


def revoke(ids: Ids, json: opt.Json = False, data_dir: opt.DataDir = None) -> None:
    """Have tokens stop being valid, from the next request of a running serve on.

    \b
    Example:
      mcpctl tokens revoke 3f9c21a0
    """
    from mcpctl import output
    from mcpctl.policy import tokens
    from mcpctl.policy.policy_file import PolicyFile

    with PolicyFile.connect(opt.paths(None, data_dir)) as file:
        tokens.revoke(file, ids)
        rows = [token.row(token.created) for token in tokens.every(file) if token.id in ids]
    output.write_done(json, lambda: rows, *dict.fromkeys(ids))
