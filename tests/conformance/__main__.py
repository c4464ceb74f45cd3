"""The official conformance suite against a server behind mcpctl: `python -m tests.conformance`

Runs `@modelcontextprotocol/conformance` against the server itself and against the server behind `mcpctl serve`, for
each requirement set, and compares check by check. Whatever passes directly has to pass through mcpctl, but for the
exceptions in `tests/conformance/exceptions.toml`. With `--other-era` the server behind mcpctl speaks only the era that
the set's clients do not, so that everything has to be translated. With `--direct` the server's tools are called as
`mcpctl serve --direct all` shows them, in place of the two tools of mcpctl. With `--http` the suite speaks to
`mcpctl serve --http` itself, with tools that are shown directly, and nothing stands between.

Exit status: 0 it passes, 1 it does not, 2 the suite cannot be run.
The first run installs Node and the suite into the cache folder; `results/` in it has all that was said.
"""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests import scratch
from tests.conformance import compare

ROOT = Path(__file__).resolve().parents[2]
SETS = {"2025-11-25": "modern", "2026-07-28": "legacy"}
"""The requirement sets, and the protocol era that their clients do not speak."""
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NAME = "conformance"
"""Of the server behind mcpctl."""
HTTP_NAME = "test"
"""Its name where nobody stands between: mcpctl has it in front of the names of prompts, which then are the suite's."""
SERVER = [sys.executable, "-m", "tests.conformance.server"]
BRIDGE = [sys.executable, "-m", "tests.conformance.bridge"]
HTTP = Path(__file__).with_name("exceptions_http.toml")
LIMIT_S = 900
START_S = 20


class CannotRun(Exception):
    """The suite could not be run; says why."""


def installed(cache: Path) -> list[str]:
    """The command of the suite, installed if need be."""
    program, modules = scratch.npm(cache, "suite", SUITE)
    return [str(program), str(modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


def patient(folder: Path) -> str:
    """The PYTHONPATH with which mcpctl waits for the server's era, however long the server takes to start."""
    change = f"from mcpctl.upstreams import transports\ntransports._PROBE_S = {LIMIT_S}\n"
    (folder / "sitecustomize.py").write_text(change, encoding="utf-8")
    return f"{folder}{os.pathsep}{ROOT}"


@contextlib.contextmanager
def served(results: Path, behind: Sequence[str]) -> Iterator[str]:
    """The URL of `mcpctl serve --http` with the server that `behind` starts, and shows directly."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MCPCTL_")}
    env |= {"PYTHONPATH": patient(results), "MCPCTL_HOME": str(results / "home")}
    mcpctl = [sys.executable, "-m", "mcpctl"]
    subprocess.run(
        [*mcpctl, "servers", "add", HTTP_NAME, "--", *behind, "short"], env=env, check=True, stdout=subprocess.DEVNULL
    )
    with (results / "home" / "config.toml").open("a") as file:
        file.write("\n[http]\nrequire_token = false\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (results / "mcpctl.txt").open("w") as words:
        command = [*mcpctl, "serve", "--direct", "all", "--http", str(port)]
        process = subprocess.Popen(command, env=env, cwd=ROOT, stderr=words)
        try:
            deadline = time.monotonic() + START_S
            while "serving on" not in (results / "mcpctl.txt").read_text():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise CannotRun(f"mcpctl did not start: see {results}/mcpctl.txt")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(60)


@contextlib.contextmanager
def bridged(results: Path, behind: Sequence[str], direct: bool) -> Iterator[str]:
    """The URL of the server itself, or of mcpctl with the server that `behind` starts, and shows `direct` or not."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MCPCTL_")}
    env["PYTHONPATH"] = patient(results)
    command = [*BRIDGE, "--trace", str(results / "trace.txt")]
    if behind:
        env["MCPCTL_HOME"] = str(results / "home")
        add = ["servers", "add", NAME, "--", *behind]
        subprocess.run([sys.executable, "-m", "mcpctl", *add], env=env, check=True, stdout=subprocess.DEVNULL)
        listed = ["--direct"] if direct else [word for name in tool_names() for word in ("--listed", name)]
        options = ["--direct", "all"] if direct else []
        command += ["--behind", NAME, *listed, "--", sys.executable, "-m", "mcpctl", "serve", *options]
    else:
        command += ["--", *SERVER]
    with (results / "bridge.txt").open("w") as words:
        bridge = subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=words, text=True)
        assert bridge.stdout
        try:
            url = bridge.stdout.readline().strip()
            if not url:
                raise CannotRun(f"the bridge did not start: see {results}/bridge.txt")
            yield url
        finally:
            bridge.terminate()
            bridge.stdout.close()
            bridge.wait(20)


def tool_names() -> Sequence[str]:
    """What `tools/list` has to show."""
    from tests.conformance.server import TOOLS

    return list(TOOLS)


def run(
    suite: Sequence[str],
    what: Sequence[str],
    results: Path,
    behind: Sequence[str] = (),
    direct: bool = False,
    http: bool = False,
) -> compare.Outcomes:
    """One run of the suite, what it found."""
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    started = time.monotonic()
    place = served(results, behind) if http and behind else bridged(results, behind, direct)
    with place as url, (results / "suite.txt").open("w") as words:
        command = [*suite, "server", "--url", url, *what, "--output-dir", str(results / "checks")]
        try:
            subprocess.run(command, stdout=words, stderr=subprocess.STDOUT, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise CannotRun(f"the suite took longer than {LIMIT_S} s: see {results}") from None
    found = compare.outcomes(results / "checks")
    if not found:
        raise CannotRun(f"the suite checked nothing: see {results}/suite.txt")
    how = "through mcpctl" if behind else "directly"
    print(f"{' '.join(what)} {how}: {len(found)} checks in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return found


def main() -> int:
    """Run, compare, tell."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", dest="sets", action="append", choices=SETS, help="only this requirement set")
    parser.add_argument("--scenario", help="only this scenario, at the revision of each set")
    parser.add_argument("--other-era", action="store_true", help="everything translated between the eras")
    parser.add_argument("--direct", action="store_true", help="the tools as `mcpctl serve --direct all` shows them")
    parser.add_argument("--http", action="store_true", help="straight over HTTP, as `serve --http --direct all` serves")
    parser.add_argument("--cache", type=Path, default=scratch.CACHE / "conformance", help="default: %(default)s")
    options = parser.parse_args()
    allowed = compare.exceptions() + (compare.exceptions(HTTP) if options.http else [])
    found: dict[str, list[compare.Difference]] = {}
    try:
        suite = installed(options.cache)
        for name in options.sets or SETS:
            wanted = ["--scenario", options.scenario, "--spec-version", name]
            what = wanted if options.scenario else ["--requirements", name]
            era = [SETS[name]] if options.other_era else []
            title = " ".join([name, *era, *(["direct"] if options.direct or options.http else [])])
            results = options.cache / "results"
            direct = run(suite, what, results / f"{name}-direct")
            through = run(suite, what, results / f"{name}-mcpctl", [*SERVER, *era], options.direct, options.http)
            found[title] = compare.differences(direct, through, allowed, title)
            print(f"{title}\n\n{compare.table(direct, through, found[title])}\n", flush=True)
    except (CannotRun, scratch.CannotInstall, subprocess.CalledProcessError) as reason:
        print(f"stopped: {reason}", file=sys.stderr)
        return 2
    if not options.scenario:
        for entry in compare.unneeded(allowed, found):
            print(f"this exception is not needed any more: {entry.reason}", file=sys.stderr)
    failed = [line for those in found.values() for line in compare.failures(those)]
    print("\n".join(failed) or "All that passes directly passes through mcpctl, but for the exceptions.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
