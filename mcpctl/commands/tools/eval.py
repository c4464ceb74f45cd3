"""`mcpctl tools eval`"""

from pathlib import Path

from mcpctl.commands import options as opt


def eval(
    queries: Path | None = opt.option("--queries", "FILE", "Labelled queries, one JSON object a line."),
    from_records: bool = opt.flag("--from-records", "Use the recorded searches and the calls after them."),
    catalog: Path | None = opt.option("--catalog", "FILE", "Search the tools in FILE, one JSON object a line."),
    provider: list[str] | None = opt.option(
        "--provider", "P", "Measure bm25, semantic, cloud or off; repeatable.", ("bm25", "semantic", "cloud", "off")
    ),
    baseline: Path | None = opt.option("--baseline", "FILE", "Fail if worse than in FILE, an earlier --json."),
    fail_under: list[str] | None = opt.option("--fail-under", "METRIC=N", "Fail if a metric is below N: recall@5=0.8."),
    *,
    listing: opt.Rows,
    project: str | None = opt.PROJECT,
    toolset: str | None = opt.TOOLSET,
    place: opt.Location,
) -> None:
    """Measure how well searches find the right tools.

    --queries reads lines such as {"query": "open a ticket", "expect": [["github:create_issue", "jira:create"]]}, with a
    list for each expected tool: its key, and the keys of tools that are as good. With "mode": "any", one of the
    expected tools is enough. --catalog reads lines such as {"server": "github", "tool": {"name": "create_issue", …}} in
    place of the configured servers' tools. --from-records uses the recorded searches after which their session called a
    tool that they had found. Records do not have the tools that a search missed, so these measure only the order.

    It measures the configured provider, or each --provider; one that falls back to another fails the run. The metrics
    are recall among the first 1, 3, 5 and 10, nDCG among the first 10, the mean of 1/rank of the first right tool, and
    the time of a search. The _ci columns are 95 % bootstrap intervals.

    LEARNING is whether learning from use would help here, as the recorded searches say, each session of them left out
    in turn; CALLS is from how many calls, GAIN what it adds to their nDCG@10: learn in mcpctl-config(5).

    The exit status is 7 if a metric is below --fail-under by more than its standard error, or worse than in --baseline
    by more than chance: 95 of 100 bootstrap samples of the difference are worse. Each provider is compared with its own
    row in the baseline, or with the only row.

    Examples:
      mcpctl tools eval --queries queries.jsonl
      mcpctl tools eval --queries queries.jsonl --json > baseline.json
      mcpctl tools eval --queries queries.jsonl --baseline baseline.json --fail-under recall@5=0.8
      mcpctl tools eval --queries queries.jsonl --provider bm25 --provider semantic
      mcpctl tools eval --from-records
    """
    from mcpctl import output
    from mcpctl.base.models import Found
    from mcpctl.catalog import rows
    from mcpctl.commands import search_evaluation
    from mcpctl.commands.columns import measures

    options, paths = listing.chosen(), place.paths()
    demands = search_evaluation.demands(fail_under or (), baseline)
    if catalog:
        tools = list(rows.tools_in_file(catalog))
    else:
        with rows.catalog(paths, toolset, project) as listed:
            tools = listed.visible()
    results = search_evaluation.measured(paths, queries, from_records, tools, project, provider or [])
    output.write_list(Found.of([result.row() for result in results]), measures(), options)
    demands.check(results)
