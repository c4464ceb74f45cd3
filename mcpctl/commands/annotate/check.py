"""`mcpctl annotate check`"""

from pathlib import Path
from typing import TYPE_CHECKING

from mcpctl.base.errors import WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.commands import check_options as checks
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.catalog.toolset_check import KnownTools

COMMAND = "mcpctl annotate check"


def check(
    places: list[str] | None = opt.argument("[PATH...]", "Toolset files, or folders that have some.", default=None),
    catalog: Path | None = opt.option("--catalog", "FILE", "Compare with FILE, made by: mcpctl tools export > FILE."),
    live: bool = opt.flag("--live", "List the tools of all servers first."),
    max_note_chars: int = opt.option(
        "--max-note-chars", "N", "Most characters of a tool's notes.", min=0, default=2000
    ),
    fail_on: str = checks.fail_on("error"),
    select: list[str] | None = checks.SELECT,
    ignore: list[str] | None = checks.IGNORE,
    *,
    report: checks.Report,
    place: opt.Location,
) -> None:
    """Check toolset files, and whether their tools exist. Their JSON, names and notes are checked, too. For CI.

    Without a path it checks your own toolsets. In a folder and the folders in it, without node_modules and names that
    begin with a dot, it checks every .json file that is not clearly something else; stderr has the numbers of checked
    and skipped files. Links to folders are not followed, and a link that leads out of the repository is a finding. A
    folder without toolset files fails with exit status 2.

    Entries are compared with the tools that the servers last listed, with those of a snapshot (--catalog), or with
    those that they list now (--live). Ids of rules that find errors begin with E, of warnings with W, of information
    with I. Exit status 7 means that a finding fails the check; a file that cannot be read is a finding too.

    Examples:
      mcpctl annotate check tools/triage.json
      mcpctl annotate check tools --catalog catalog.jsonl --fail-on warning --ignore W208 --format github
      mcpctl annotate check --rules
    """
    from mcpctl.base.models import FINDING_FIELDS
    from mcpctl.catalog import toolset_check
    from mcpctl.toolsets import files_to_check
    from mcpctl.toolsets.lint import RULES

    selected = report.selection(RULES, COMMAND, fail_on, select, ignore)
    if selected is None:
        return
    paths = place.paths()
    chosen = files_to_check.chosen(paths, places or [])
    if not chosen.candidates:
        raise WrongUsage("nothing to check: you have no toolsets", "name a file: mcpctl annotate check PATH")
    known = _known(paths, catalog, live)
    rows = toolset_check.check(paths, chosen.candidates, known, max_note_chars, selected)
    checks.write_findings(COMMAND, RULES, report.kind(), rows, FINDING_FIELDS, list(chosen.candidates))
    checks.summarize(COMMAND, rows, chosen.told)


def _known(paths: "Paths", catalog: Path | None, live: bool) -> "KnownTools":
    from mcpctl import output
    from mcpctl.catalog import toolset_check

    if catalog and live:
        raise WrongUsage("--catalog and --live contradict each other", "give one of them")
    if catalog:
        return toolset_check.snapshot(catalog)
    if live:
        from mcpctl.calling import one_shot

        with output.progress("listing tools", "servers") as on_progress:
            _, failure = one_shot.refresh(paths, [], on_progress)
        if failure:
            raise failure
    return toolset_check.cached(paths)
