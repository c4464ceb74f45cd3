"""JMESPath on JSON, in a process of its own, since what a model writes may take for ever or need all memory."""

import contextlib
import importlib.util
import sys
from pathlib import Path

import msgspec

from mcpctl.base import bounds

_SCRIPT = Path(__file__).with_name("path_process.py")
_WAIT_S = 5.0
"""Its CPU is bounded; this is for a machine that gives it none."""
_LONGEST_REASON = 300


class PathFailed(ValueError):
    """Why a path gives nothing, for whoever wrote it."""


def apply(expression: str, value: bytes) -> bytes:
    """The selection of a path in a JSON value, as JSON; of a string the string itself, in UTF-8. Blocks; for a thread.
    Raises `PathFailed`, also where it takes more time or memory than `bounds` has, or gives more than that."""
    import subprocess  # commands that only read records need no processes

    if len(expression) > bounds.PATH:
        raise PathFailed(f"it has more than {bounds.PATH:,} characters")
    if len(value) > bounds.ANSWER_JSON:
        limit = bounds.ANSWER_JSON >> 20
        raise PathFailed(f"it is for at most {limit} MB, and these are {len(value):,} bytes; use offset and grep")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(_SCRIPT), _packages(), str(bounds.PATH_S), str(bounds.PATH_MEMORY),
         str(bounds.ANSWER_JSON)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd="/",
        start_new_session=True,
    )  # fmt: skip
    with process:
        try:
            output, _ = process.communicate(msgspec.json.encode(expression) + b"\n" + value, _WAIT_S)
        except subprocess.TimeoutExpired:
            raise PathFailed(_TOO_MUCH) from None
        finally:
            with contextlib.suppress(OSError):
                process.kill()
    if process.returncode == 0:
        return output
    raise PathFailed(output.decode("utf-8", "replace")[:_LONGEST_REASON] if process.returncode == 1 else _TOO_MUCH)


_TOO_MUCH = f"it takes more than {bounds.PATH_S} s or {bounds.PATH_MEMORY >> 20} MB; ask for less at once"


def _packages() -> str:
    """The folder of the package jmespath, which is not imported here."""
    found = importlib.util.find_spec("jmespath")
    if found is None or found.origin is None:
        raise PathFailed("the package jmespath is not installed")
    return str(Path(found.origin).parents[1])
