"""Searches: whether they would find much more if they learnt from use."""

import contextlib
from collections.abc import Iterator

from mcpctl.base.errors import McpctlError
from mcpctl.base.texts import counted
from mcpctl.catalog import rows
from mcpctl.doctor.files import of_index
from mcpctl.doctor.findings import Case, DoctorFinding, finding
from mcpctl.toolsets.toolset import searched

_MUCH = 0.03  # of nDCG@10: about as much as a sentence-embedding model brings


def of_learning(case: Case) -> Iterator[DoctorFinding]:
    if case.config.search.learn or case.config.optimization not in ("bm25", "semantic"):
        return
    if not case.paths.sessions.exists() or any(of_index(case)):
        return  # reading the records would repair the index unasked
    # They take as long as all else, and there is nothing to learn at first.
    from mcpctl.search import lessons, providers
    from mcpctl.search.learning import LEAST

    with contextlib.suppress(McpctlError, OSError):  # which are found elsewhere
        if len(lessons.successes(case.paths, case.config.project)) < LEAST:
            return
        with rows.catalog(case.paths, quiet=True) as catalog:
            tools = catalog.visible()
        words = providers.build(tools, searched(tools), case.paths.search_index)
        learnt = lessons.learnt_from_use(words, case.paths, case.config.project)
        if learnt and learnt.strength and learnt.gain >= _MUCH:
            calls = counted(learnt.calls, "call")
            yield finding(
                "D153", f"it would add {learnt.gain:.2f} of nDCG@10, as {calls} on record say", case.paths.config
            )
