"""`mcpctl servers logs`"""

from collections.abc import Iterable, Iterator, Sequence

from mcpctl import output
from mcpctl.base.models import Found, Row
from mcpctl.commands import options as opt


def logs(
    name: opt.ServerName,
    follow: bool = opt.flag("--follow -f", "Go on with what comes, until Ctrl-C."),
    lines: int = opt.option("--lines -n", "N", "Only the last N lines.", min=0, max=200, default=200),
    json: bool = opt.JSON,
    jsonl: bool = opt.JSONL,
    *,
    place: opt.Location,
) -> None:
    """Show the last lines that a server wrote to stderr. It wrote them in mcpctl serve or in any command.

    The last 200 lines of each server are kept in the folder logs of the data directory, with secrets masked and each
    line cut to 1,000 bytes. If a server writes more than about 200 lines a second, some are left out, and a line says
    so. servers rm removes them. A server with a URL has no stderr here.

    Examples:
      mcpctl servers logs github
      mcpctl servers logs github -n 20 -f
      mcpctl servers logs github --jsonl -f | jq -r .text
    """
    from mcpctl.base.errors import NotFound, WrongUsage
    from mcpctl.config import config as configuration
    from mcpctl.config.server_settings import OPENAPI, STDIO
    from mcpctl.output import Columns
    from mcpctl.store import server_logs

    options = opt.Rows(fields=None, json=json, jsonl=jsonl, format="auto").chosen()
    if follow and json:
        raise WrongUsage("--json prints one array, and -f has no end", "give --jsonl")
    paths = place.paths()
    loaded = configuration.load(paths.config)
    if name not in loaded.servers and name not in loaded.problems:
        raise configuration.no_server(name, {*loaded.servers, *loaded.problems})
    if name in loaded.servers and (kind := loaded.servers[name].kind) != STDIO:
        hint = f"see whether it works with: mcpctl servers check {name}"
        why = "is an HTTP API: it has no stderr" if kind == OPENAPI else "has a URL: its stderr stays where it runs"
        raise NotFound(f"server '{name}' {why}", hint, "no_stderr")
    if follow:
        output.write_lines(_lines(server_logs.followed(paths, name, lines, output.pause), name, jsonl), live=True)
        return
    rows = server_logs.read(paths, name, lines)
    if json or jsonl:
        output.write_list(Found.of(rows), Columns(server_logs.FIELDS, server_logs.FIELDS), options)
    else:
        output.write_lines(_lines([rows], name, False))


def _lines(batches: "Iterable[Sequence[Row]]", name: str, jsonl: bool) -> "Iterator[str]":
    from mcpctl.output.text import line_of

    for number, rows in enumerate(batches):
        if not rows and not number:
            output.say(f"'{name}' has written nothing to stderr yet")
        for row in rows:
            yield output.to_json(row) if jsonl else line_of(f"{row['time']} [{row['pid']}] {row['text']}")
