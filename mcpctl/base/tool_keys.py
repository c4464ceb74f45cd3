"""Tool keys: `server:tool`, split in one place, and how their names are compared."""

import re
import unicodedata
from functools import lru_cache

_PLAIN = re.compile(r"(?:[A-Za-z0-9_-]{1,64}|@mcpctl)(?::[A-Za-z0-9_./-]{1,128})?")
"""Server names are ours; tool names have this form by the specification (2025-11-25, Tool Names)."""

OWN, READ_TOOL = "@mcpctl", "read"  # our own tool, which reads more of an answer; no server can have such a name


def split(key: str) -> tuple[str, str]:
    """The server and tool of a key, split at the first `:`; the tool is empty where there is none."""
    server, _, tool = key.partition(":")
    return server, tool


def split_typed(key: str) -> tuple[str, str]:
    """The server and tool of a name that a person types: `server:tool` or `server.tool`."""
    if ":" in key:
        return split(key)
    server, _, tool = key.partition(".")
    return server, tool


def join(server: str, tool: str) -> str:
    return f"{server}:{tool}" if tool else server


def is_plain(key: str) -> bool:
    """Whether a key has a name of the protocol's grammar, which cannot say anything in a sentence of ours."""
    return _PLAIN.fullmatch(key) is not None


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """A name as refusals compare it: servers trim and fold names, so one that looks different may run the same tool."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", visible.casefold()).strip()
