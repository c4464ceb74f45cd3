"""`mcpctl version`"""


def version() -> None:
    """Print the version, as --version does.

    \b
    Example:
      mcpctl version
    """
    from mcpctl import __version__, output

    output.write_text(f"mcpctl {__version__}")
