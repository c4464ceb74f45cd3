"""What ending takes: `python -m tests.bench.ending [--servers N] [--runs N]`

From the end of stdin until `serve` has ended and nothing that its servers started is left; promised are 1.8 s. `plain`
servers end when their stdin does; `stubborn` ones, and what they started, ignore that and SIGTERM.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import psutil

from tests.bench.raw_client import median
from tests.proxy.client import SERVE, Client, living, until, write_config
from tests.servers import command


def ended(servers: int, kind: str) -> float:
    """Seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / f"s{number}" for number in range(servers)]
        write_config(folder / "home", {file.name: command("orphans", file, kind) for file in files})
        client = Client(SERVE, folder / "stderr", env={"MCPCTL_HOME": str(folder / "home")})
        client.open()
        for file in files:
            client.call(f"{file.name}:pids")
        processes = [psutil.Process(int(pid)) for file in files for pid in file.read_text().split()]
        began = time.perf_counter()
        client.end_input()
        client.wait(30)
        until("the last process to end", lambda: not living(processes))
        took = time.perf_counter() - began
        client.close()
        return took


def main() -> None:
    """Print the median and the worst of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=12)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    print(f"{asked.servers} servers, load {os.getloadavg()[0]:.1f}")
    for kind in ("plain", "stubborn"):
        took = [ended(asked.servers, kind) for _ in range(asked.runs)]
        print(f"{kind:10} median {median(took):.2f} s, worst {max(took):.2f} s")


if __name__ == "__main__":
    main()
