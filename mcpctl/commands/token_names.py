"""Whose calls those in a list are: the names of tokens, for people."""

from typing import TYPE_CHECKING

from mcpctl.base.models import Row
from mcpctl.output import Columns, ListOptions

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths


def with_names(listed: Columns, paths: "Paths", options: ListOptions) -> Columns:
    """The columns with one of the names of tokens, where it is a table and any token has a name."""
    if options.effective != "table":
        return listed
    from mcpctl.policy import tokens

    names = tokens.names(paths)
    if not names:
        return listed
    first, second, *rest = [name for name in listed.table or listed.shown if name != "token_id"]
    return listed._replace(
        table=(first, second, "token_id", *rest),
        render={**listed.render, "token_id": lambda id_: names.get(id_, id_ or "")},
        labels={**listed.labels, "token_id": "TOKEN"},
    )


def named(row: Row, paths: "Paths") -> Row:
    """The row with the name of its token beside the id."""
    if not row.get("token_id"):
        return row
    from mcpctl.policy import tokens

    name = tokens.names(paths).get(row["token_id"])
    return {**row, "token_id": f"{row['token_id']} ({name})"} if name else row
