"""The REST interface: what `--json` prints, in the names of docs in mcpctl-records(5)."""

from starlette.routing import BaseRoute

ROUTES: list[BaseRoute] = []
