"""Upstream servers for tests: one file each, run by path, from any directory, on the standard library alone.

They are started many hundred times: each imports what it needs for that, and more, such as pathlib, where it uses it.
"""

import sys


def command(name: str, *arguments: object) -> list[str]:
    """The command line that starts `tests/servers/{name}.py` with this interpreter."""
    from pathlib import Path

    path = Path(__file__).resolve().with_name(f"{name}.py")
    assert path.is_file(), f"there is no test server {name}"
    return [sys.executable, str(path), *map(str, arguments)]
