"""The tokens of sessions, with and without mcpctl."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import NamedTuple

import msgspec

from mcpctl.base.errors import NotFound
from mcpctl.base.models import Found, Row
from mcpctl.base.paths import Paths
from mcpctl.catalog import server_instructions
from mcpctl.catalog.cache import Catalog
from mcpctl.metatools import direct_definitions, direct_tools, offers
from mcpctl.metatools.offers import AnswerForm
from mcpctl.store.recorder import ENCODING, tokens

_SPENT = ("metatools_tokens", "direct_tokens", "discovery_tokens", "query_tokens", "key_tokens")
Opened = Callable[[str | None], AbstractContextManager[Catalog]]  # gives the catalog of a project, or of all servers


class _Definitions(NamedTuple):
    """The tokens that a session's model would read, without mcpctl and with it."""

    servers: int | None = None
    unlisted: int | None = None
    tools: int | None = None
    definitions_tokens: int | None = None
    metatools_tokens: int | None = None
    direct_tokens: int | None = None


class Saving(NamedTuple):
    sessions: int
    unlisted: int  # the most servers that one of them could not ask for their definitions
    without: int  # tokens of all definitions, which the model of each would have read
    spent: int  # tokens of the meta-tools, direct tools, searches and keys in their place

    @property
    def saved(self) -> int:
        return self.without - self.spent


def together(rows: Iterable[Row]) -> Saving | None:
    """The sum of these rows, or None without a known one."""
    known = [row for row in rows if row["saved_tokens"] is not None]
    without = sum(row["definitions_tokens"] for row in known)
    spent = without - sum(row["saved_tokens"] for row in known)
    return Saving(len(known), max(row["unlisted"] for row in known), without, spent) if without else None


def rows(paths: Paths, overheads: Found, opened: Opened, *, only_last: bool) -> Found:
    """A row for each session: `SAVING_FIELDS`. The values of a project that is gone are null."""
    known = cache(lambda *session: _definitions(paths, opened, *session))

    def found(limit: int | None, offset: int) -> Iterator[Row]:
        for row in overheads.rows(min(limit or 1, 1) if only_last else limit, offset):
            direct = tuple(json.loads(row["direct"] or "null") or ())
            yield _row(row, known(row["project"], offers.client_form(row["client_name"]), direct))

    return Found(lambda: min(overheads.count(), 1) if only_last else overheads.count(), found, overheads.filtered)


def _row(session: Row, known: _Definitions) -> Row:
    row = {**session, **known._asdict(), "encoding": ENCODING}
    del row["direct"]
    if known.definitions_tokens is None:
        return {**row, "saved_tokens": None, "saved_percent": None}
    spent = sum(row[name] for name in _SPENT)
    saved = known.definitions_tokens - spent
    percent = round(100 * saved / known.definitions_tokens, 1) if known.definitions_tokens else None
    return {**row, "saved_tokens": saved, "saved_percent": percent}


def _definitions(
    paths: Paths, opened: Opened, project: str | None, form: AnswerForm, direct: Sequence[str]
) -> _Definitions:
    try:
        with opened(project) as catalog:
            offer = offers.Offer().configured(catalog.config, direct)
            servers, shown = sorted(catalog.config.enabled), direct_tools.of_command(paths, catalog, direct)[0]
            every = [tool for name in servers if (listed := catalog.listed(name)) for tool in listed.tools]
            unlisted = len(catalog.unlisted())
            said = dict(server_instructions.waiting(catalog, servers, ()))
    except NotFound:
        return _Definitions()
    first, _ = server_instructions.beside(offers.instructions(servers, offer), said)
    ours = msgspec.json.encode(offers.tools(servers, offer, form)), first.encode("utf-8", "replace")
    return _Definitions(
        servers=len(servers),
        unlisted=unlisted,
        tools=len(every),
        definitions_tokens=sum(tokens(len(msgspec.json.encode(tool.definition))) for tool in every),
        metatools_tokens=sum(tokens(len(text)) for text in ours),
        direct_tokens=sum(tokens(len(direct_definitions.definition(each))) for each in shown.named),
    )
