"""`mcpctl tokens ls`"""

from mcpctl.commands import options as opt


def ls(listing: opt.Listing, data: opt.DataLocation) -> None:
    """List the tokens, the oldest first. Each says what it is for, and whether it is valid.

    Examples:
      mcpctl tokens ls
      mcpctl tokens ls --json | jq -r '.[] | select(.state == "valid") | .id'
    """
    import time

    from mcpctl import output
    from mcpctl.base.models import Found
    from mcpctl.commands.columns import TOKENS
    from mcpctl.policy import tokens
    from mcpctl.policy.policy_file import PolicyFile

    options = listing.chosen()
    paths = data.paths()
    kept: tuple[tokens.Token, ...] = ()
    if PolicyFile.is_made(paths):
        with PolicyFile.connect(paths) as file:
            kept = tokens.every(file)
    now = time.time()
    output.write_list(Found.of([token.row(now) for token in kept]), TOKENS, options)
