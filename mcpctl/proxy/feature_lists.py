"""Lists of prompts, resources and templates as bytes: pages of definitions as servers sent them.

Only what a client has to call otherwise than its server does is changed in them.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from weakref import WeakKeyDictionary

import msgspec

from mcpctl import bounds
from mcpctl.callers import Caller
from mcpctl.catalog.features import NAMED_BY, PROMPTS, RESOURCES, TEMPLATES, Feature, Features
from mcpctl.proxy import refusals
from mcpctl.wire import jsonrpc
from mcpctl.wire.messages import beside

LISTS = {"prompts/list": PROMPTS, "resources/list": RESOURCES, "resources/templates/list": TEMPLATES}
"""What each of these requests lists."""
_MEMBERS = {PROMPTS: b"prompts", RESOURCES: b"resources", TEMPLATES: b"resourceTemplates"}
_PAGE = 1000
_TTL_MS = 10_000
"""Short: a client that is not told of changes is to find them all the same."""
_CACHED = b'"ttlMs":%d,"cacheScope":"private"' % _TTL_MS


class FeatureLists:
    """The pages that were made of what requests see, kept for as long as they see the same."""

    def __init__(self) -> None:
        self._pages: WeakKeyDictionary[Features, dict[tuple[str, int], bytes]] = WeakKeyDictionary()

    async def page(self, features: Features, kind: str, cursor: bytes) -> bytes | None:
        """The members of the result that lists them from this cursor on, as JSON without braces; None where the cursor
        is of another list, or is none. A page is made once, and a long one beside the event loop."""
        offset = _offset(cursor, features, kind)
        pages = self._pages.setdefault(features, {})
        if offset is not None and (kind, offset) not in pages:
            named = list(islice(_of(features, kind).items(), offset, offset + _PAGE))
            following = f"{features.generation}.{offset + _PAGE}" if len(_of(features, kind)) > offset + _PAGE else ""
            is_long = sum(len(each.tool.text) for _, each in named) > bounds.LITTLE
            work = partial(_encoded, kind, named, following)
            pages[kind, offset] = await beside(work) if is_long else work()
        return None if offset is None else pages[kind, offset]


def result(page: bytes, caller: Caller) -> bytes:
    """The result that has these members, as the caller's revision wants it."""
    return refusals.own(b"{%b,%b}" % (page, _CACHED) if caller.modern else b"{%b}" % page, caller)


def _of(features: Features, kind: str) -> Mapping[str, Feature]:
    return {PROMPTS: features.prompts, RESOURCES: features.resources, TEMPLATES: features.templates}[kind]


def _offset(cursor: bytes, features: Features, kind: str) -> int | None:
    """Where the page begins that a cursor in JSON is of."""
    if cursor in (b"", b"null"):
        return 0
    pages = range(_PAGE, len(_of(features, kind)), _PAGE)
    try:
        said = jsonrpc.value(cursor, str)
    except jsonrpc.Malformed:
        return None
    return next((each for each in pages if said == f"{features.generation}.{each}"), None)


def _encoded(kind: str, named: Iterable[tuple[str, Feature]], following: str) -> bytes:
    listed = b'"%b":[%b]' % (_MEMBERS[kind], b",".join(_definition(kind, name, each) for name, each in named))
    return b'%b,"nextCursor":%b' % (listed, msgspec.json.encode(following)) if following else listed


def _definition(kind: str, name: str, feature: Feature) -> bytes:
    text = feature.tool.text.encode("utf-8", "replace")
    if name == feature.name:
        return text
    return jsonrpc.object_of({**jsonrpc.members(text), NAMED_BY[kind]: msgspec.json.encode(name)})
