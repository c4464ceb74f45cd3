"""`mcpctl tools eval`"""

from pathlib import Path
from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Queries = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Labelled queries, one JSON object a line.", show_default=False)
]
FromRecords = Annotated[bool, typer.Option("--from-records", help="Take searches on record and what was then called.")]
CatalogFile = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="FILE", help="Search these tools, one JSON object a line.", show_default=False),
]
Providers = Annotated[
    list[str] | None,
    typer.Option(
        "--provider", metavar="P", show_default=False,
        help="Measure this one: bm25, semantic, cloud or off. May be repeated.",
        autocompletion=complete.choices("bm25", "semantic", "cloud", "off"),
    ),
]  # fmt: skip
Baseline = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Fail when worse than what --json printed there.", show_default=False),
]
FailUnder = Annotated[
    list[str] | None,
    typer.Option(metavar="METRIC=N", help="Fail when a measure is below N: recall@5=0.8.", show_default=False),
]


def eval(
    queries: Queries = None,
    from_records: FromRecords = False,
    catalog: CatalogFile = None,
    provider: Providers = None,
    baseline: Baseline = None,
    fail_under: FailUnder = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    project: opt.Project = None,
    toolset: opt.Toolset = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Measure how well searches find the right tools.

    FILE has lines such as {"query": "open a ticket", "expect": [["github:create_issue", "jira:create"]]}: a list for
    each tool that is wanted, with those that are as good. "mode": "any" says that one of them is enough. --catalog
    takes lines such as {"server": "github", "tool": {"name": "create_issue", …}} in place of the configured servers.
    --from-records takes the searches on record that were followed, in their session, by a call of a tool they found;
    what a search missed is not on record, so that these measure the order alone.

    Measures the configured provider, or each one given by --provider. A provider that falls back to another fails the
    run.

    The measures are recall among the first 1, 3, 5 and 10, nDCG among the first 10, the mean of 1/rank of the first
    right tool, and how long a search takes. The _ci columns are 95 % bootstrap intervals.

    The exit status is 7 when a measure is below --fail-under by more than its standard error, or worse than in
    --baseline by more than chance: then 95 of 100 bootstrap samples of the difference are worse. Each provider is
    compared with its own row there, or with the only one.

    \b
    Examples:
      mcpctl tools eval --queries queries.jsonl
      mcpctl tools eval --queries queries.jsonl --json > baseline.json
      mcpctl tools eval --queries queries.jsonl --baseline baseline.json --fail-under recall@5=0.8
      mcpctl tools eval --queries queries.jsonl --provider bm25 --provider semantic
      mcpctl tools eval --from-records
    """
    from mcpctl import output
    from mcpctl.commands.tools import measuring

    asked = output.listing(json, jsonl, format, fields)
    demands = measuring.Demands.read(fail_under or (), baseline)
    source = measuring.Source(queries, from_records, catalog, opt.paths(config, data_dir), project, toolset)
    measured = measuring.measured(source, provider or [])
    output.write_list(measuring.rows(measured), measuring.COLUMNS, asked)
    demands.check(measured)
