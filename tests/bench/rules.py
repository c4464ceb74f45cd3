"""What a policy costs a call: `python -m tests.bench.rules [--rounds N] [--rules N] [--tools N] [--json]`

Two `mcpctl serve` in front of equal servers, one without a policy and one with rules that all have to be looked at, in
turns of one run. Compare the columns with each other; times are this machine's.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.conftest import MCPCTL
from tests.proxy.client import Client, write_config
from tests.servers import command

BLOCK = 300
KEY = "pages:tool_7"


def policy(rules: int) -> dict[str, Any]:
    """Rules of which none matches the tool that is called, but the last."""
    others = [f"server{number}:*_{number}" for number in range(rules - 1)]
    half = len(others) // 2
    return {
        "deny": others[:half], "ask": others[half:], "allow": ["pages:tool_*"], "default": "deny",
        "confirm_destructive": False,
    }  # fmt: skip


def started(home: Path, tools: int, **sections: Any) -> Client:
    """A client of a `serve` whose server has listed its tools."""
    write_config(home, {"pages": command("pages", str(tools))}, **sections)
    client = Client([*MCPCTL, "serve"], home / "stderr.txt", env={"MCPCTL_HOME": str(home)})
    client.open()
    client.call(KEY)
    client.ask("tools/call", {"name": "tool_discovery", "arguments": {"query": ["tool number 7"]}})
    return client


def block(client: Client) -> list[float]:
    """The seconds that each of some calls took, one after the other."""
    times = []
    for _ in range(BLOCK):
        start = time.perf_counter()
        client.call(KEY)
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--tools", type=int, default=5000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = {name: Path(folder) / name for name in ("off", "on")}
        for home in homes.values():
            home.mkdir()
        clients = {
            "off": started(homes["off"], options.tools),
            "on": started(homes["on"], options.tools, policy=policy(options.rules)),
        }
        ratios, times = [], {name: list[float]() for name in clients}
        for number in range(options.rounds):
            order = list(clients) if number % 2 else list(reversed(clients))
            medians = {}
            for name in order:
                seconds = block(clients[name])
                medians[name] = statistics.median(seconds)
                times[name] += seconds
            ratios.append(medians["on"] / medians["off"])
        for client in clients.values():
            client.close()
    p50 = {name: round(statistics.median(seconds) * 1e6, 1) for name, seconds in times.items()}
    ratio = statistics.median(ratios)
    if options.json:
        print(json.dumps({"p50_us": p50, "ratio": ratio, "ratios": ratios}))
        return
    print(f"p50 of a call: {p50['off']} us without a policy, {p50['on']} us with {options.rules} rules")
    print(f"ratio {ratio:.3f} (median of {options.rounds} rounds, from {min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
