"""What a person must not miss of an installation or an import: what is off after it, and what cannot start."""

from collections.abc import Sequence

from mcpctl.clients.client_kinds import ClientKind


def switched_off(name: str, why: str) -> str:
    """That a server is disabled after it."""
    return f"'{name}' is switched off in config.toml, for all clients: {why}; to use it: mcpctl servers enable {name}"


def denied(name: str, why: str) -> str:
    """That the policy denies all tools of a server after it."""
    return f"'{name}': all its tools are denied in config.toml, for all clients: {why}; see: mcpctl policy check"


def does_not_start(name: str, variables: Sequence[str], program: str) -> str:
    """That a server which was taken over lacks variables here, or else its program."""
    needed = _set(variables) if variables else f"its program '{program}' is there"
    return f"'{name}' does not start before {needed}; to see whether it does: mcpctl servers check {name}"


def why_it_stays(client: ClientKind, variables: Sequence[str], program: str) -> str:
    """Why a server stays in the file of its client: mcpctl would lack variables there, or else its program."""
    if not variables:
        return (
            f"it would not start, since its program '{program}' is not found; install it, or write its absolute path "
            f"into the entry there, then run again: mcpctl install {client.name}"
        )
    return (
        f"it would not start, since {', '.join(variables)} would not be set for an mcpctl that {client.title} starts; "
        f"take it over with: mcpctl servers import --from {client.name}, and give the value in its entry in config.toml"
    )


def _set(variables: Sequence[str]) -> str:
    return f"{', '.join(variables)} {'is' if len(variables) == 1 else 'are'} set"
