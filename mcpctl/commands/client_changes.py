"""What `install` and `uninstall` share: their arguments, and how the changes of clients' files are shown and agreed."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from mcpctl.base.models import Row
from mcpctl.commands import complete
from mcpctl.commands import options as opt

Clients = Annotated[list[str], opt.argument("CLIENT...", "The clients, such as cursor.", complete.clients)]
Json = Annotated[bool, opt.flag("--json", "Print one JSON array with an object for each file.", default=...)]


def agree(diff: Sequence[str], remarks: Iterable[str], *, yes: bool, json: bool) -> None:
    """Show a change with its remarks, and ask about it if a person can be asked. In a pipe, JSON comes without the
    diff."""
    from mcpctl.commands import confirmation

    is_asked = confirmation.is_terminal() and not yes
    if is_asked or not json:
        confirmation.show(diff)
    remark(remarks)
    if is_asked:
        confirmation.ask("Write this?")


def remark(remarks: Iterable[str]) -> None:
    from mcpctl.base.errors import warn

    for each in remarks:
        warn(each)


def say_last(told: Iterable[str]) -> None:
    """Print what a person must not miss, below all else, in a pipe too."""
    from mcpctl import output

    for line in told:
        output.say(line, always=True)


def write(rows: "list[Row]", diff: Sequence[str], *, dry_run: bool, json: bool) -> None:
    from mcpctl import output
    from mcpctl.base.models import INSTALL_FIELDS, Found
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
    output.write_list(Found.of(rows), columns, output.ListOptions("json" if json else "auto"))
