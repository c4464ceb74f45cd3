"""Packages that not every installation has: how an extra gets into the one that runs this."""

import shlex
import sys


def install(extra: str) -> str:
    """The command for it."""
    python = sys.executable
    if "/uv/tools/" in python:
        return f"uv tool install 'mcpctl[{extra}]'"
    if "/pipx/venvs/" in python:
        return f"pipx install --force 'mcpctl[{extra}]'"
    return f"{shlex.quote(python)} -m pip install 'mcpctl[{extra}]'"
