"""`mcpctl annotate check`"""

from pathlib import Path
from typing import Annotated

import typer

from mcpctl.commands import options as opt

Places = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PATH...]", help="Toolset files, and folders with some.", show_default=False),
]
CatalogFile = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="FILE", help="Compare with the tools that FILE has: mcpctl tools export > FILE.",
                 show_default=False),
]  # fmt: skip
Live = Annotated[bool, typer.Option("--live", help="List the tools of all servers first.")]
MaxNoteChars = Annotated[
    int, typer.Option(metavar="N", min=0, help="How many characters the notes of one tool may have.")
]
FailOn = Annotated[str, typer.Option(metavar="SEVERITY", help="What fails the check: error, or warning too.")]
Select = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Only these rules, or those that begin so; A,B for several.", show_default=False),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Not these rules, nor those that begin so.", show_default=False),
]
Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help="text, json, jsonl, github, sarif or junit.")]
Rules = Annotated[bool, typer.Option("--rules", help="List the rules, with the reason and the fix of each.")]


def check(
    places: Places = None,
    catalog: CatalogFile = None,
    live: Live = False,
    max_note_chars: MaxNoteChars = 2000,
    fail_on: FailOn = "error",
    select: Select = None,
    ignore: Ignore = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: Format = "text",
    rules: Rules = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Check toolset files: their JSON, their names and notes, and whether the tools are there. For CI.

    Without a path your own toolsets are checked. In a folder every .json file is checked that is not clearly something
    else; stderr says how many were checked and skipped, and a folder without any fails with exit status 3.

    Entries are compared with what the servers last listed, with a snapshot (--catalog), or with what they list now
    (--live). Rules that begin with E find errors, those with W warnings, those with I what is good to know. Exit
    status 7 means that something was found that counts, 5 that a file cannot be read.

    \b
    Examples:
      mcpctl annotate check tools/triage.json
      mcpctl annotate check tools --catalog catalog.jsonl --fail-on warning --ignore W208 --format github
      mcpctl annotate check --rules
    """
    from mcpctl.commands.annotate import findings

    asked = findings.asked(max_note_chars, fail_on, select or [], ignore or [])
    kind = findings.kind(json, jsonl, format)
    if rules:
        findings.write_rules(kind)
        return
    paths = opt.paths(config, data_dir)
    findings.check(paths, places or [], lambda: findings.known(paths, catalog, live), asked, kind)
