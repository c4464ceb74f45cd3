"""The token of the process itself: from a file that is named, or from the environment."""

import os
from pathlib import Path

from mcpctl.base import files
from mcpctl.base.errors import Unusable
from mcpctl.config import exposure
from mcpctl.config.settings import TOKEN
from mcpctl.policy.tokens import LONGEST

_MAX_FILE = 4096


def own_token(file: Path | None = None) -> str | None:
    """The token in `file`, else in MCPCTL_TOKEN, None where neither has one; it may be any text.

    Raises `McpctlError` for a file that cannot be read or has no token. Warns about one that others can read.
    """
    if file is None:
        return os.environ.get(TOKEN) or None
    text = files.read(file, _MAX_FILE, "token_file").decode("utf-8", "replace").strip()
    if not text or len(text) > LONGEST or len(text.split()) > 1:
        raise Unusable(f"{file} has no token", "put the line there that mcpctl tokens create prints", "token_file")
    exposure.guard_secret(file)
    return text
