"""`orphans.py FILE [KIND]`: a server with a grandchild in its process group; both pids are in FILE.

If KIND is `stubborn`, both ignore SIGTERM and go on when stdin is closed; if it is `stubborn-child`, the child alone.
If it is `timeout`, the child is started by that command; if `group` or `session`, it is stubborn and in one of its own.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(__file__.rpartition("/tests/")[0])  # Started by path, from any directory.

from mcpctl.demo.stdio_server import Json, text
from tests.servers.tool_server import Request, ToolServer

server = ToolServer("orphans")


@server.tool({"name": "pids", "description": "Both pids.", "inputSchema": {"type": "object"}})
def pids(request: Request) -> Json:
    """What the file says."""
    return text(Path(sys.argv[1]).read_text(encoding="utf-8"))


if __name__ == "__main__":
    kind = sys.argv[2] if sys.argv[2:] else ""
    stubborn = kind == "stubborn"
    if stubborn or kind in ("stubborn-child", "group", "session"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Inherited by the grandchild, through exec as well.
    grandchild = subprocess.Popen(
        [
            *(["timeout", "1000"] if kind == "timeout" else []),
            sys.executable,
            "-S",
            "-c",
            "import time; time.sleep(1000)",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0 if kind == "group" else None,
        start_new_session=kind == "session",
    )
    if not stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    beside = Path(sys.argv[1] + ".new")
    beside.write_text(f"{os.getpid()}\n{grandchild.pid}\n", encoding="utf-8")
    beside.rename(sys.argv[1])  # Whoever sees the file sees both pids.
    server.run()
    if stubborn:
        time.sleep(1000)
    grandchild.returncode = 0  # Left behind on purpose: no warning about it.
