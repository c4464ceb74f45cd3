"""How tools are listed: by `tools ls` and `tools search` alike."""

from mcpctl.catalog import rows
from mcpctl.models import REFRESH_FIELDS
from mcpctl.output import Columns

_SHORT = {"read_only": "READ", "destructive": "DESTR", "idempotent": "IDEMP", "open_world": "OPEN"}

COLUMNS = Columns(
    fields=rows.FIELDS,
    shown=("key", *_SHORT, "label"),
    cut=frozenset(("title", "description", "label", "signature")),
    render=dict.fromkeys(_SHORT, rows.hint_cell),
    labels={**_SHORT, "label": "TITLE OR DESCRIPTION"},
    noun="tools",
    empty="no tools are known yet; list them with: mcpctl tools refresh",
)
FOUND = Columns(
    fields=("relevance", *rows.FIELDS),
    shown=("key", "relevance", *_SHORT, "label"),
    cut=frozenset(("title", "description", "label", "signature")),
    render=dict.fromkeys(_SHORT, rows.hint_cell),
    labels={**_SHORT, "relevance": "REL", "label": "TITLE OR DESCRIPTION"},
    noun="tools",
    empty="no tool matches",
)
REFRESHED = Columns(REFRESH_FIELDS, REFRESH_FIELDS, noun="servers")
