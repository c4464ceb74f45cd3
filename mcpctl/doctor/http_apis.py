"""HTTP APIs: whether their documents were read, and whether their credentials fit them. Nothing is sent."""

from collections.abc import Iterator
from pathlib import Path

from mcpctl.base.errors import Unusable
from mcpctl.config import exposure
from mcpctl.config.server_settings import Server
from mcpctl.doctor.findings import Case, DoctorFinding, finding
from mcpctl.openapi import overview, snapshot
from mcpctl.openapi.snapshot import CompiledDocument


def of_apis(case: Case) -> Iterator[DoctorFinding]:
    for name, server in case.config.enabled.items():
        if not server.openapi:
            continue
        if exposed := exposure.in_the_clear(server):
            yield finding("D118", exposed, name)
        try:
            document = snapshot.head(case.paths, name, server)
        except Unusable as error:
            yield finding("D115", error.message, name, error.hint.removeprefix("run: "))
            continue
        if _is_older(document, server, case.paths.config):
            fix = f"see what changed with: mcpctl tools refresh {name}"
            yield finding("D116", f"{server.openapi} was changed after it was read", name, fix)
        unset = overview.without_variable(server, case.paths.config)
        for scheme, why in unset.items():
            yield finding("D117", f"{scheme}: {why}", name)
        missing = overview.without_value(document, server, case.paths.config)
        if missing := [scheme for scheme in missing if scheme not in unset]:
            fix = f"if you need it: mcpctl servers set {name} --auth '{missing[0]}=${{TOKEN}}'"
            yield finding("D117", f"no value is there for: {', '.join(missing)}", name, fix)
        if others := overview.without_scheme(document, server):
            known = (
                f"it has {', '.join(document.schemes)}" if document.schemes else f"it has none: use {snapshot.BEARER}"
            )
            yield finding("D119", f"the document has no security scheme {', '.join(others)}; {known}", name)


def _is_older(document: CompiledDocument, server: Server, config_path: Path) -> bool:
    """Whether the document is a file that was changed since."""
    if "://" in server.openapi:
        return False
    try:
        return (config_path.parent / Path(server.openapi).expanduser()).stat().st_mtime > document.made_at
    except OSError:
        return False  # what was read of it is still there
