"""All checks, each for itself: one that fails is a finding, and the others are done."""

import os
from collections.abc import Iterator, Mapping, Sequence

from mcpctl.doctor import clients, configuration, data, permissions, processes, programs
from mcpctl.doctor.finding import Case, Check, Finding, found

AREAS: Mapping[str, Sequence[Check]] = {
    "configuration": (
        configuration.of_file,
        configuration.of_servers,
        configuration.of_last_starts,
        configuration.of_names,
        configuration.of_policy,
    ),
    "permissions": (permissions.of_files, permissions.of_owners),
    "programs": (programs.of_mcpctl, programs.of_commands, programs.of_windows),
    "data": (data.of_folder, data.of_journals, data.of_index, data.of_removed, data.of_loosened, data.of_decisions),
    "processes": (processes.of_dead_owners,),
    # The last: what is started here may put right what the others look at.
    "clients": (clients.of_files, clients.of_starts),
}
"""What is looked at, in this order."""
_FIXABLE = tuple(area for area in AREAS if area != "clients")


def examined(case: Case, areas: Sequence[str] = tuple(AREAS)) -> dict[str, list[Finding]]:
    """What the checks of these areas find."""
    return {area: list(dict.fromkeys(each for check in AREAS[area] for each in _alone(check, case))) for area in areas}


def repaired(case: Case) -> Iterator[str]:
    """Do all that is safe to do about what is found; what was done, or why it could not be."""
    findings = [finding for area in examined(case, _FIXABLE).values() for finding in area]
    for repair in dict.fromkeys(finding.repair for finding in findings if finding.repair):
        try:
            yield repair()
        except Exception as error:  # the others are done all the same
            yield f"could not be fixed: {error}"


def _alone(check: Check, case: Case) -> Iterator[Finding]:
    try:
        yield from check(case)
    except Exception as error:
        if isinstance(error, OSError) and error.filename:
            yield found("D124", str(error.strerror), error.filename)
            return
        if os.environ.get("MCPCTL_DEBUG"):
            raise
        yield found("D191", repr(error), _name(check))


def _name(check: Check) -> str:
    return f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
