"""The columns of resources and of their templates."""

from mcpctl.base.models import RESOURCE_FIELDS
from mcpctl.output import Columns

COLUMNS = Columns(
    fields=RESOURCE_FIELDS,
    shown=("uri", "server", "mime_type", "size", "label"),
    cut=frozenset(("label", "description", "title", "name")),
    keeps={"label": 30},
    goes=("size", "mime_type", "label", "server"),
    labels={"mime_type": "TYPE"},
    noun="resources",
    empty="no resources are known yet; list what servers have with: mcpctl tools refresh",
)
