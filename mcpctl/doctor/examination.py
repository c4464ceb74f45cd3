"""All checks, each for itself: one that fails is a finding, and the others go on."""

import os
from collections.abc import Iterator, Mapping, Sequence

from mcpctl.doctor import clients, configuration, files, http_apis, processes, programs, searches
from mcpctl.doctor.findings import Case, Check, DoctorFinding, finding

AREAS: Mapping[str, Sequence[Check]] = {
    "configuration": (
        configuration.of_file, configuration.of_servers, configuration.of_last_starts, configuration.of_names,
        configuration.of_policy, configuration.of_direct, configuration.of_many_people, http_apis.of_apis,
    ),
    "permissions": (files.of_permissions, files.of_owners),
    "programs": (programs.of_mcpctl, programs.of_commands, programs.of_windows),
    "data": (
        files.of_folder, files.of_journals, files.of_index, files.of_removed, files.of_loosened, files.of_pause,
        files.of_decisions, searches.of_learning,
    ),
    "processes": (processes.of_dead_owners,),
    # The last: programs that are started here may put right what the others find.
    "clients": (clients.of_files, clients.of_starts),
}  # fmt: skip
_FIXABLE = tuple(area for area in AREAS if area != "clients")


def examined(case: Case, areas: Sequence[str] = tuple(AREAS)) -> dict[str, list[DoctorFinding]]:
    return {area: list(dict.fromkeys(each for check in AREAS[area] for each in _alone(check, case))) for area in areas}


def repaired(case: Case) -> Iterator[str]:
    """Do everything that is safe to do about the findings, and say what that was, or why it failed."""
    findings = [each for area in examined(case, _FIXABLE).values() for each in area]
    for repair in dict.fromkeys(each.repair for each in findings if each.repair):
        try:
            yield repair()
        except Exception as error:  # the others are done all the same
            yield f"could not be fixed: {error}"


def _alone(check: Check, case: Case) -> Iterator[DoctorFinding]:
    try:
        yield from check(case)
    except Exception as error:
        if isinstance(error, OSError) and error.filename:
            yield finding("D124", str(error.strerror), error.filename)
            return
        if os.environ.get("MCPCTL_DEBUG"):
            raise
        yield finding("D191", repr(error), f"{check.__module__.rpartition('.')[2]}.{check.__name__}")
