"""How toolset files are checked, and what is found is told."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from mcpctl import __version__, output
from mcpctl.catalog import checked_files, toolset_check
from mcpctl.catalog.toolset_check import Asked, Known
from mcpctl.errors import Problems, WrongUsage
from mcpctl.models import FINDING_FIELDS, Found, Row
from mcpctl.output import Columns, ListOptions
from mcpctl.output import findings as formats
from mcpctl.paths import Paths
from mcpctl.toolsets.check_rules import FIELDS

_FOUND = Columns(fields=FINDING_FIELDS, shown=FINDING_FIELDS, noun="findings")
_RULES = Columns(fields=FIELDS, shown=FIELDS, cut=frozenset(("why", "fix")), noun="rules")


def asked(max_note_chars: int, fail_on: str, select: Sequence[str], ignore: Sequence[str]) -> Asked:
    """The options of a check; raises `WrongUsage` for what there is not."""
    if fail_on not in toolset_check.FAIL_ON:
        raise WrongUsage(f"--fail-on has no value '{fail_on}'", f"values: {', '.join(toolset_check.FAIL_ON)}")
    return Asked(max_note_chars, fail_on, toolset_check.prefixes(select), toolset_check.prefixes(ignore))


def kind(json: bool, jsonl: bool, format: str) -> str:
    """The one format that was asked for."""
    given = ["json"] * json + ["jsonl"] * jsonl + [format] * (format != "text")
    if len(given) > 1:
        raise WrongUsage("give one of --json, --jsonl and --format", "leave the others out")
    if format not in formats.FORMATS:
        raise WrongUsage(f"unknown format '{format}'", f"formats: {', '.join(formats.FORMATS)}")
    return given[0] if given else "text"


def write_rules(kind: str) -> None:
    """Print every rule: what it finds, why, and what mends it."""
    output.write_list(toolset_check.rules(), _RULES, ListOptions(kind if kind in ("json", "jsonl") else "auto"))


def known(paths: Paths, catalog: Path | None, live: bool) -> Known:
    """The tools that entries are compared with."""
    if catalog and live:
        raise WrongUsage("--catalog and --live contradict each other", "give one of them")
    if catalog:
        return toolset_check.snapshot(catalog)
    if live:
        from mcpctl.proxy import one_shot

        with output.progress("listing tools", "servers") as on_progress:
            _, failure = one_shot.refresh(paths, [], on_progress)
        if failure:
            raise failure
    return toolset_check.cached(paths)


def check(paths: Paths, places: Sequence[str], known: Callable[[], Known], asked: Asked, kind: str) -> None:
    """Check files and print what is found; raises `Problems` when any of it counts."""
    chosen = checked_files.chosen(paths, places)
    if not chosen.candidates:
        raise WrongUsage("nothing to check: you have no toolsets", "name a file: mcpctl annotate check PATH")
    found = toolset_check.check(paths, chosen.candidates, known(), asked)
    if kind in ("json", "jsonl"):
        output.write_list(Found.of(found), _FOUND, ListOptions(kind))
    else:
        rules = list(toolset_check.rules().rows(None, 0))
        output.write_lines(formats.lines(kind, found, list(chosen.candidates), rules, __version__))
    _end(found, chosen.told)


def _end(found: Sequence[Row], files: str) -> None:
    counted = Counter(row["severity"] for row in found)
    told = ", ".join(f"{number} {name}{'s' * (number > 1 and name != 'info')}" for name, number in counted.items())
    told = f"{told or 'nothing found'} in {files}"
    if any(row["counts"] for row in found):
        raise Problems(told, "what each rule means: mcpctl annotate check --rules")
    output.say(told, always=True)
