"""How REST answers: one thing or a list as JSON, with the numbers of what is on record as they are there."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found
from mcpctl.dashboard.parameters import Parameters
from mcpctl.dashboard.rest_names import Name, renamed
from mcpctl.output import to_json

if TYPE_CHECKING:
    from starlette.requests import Request

BASE = "/api/v1"
_MOST = 1 << 26
"""Characters of one list."""


class Operation(NamedTuple):
    """One thing that can be asked."""

    path: str
    """Below /api/v1."""
    answer: "Callable[[Request, Parameters], Response]"
    model: str
    """The model of `rest_models` that describes the answer; empty where none does."""
    parameters: Sequence[str] = ()
    method: str = "GET"
    kinds: Sequence[str] = ("application/json",)

    def run(self, request: "Request") -> Response:
        """The answer to a request; raises `WrongUsage` for a parameter that there is not."""
        return self.answer(request, Parameters(request.query_params.multi_items(), self.parameters))


def answer(body: Any) -> Response:
    """One thing."""
    return Response(to_json(body), media_type="application/json")


def listing(asked: Parameters, member: str, found: Found, names: Sequence[Name]) -> Response:
    """A window of a list, and how many there are; raises `WrongUsage` for one that takes too much memory."""
    names = asked.chosen(names)
    rows, size = [], 0
    for row in found.rows(asked.limit, asked.offset):
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if size > _MOST:
            hint = "ask for fewer with limit, or for payloads=false; an export is sent while it is read"
            raise WrongUsage(f"these rows have more than {_MOST >> 20} MB", hint, "answer_too_large")
        rows.append(renamed(row, names))
    return answer({member: rows, "total": found.count()})
