"""What mcpctl does, by count: `python -m tests.bench.counts [--python PYTHON] [--by-file] [--trace WAY] [--keep]`

Unlike times, counts are the same on a busy machine. They are compared with those kept in `counts.toml`, on the Python
that is named there; where one is over, the status is 1. `call`, `search` and `initialize` are the ways of warm requests
in the running `serve`: from where its event loop wakes up with one to where the answer is written, the functions of the
package that the main thread enters, their files, and the returns, which are entries from another file into one that was
left before. In memory a client and a server stand in for processes.

`--by-file` tells which files the functions are in, `--trace` shows those of one way in their order, indented below what
calls them. `--python` counts the mcpctl that another Python has installed, such as that of another checkout, and
compares nothing. `--keep` writes the numbers that are less than those kept, and with a reason those that are more.
"""

import argparse
import collections
import json
import platform
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import counters, http_counters, raw_client
from tests.bench.counters import Measured
from tests.bench.counting import Entry
from tests.bench.raw_client import Unavailable

KEPT = Path(__file__).with_suffix(".toml")
PYTHON = f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])} on {sys.platform}"
SHARES = {"all Python functions": 0.03, "system calls of": 0.03, "RSS: warm": 0.03, "RSS: after": 0.1}
"""By how names begin, the share that a number may be over the one kept."""
IN_FLIGHT, HALF = "system calls, 32 in flight", 0.5
"""How many calls are read at once differs from run to run; that each makes one system call more is still seen."""
TRIES = 3
"""How often what the system decides is measured, if need be: work of others only ever adds to it."""

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Kept:
    """A number kept, and why it was raised, if it was."""

    number: float
    raised: str = ""


@dataclass
class Counts:
    """All numbers by name, and what `--by-file` and `--trace` show."""

    numbers: dict[str, float] = field(default_factory=dict)
    ways: dict[str, list[Entry]] = field(default_factory=dict)
    files: dict[str, Numbers] = field(default_factory=dict)


def ways(measured: Measured) -> dict[str, list[Entry]]:
    """The ways that can be counted there; what is left out is told on stderr."""
    taken = counters.ways(measured)
    if counters.has_scenes(measured):
        return taken | {f"in memory, {name}": way for name, way in counters.scenes(measured).items()}
    print(f"left out: {measured.root} plays no scenes in memory", file=sys.stderr)
    return taken


def least(measure: Callable[[], Numbers], kept: Mapping[str, Kept]) -> Numbers:
    """The least of up to three measurements, the first that is not over what is kept being enough."""
    numbers = dict(measure())
    for _ in range(TRIES - 1):
        if not too_many(numbers, {**dict.fromkeys(numbers, Kept(0)), **kept}):
            break
        numbers = {name: min(number, numbers[name]) for name, number in measure().items()}
    return numbers


def counted(measured: Measured, kept: Mapping[str, Kept]) -> Counts:
    """All counters; what is left out is told on stderr."""
    counts = Counts(ways=ways(measured))
    for name, way in counts.ways.items():
        counts.numbers |= {f"{name}: {what}": number for what, number in counters.of_way(way).items()}
        counts.files[name] = collections.Counter(file for _, file, _, _ in way)
    for name, files in counters.profiled(measured).items():
        counts.files[f"all Python functions: {name}"] = files
        counts.numbers[f"all Python functions: {name}"] = round(sum(files.values()), 1)
    for name, files in http_counters.profiled(measured).items():
        counts.files[f"all Python functions: over HTTP, {name}"] = files
        counts.numbers[f"all Python functions: over HTTP, {name}"] = round(sum(files.values()), 1)
        counts.numbers[f"all Python functions, of mcpctl: over HTTP, {name}"] = round(
            http_counters.of_package(files), 1
        )
    strace = shutil.which("strace") is not None
    if strace:
        counts.numbers |= least(lambda: counters.system_calls(measured), kept)
    else:
        print("left out: the system calls, which strace counts: it is not installed", file=sys.stderr)
    counts.numbers |= least(lambda: counters.commands(measured, strace=strace), kept)
    counts.numbers |= least(lambda: counters.memory(measured), kept)
    return counts


# ---- the numbers kept


def tolerance(name: str, number: float) -> float:
    """How much may be over this kept number; nothing where counts are exact."""
    if name.startswith(IN_FLIGHT):
        return HALF
    return next((number * share for begin, share in SHARES.items() if name.startswith(begin)), 0)


def too_many(numbers: Numbers, kept: Mapping[str, Kept]) -> list[str]:
    """A sentence for each number that is over the one kept by more than it may be, or that none is kept for."""
    sentences = []
    for name, number in numbers.items():
        if name not in kept:
            sentences.append(f"{name}: {number:g}, and no number is kept for it")
        elif number > (most := kept[name].number + tolerance(name, kept[name].number)):
            allowed = f", and at most {most:.4g} allowed" if most > kept[name].number else ""
            sentences.append(f"{name}: {number:g}, where {kept[name].number:g} is kept{allowed}")
    return sentences


def anew(numbers: Numbers, kept: Mapping[str, Kept], reason: str) -> dict[str, Kept]:
    """The numbers to keep: a kept one stays where the new one differs by less than it may; one that is raised needs the
    reason.
    """
    if kept and (sentences := too_many(numbers, kept)) and not reason:
        raise Unavailable("to raise a number, give the reason: --keep REASON\n" + "\n".join(sentences))
    changed = {
        name: Kept(number, reason if name in kept and number > kept[name].number else "")
        for name, number in numbers.items()
        if name not in kept or abs(number - kept[name].number) > tolerance(name, kept[name].number)
    }
    return {**kept, **changed}


def read(file: Path) -> tuple[str, dict[str, Kept]]:
    """The Python on which the numbers were counted, and the numbers."""
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    return document["python"], {name: Kept(**members) for name, members in document["kept"].items()}


def written(kept: Mapping[str, Kept]) -> str:
    """The same as a file, one line a number."""
    lines = [
        "# Written by `python -m tests.bench.counts --keep`; CONTRIBUTING.md says when a number may be raised.",
        f"python = {json.dumps(PYTHON)}",
        "",
        "[kept]",
    ]
    for name, one in kept.items():
        reason = f", raised = {json.dumps(one.raised)}" if one.raised else ""
        lines.append(f"{json.dumps(name)} = {{ number = {one.number:g}{reason} }}")
    return "\n".join(lines) + "\n"


# ---- what is shown


def traced(way: Sequence[Entry]) -> str:
    """The functions in their order, indented below those that call them."""
    least = min(depth for *_, depth in way)
    return "\n".join(f"{'  ' * (depth - least)}{file}: {function}" for _, file, function, depth in way)


def by_file(numbers: Numbers) -> str:
    """Files and their numbers, the most first."""
    return "\n".join(f"{number:8.1f}  {file}" for file, number in sorted(numbers.items(), key=lambda one: -one[1]))


def compared(numbers: Numbers) -> int:
    """Say which numbers are over those kept; the exit status."""
    python, kept = read(KEPT)
    if python != PYTHON:
        print(f"nothing is compared: the numbers kept are of {python}, this is {PYTHON}", file=sys.stderr)
        return 0
    for name in kept.keys() - numbers.keys():
        print(f"not compared: {name} was not counted", file=sys.stderr)
    sentences = too_many(numbers, kept)
    for sentence in sentences:
        print(f"TOO MANY: {sentence}", file=sys.stderr)
    if sentences:
        print(
            "where the functions are: python -m tests.bench.counts --by-file, or --trace call; where more are needed,"
            " raise the number in the same commit: python -m tests.bench.counts --keep 'the reason'",
            file=sys.stderr,
        )
    return int(bool(sentences))


def main() -> int:
    """Count, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="a Python that has mcpctl installed (default: this one, with this checkout)")
    parser.add_argument("--by-file", action="store_true", help="which files the functions are in")
    parser.add_argument(
        "--trace", metavar="WAY", help="print the functions of one way only, such as call, in their order"
    )
    parser.add_argument(
        "--keep", metavar="REASON", nargs="?", const="", help="keep these numbers; why, if one is raised"
    )
    options = parser.parse_args()
    try:
        measured = Measured.of(options.python)
        if options.trace:
            found = ways(measured)
            if options.trace not in found:
                raise Unavailable(f"the ways are: {'; '.join(found)}")
            print(traced(found[options.trace]))
            return 0
        kept = read(KEPT)[1] if KEPT.exists() else {}
        counts = counted(measured, kept)
        rows = [
            {"counter": name, "number": number, "kept": kept[name].number if name in kept else None}
            for name, number in counts.numbers.items()
        ]
        print(raw_client.table(rows))
        for name, files in counts.files.items() if options.by_file else ():
            print(f"\n{name}\n{by_file(files)}")
        if options.keep is not None:
            KEPT.write_text(written(anew(counts.numbers, kept, options.keep)), encoding="utf-8")
            return 0
    except Unavailable as reason:
        print(f"stopped: {reason}", file=sys.stderr)
        return 1
    return 0 if options.python else compared(counts.numbers)


if __name__ == "__main__":
    sys.exit(main())
