"""When a lock file is not written."""

from pathlib import Path

from mcpctl.catalog.cache import Catalog
from mcpctl.errors import Refused, WrongUsage
from mcpctl.plurals import counted


def check(catalog: Catalog, path: Path, *, with_held: bool) -> None:
    """Raises `WrongUsage` for a name that was meant otherwise, and `Refused` while tools are held, unless they are to
    be locked too."""
    if path.suffix != ".json":
        hint = f"name the file, such as: mcpctl tools lock {path}.json"
        if path.name in catalog.config.servers:
            hint = "it takes no servers: it locks the tools of all that are in use; mcpctl tools lock"
        raise WrongUsage(f"the name of a lock file ends in .json, and '{path}' does not", hint, "not_a_lock_file")
    held = [tool.key for tool in catalog.known() if tool.held] if catalog.config.policy.enforces else []
    if held and not with_held:
        hint = "look at them with: mcpctl tools diff, and approve them; or lock them as they are with --with-held"
        raise Refused(f"{counted(len(held), 'tool')} of those to be locked {_are(held)} held", hint, "tools_held")


def _are(held: list[str]) -> str:
    return "is" if len(held) == 1 else "are"
