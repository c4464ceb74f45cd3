"""The check of toolset files, and the printing of its findings."""

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


def options(max_note_chars: int, fail_on: str, select: Sequence[str], ignore: Sequence[str]) -> Asked:
    """The options of a check; raises `WrongUsage` for an unknown severity or rule."""
    if fail_on not in toolset_check.FAIL_ON:
        raise WrongUsage(f"--fail-on has no value '{fail_on}'", f"values: {', '.join(toolset_check.FAIL_ON)}")
    return Asked(max_note_chars, fail_on, toolset_check.prefixes(select), toolset_check.prefixes(ignore))


def kind(json: bool, jsonl: bool, format: str) -> str:
    """The one format that the options ask for."""
    kinds = ["json"] * json + ["jsonl"] * jsonl + [format] * (format != "text")
    if len(kinds) > 1:
        raise WrongUsage("give one of --json, --jsonl and --format", "leave the others out")
    if format not in formats.FORMATS:
        raise WrongUsage(f"unknown format '{format}'", f"formats: {', '.join(formats.FORMATS)}")
    return kinds[0] if kinds else "text"


def write_rules(kind: str) -> None:
    """Print every rule with its reason and its fix."""
    output.write_list(toolset_check.rules(), _RULES, ListOptions(kind if kind in ("json", "jsonl") else "auto"))


def known(paths: Paths, catalog: Path | None, live: bool) -> Known:
    """The tools with which entries are compared."""
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


def check(paths: Paths, places: Sequence[str], known: Callable[[], Known], options: Asked, kind: str) -> None:
    """Check files and print the findings; raises `Problems` if a finding fails the check."""
    selection = checked_files.chosen(paths, places)
    if not selection.candidates:
        raise WrongUsage("nothing to check: you have no toolsets", "name a file: mcpctl annotate check PATH")
    rows = toolset_check.check(paths, selection.candidates, known(), options)
    if kind in ("json", "jsonl"):
        output.write_list(Found.of(rows), _FOUND, ListOptions(kind))
    else:
        rules = list(toolset_check.rules().rows(None, 0))
        output.write_lines(formats.lines(kind, rows, list(selection.candidates), rules, __version__))
    _summarize(rows, selection.told)


def _summarize(rows: Sequence[Row], files: str) -> None:
    numbers = Counter(row["severity"] for row in rows)
    summary = ", ".join(f"{number} {name}{'s' * (number > 1 and name != 'info')}" for name, number in numbers.items())
    summary = f"{summary or 'nothing found'} in {files}"
    if any(row["counts"] for row in rows):
        raise Problems(summary, "what each rule means: mcpctl annotate check --rules")
    output.say(summary, always=True)
