"""What a search costs, and what it finds: `python -m tests.bench.search [--tools N]… [--json]`, or with `--probes` or
`--data DIR…`, and `--model DIR`

Cost: the time to build an index of N tools made up for it, what it adds to the memory, and the time of a query, each in
a process of its own, beside rank_bm25 as it comes. Times are this machine's.

Quality: of the probes, or of each folder with a catalog.jsonl and a queries.jsonl (as `mcpctl tools eval` reads them),
beside other rankings on the same queries, with the paired bootstrap interval of the difference to this one; the share
of requests called weak; what one slip of the keyboard costs; and what learning from 100 searches brings to others. With
--model DIR the semantic provider over that model is measured too.
"""

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from mcpctl.base.models import Tool, unseen
from mcpctl.base.paths import Paths
from mcpctl.config.config import Config
from mcpctl.config.settings import Search
from mcpctl.search.providers import build, builder
from mcpctl.search.ranking import Provider
from tests.bench import raw_client, search_quality
from tests.bench.rivals import RIVALS, Stock

SIZES = (500, 5_000, 50_000)
QUERIES = 300
OURS = "mcpctl"
BUILDERS: dict[str, Callable[[Sequence[Tool]], Provider]] = {OURS: build, **RIVALS}


def words(count: int, seed: int) -> list[str]:
    """Words that nobody speaks, the same at every run."""
    chance = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    return ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(count)]


def catalog(size: int) -> list[Tool]:
    """Tools of about the size of real ones, a few words in most of them and most words in a few."""
    chance = random.Random(1)
    # The commonest are words that people speak: what a ranking knows of words costs it something too.
    spoken = Counter(word for tool in search_quality.probes()[0].tools for word in tool.description.lower().split())
    common, verbs = [*(word for word, _ in spoken.most_common()), *words(2_000 + size // 2, 2)], words(40, 3)
    # As in languages: the n-th word is n times rarer than the first (Zipf).
    cumulated = list(itertools.accumulate(1 / (n + 3) for n in range(len(common))))
    told = iter(chance.choices(common, cum_weights=cumulated, k=60 * size))
    return [_tool(number, chance.choice(verbs), told) for number in range(size)]


def _tool(number: int, verb: str, told: Iterator[str]) -> Tool:
    def text(count: int) -> str:
        return " ".join(next(told) for _ in range(count))

    parameters = {next(told): {"type": "string", "description": text(6)} for _ in range(3)}
    name = f"{verb}_{next(told)}_{next(told)}"
    description = f"{text(9).capitalize()}. {text(20).capitalize()}."
    definition = {"name": name, "description": description, "inputSchema": {"properties": parameters}}
    return Tool(f"server{number // 20}", name, definition, "")


def asked(tools: Sequence[Tool]) -> list[str]:
    """Queries of 3 to 12 words out of what tools say of themselves."""
    chance = random.Random(4)
    return [
        " ".join([*chance.sample(tool.description.split(), chance.randint(2, 11)), tool.name.split("_")[1]])
        for tool in chance.choices(tools, k=QUERIES)
    ]


def cost(engine: str, size: int) -> dict[str, object]:
    """Build once, ask every query once for warmth and once for the clock."""
    tools = catalog(size)
    queries = asked(tools)
    process = psutil.Process()
    before = process.memory_info().rss
    started = time.perf_counter()
    provider = BUILDERS[engine](tools)
    built = time.perf_counter() - started
    memory = process.memory_info().rss - before
    # rank_bm25 walks all documents for every word: fewer queries tell as much.
    queries = queries[: max(20, 1_000_000 // size)] if engine == Stock.name else queries
    taken = [_seconds(provider, query) for _ in range(2) for query in queries][len(queries) :]
    return {
        "tools": size,
        "engine": engine,
        "build_ms": built * 1000,
        "memory_mb": memory / 1e6,
        "p50_ms": raw_client.median(taken) * 1000,
        "p95_ms": raw_client.percentile(taken, 0.95) * 1000,
    }


def _seconds(provider: Provider, query: str) -> float:
    started = time.perf_counter()
    provider.search([query])
    return time.perf_counter() - started


def costs(sizes: Sequence[int]) -> Iterator[dict[str, object]]:
    """The cost of each engine at each size, each in a process of its own."""
    for size in sizes:
        for engine in (OURS, Stock.name):
            command = [sys.executable, "-m", __spec__.name, "--cost", engine, "--tools", str(size)]
            yield json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def semantic(model: Path, folder: Path) -> Callable[[Sequence[Tool]], Provider]:
    """What makes the semantic provider over a model, its vectors kept in a folder."""
    config = Config(
        folder / "config.toml", search=Search(optimization="semantic", semantic_model=str(model.absolute()))
    )
    return lambda tools: builder(config, Paths(config.path, folder), on_progress=unseen)(tools, None, None)


def quality(folders: Sequence[Path], ours: search_quality.Builders) -> dict[str, list[search_quality.Row]]:
    """What is found, called weak, lost by slips and learnt from use, of the probes without folders; the other rankings
    call nothing weak."""
    sets = search_quality.development(folders) if folders else search_quality.probes()
    whole = [] if folders else [search_quality.foreign(), search_quality.answered(sets)]
    return {
        "found": list(search_quality.found(sets, {**ours, **RIVALS})),
        "weak": list(search_quality.called_weak([*whole, *sets], ours)),
        "slips": list(search_quality.slips(sets, ours)),
        "learnt": list(search_quality.learnt(sets, ours)),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, action="append", help="catalog sizes instead of 500, 5000 and 50000")
    quality_of = parser.add_mutually_exclusive_group()
    quality_of.add_argument(
        "--data", type=Path, nargs="+", action="extend", default=[], help="folders with a set; no costs then"
    )
    quality_of.add_argument("--probes", action="store_true", help="the probes of this repository; no costs then")
    parser.add_argument("--model", type=Path, metavar="DIR", help="a sentence-embedding model to measure too")
    parser.add_argument("--cost", choices=BUILDERS, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="JSON instead of tables")
    options = parser.parse_args()
    if options.cost:
        print(json.dumps(cost(options.cost, options.tools[0])))
        return 0
    if not options.data and not options.probes:
        rows = list(costs(options.tools or SIZES))
        print(json.dumps(rows, indent=2) if options.json else raw_client.table(rows))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        ours = {OURS: build, **({"semantic": semantic(options.model, Path(folder))} if options.model else {})}
        tables = quality(options.data, ours)
    print(json.dumps(tables, indent=2) if options.json else "\n\n".join(map(raw_client.table, tables.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
