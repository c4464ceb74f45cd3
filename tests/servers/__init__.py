"""Upstream servers for tests: one file each, run by path, from any directory, on the standard library alone."""

import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent


def command(name: str, *arguments: object) -> list[str]:
    """The command line that starts `tests/servers/{name}.py` with this interpreter."""
    path = _FOLDER / f"{name}.py"
    assert path.is_file(), f"there is no test server {name}"
    return [sys.executable, str(path), *map(str, arguments)]
