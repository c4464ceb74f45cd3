"""The check of toolset files."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mcpctl import output
from mcpctl.catalog import checked_files, toolset_check
from mcpctl.catalog.toolset_check import Asked, Known
from mcpctl.commands import check_options
from mcpctl.errors import WrongUsage
from mcpctl.models import FINDING_FIELDS
from mcpctl.paths import Paths
from mcpctl.toolsets.check_rules import RULES

COMMAND = "mcpctl annotate check"


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


def check(paths: Paths, places: Sequence[str], known: Callable[[], Known], options: Asked, format: str) -> None:
    """Check files and print the findings; raises `Problems` if a finding fails the check."""
    selection = checked_files.chosen(paths, places)
    if not selection.candidates:
        raise WrongUsage("nothing to check: you have no toolsets", "name a file: mcpctl annotate check PATH")
    rows = toolset_check.check(paths, selection.candidates, known(), options)
    check_options.write_findings(COMMAND, RULES, format, rows, FINDING_FIELDS, list(selection.candidates))
    check_options.summarize(COMMAND, rows, selection.told)
