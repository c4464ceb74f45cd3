"""What `install` and `uninstall` share: their arguments, and how the changes of clients' files are shown and agreed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from mcpctl.commands import complete

if TYPE_CHECKING:
    from mcpctl.models import Row

Clients = Annotated[
    list[str],
    typer.Argument(metavar="CLIENT...", help="The clients, such as cursor.", autocompletion=complete.clients),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON array with an object for each file.")]


def agree(diff: Sequence[str], *, yes: bool, json: bool) -> None:
    """Show a change, and ask about it if somebody is there to be asked; with JSON in a pipe, stderr stays empty."""
    from mcpctl.commands import agreement

    if agreement.is_terminal() and not yes:
        agreement.ask(diff, "Write this?")
    elif not json:
        agreement.show(diff)


def write(rows: "list[Row]", diff: Sequence[str], *, dry_run: bool, json: bool) -> None:
    """Print the diff of a dry run, or a row for each file."""
    from mcpctl import output
    from mcpctl.models import INSTALL_FIELDS, Found
    from mcpctl.output.text import block_of

    if dry_run and not json:
        output.write_lines(map(block_of, diff))
        return
    columns = output.Columns(
        fields=INSTALL_FIELDS,
        shown=("client", "action", "path", "servers"),
        cut=frozenset({"servers"}),
        goes=("path",),
        more="--json",
        render={"servers": ",".join},
        noun="files",
        empty="nothing to do",
    )
    output.write_list(Found.of(rows), columns, output.listing(json, False, "auto", None))
