"""`mcpctl tokens ls`"""

from mcpctl.commands import options as opt


def ls(
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    data_dir: opt.DataDir = None,
) -> None:
    """List the tokens that were made, the oldest first: what each is for, and whether it is valid.

    \b
    Examples:
      mcpctl tokens ls
      mcpctl tokens ls --json | jq -r '.[] | select(.state == "valid") | .id'
    """
    import time

    from mcpctl import output
    from mcpctl.commands.tokens.columns import COLUMNS
    from mcpctl.models import Found
    from mcpctl.store import tokens
    from mcpctl.store.policy_file import PolicyFile

    options = output.listing(json, jsonl, format, fields, limit, offset, count)
    paths = opt.paths(None, data_dir)
    kept: tuple[tokens.Token, ...] = ()
    if PolicyFile.is_made(paths):
        with PolicyFile.connect(paths) as file:
            kept = tokens.every(file)
    now = time.time()
    output.write_list(Found.of([token.row(now) for token in kept]), COLUMNS, options)
