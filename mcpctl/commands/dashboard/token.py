"""`mcpctl dashboard token`"""

from mcpctl.commands import options as opt


def token(json: bool = opt.JSON, *, data: opt.DataLocation) -> None:
    """Print the bearer token of the running dashboard. Scripts read with it.

    It is for the header Authorization of requests to /api/v1, lasts as long as the dashboard, and answers no approval.
    With --json it comes with the address.

    Examples:
      mcpctl dashboard token
      mcpctl dashboard token --json
    """
    from mcpctl import output
    from mcpctl.commands.dashboard.dashboard import the_running

    here = the_running(data.paths())
    if json:
        output.write_row({"token": here.token, "url": here.url, "port": here.port}, json, lambda: iter(()))
    else:
        output.write_text(here.token)
