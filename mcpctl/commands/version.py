"""`mcpctl version`"""


def version() -> None:
    """Print the version, like --version.

    \b
    Example:
      mcpctl version
    """
    from mcpctl import __version__, output

    output.write_text(f"mcpctl {__version__}")
