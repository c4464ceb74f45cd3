"""What people are told of sessions that are not on record any more."""

from collections.abc import Iterator, Sequence

from mcpctl.models import Row


def remarks(evictions: Sequence[Row]) -> Iterator[str]:
    """A sentence for each limit that has cost sessions, of the evictions, newest first."""
    for limit in dict.fromkeys(each["limit"] for each in evictions):
        of_limit = [each for each in evictions if each["limit"] == limit]
        sessions = sum(each["sessions"] for each in of_limit)
        removed = "1 older session was" if sessions == 1 else f"{sessions:,} older sessions were"
        when = " on" if len(of_limit) == 1 else ", the last on"
        why = f"{limit} = {of_limit[0]['value']} in [records]"
        yield f"{removed} removed{when} {of_limit[0]['timestamp'][:10]}: {why}"
