"""`mcpctl annotate check`"""

from pathlib import Path
from typing import Annotated

import typer

from mcpctl.commands import check_options as checks
from mcpctl.commands import options as opt

Places = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PATH...]", help="Toolset files, or folders that have some.", show_default=False),
]
CatalogFile = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="FILE", help="Compare with the tools in FILE: mcpctl tools export > FILE.",
                 show_default=False),
]  # fmt: skip
Live = Annotated[bool, typer.Option("--live", help="List the tools of all servers first.")]
MaxNoteChars = Annotated[
    int, typer.Option(metavar="N", min=0, help="The most characters that one tool's notes may have.")
]


def check(
    places: Places = None,
    catalog: CatalogFile = None,
    live: Live = False,
    max_note_chars: MaxNoteChars = 2000,
    fail_on: checks.FailOn = "error",
    select: checks.Select = None,
    ignore: checks.Ignore = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: checks.Format = "text",
    rules: checks.Rules = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Check toolset files: their JSON, their names and notes, and whether their tools exist. For CI.

    Without a path it checks your own toolsets. In a folder and the folders in it, without node_modules and names that
    begin with a dot, it checks every .json file that is not clearly something else; stderr has the numbers of checked
    and skipped files. Links to folders are not followed, and a link that leads out of the repository is a finding. A
    folder without toolset files fails with exit status 2.

    Entries are compared with the tools that the servers last listed, with those of a snapshot (--catalog), or with
    those that they list now (--live). Ids of rules that find errors begin with E, of warnings with W, of information
    with I. Exit status 7 means that a finding fails the check; a file that cannot be read is a finding too.

    \b
    Examples:
      mcpctl annotate check tools/triage.json
      mcpctl annotate check tools --catalog catalog.jsonl --fail-on warning --ignore W208 --format github
      mcpctl annotate check --rules
    """
    from mcpctl.catalog.toolset_check import Asked
    from mcpctl.commands.annotate import findings
    from mcpctl.rules import selection
    from mcpctl.toolsets.check_rules import RULES

    told = selection(RULES, fail_on, select or [], ignore or [], findings.COMMAND)
    kind = checks.chosen_format(json, jsonl, format)
    if rules:
        checks.write_rules(RULES, kind)
        return
    paths = opt.paths(config, data_dir)
    options = Asked(max_note_chars, told)
    findings.check(paths, places or [], lambda: findings.known(paths, catalog, live), options, kind)
