"""`mcpctl version`"""

from mcpctl.commands import options as opt


def version(json: opt.Json = False) -> None:
    """Print the version, like --version.

    \b
    Example:
      mcpctl version
    """
    from mcpctl import __version__, output

    output.write_done(json, lambda: {"version": __version__}, f"mcpctl {__version__}")
