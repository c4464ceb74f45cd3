"""The columns of toolsets."""

from mcpctl.base.models import TOOLSET_FIELDS
from mcpctl.output import Columns

COLUMNS = Columns(
    fields=TOOLSET_FIELDS,
    shown=("name", "equipped", "tools", "notes", "overrides", "description", "problem"),
    cut=frozenset(("description", "problem", "path")),
    goes=("overrides", "notes", "tools", "description"),
    noun="toolsets",
    empty="no toolsets yet; create one with: mcpctl toolsets build NAME KEY...",
)
