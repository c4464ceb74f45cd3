"""Lists of prompts, resources and templates as bytes: pages of definitions as servers sent them.

Only what a client has to call otherwise than its server does is changed in them.
"""

import re
from itertools import islice
from weakref import WeakKeyDictionary

import msgspec

from mcpctl.base.callers import Caller
from mcpctl.base.feature_names import NAMED_BY, PROMPTS, RESOURCES, TEMPLATES
from mcpctl.catalog.features import Feature, Features
from mcpctl.proxy import refusals
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

LISTS = {"prompts/list": PROMPTS, "resources/list": RESOURCES, "resources/templates/list": TEMPLATES}
"""What each of these requests lists."""
_MEMBERS = {PROMPTS: b"prompts", RESOURCES: b"resources", TEMPLATES: b"resourceTemplates"}
_PAGE = 1000
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_TTL_MS = 10_000
"""Short: a client that is not told of changes is to find them all the same."""
_CACHED = b'"ttlMs":%d,"cacheScope":"private"' % _TTL_MS


class FeatureLists:
    """The pages that were made of what requests see, kept for as long as they see the same."""

    def __init__(self) -> None:
        self._pages: WeakKeyDictionary[Features, dict[tuple[str, int], bytes]] = WeakKeyDictionary()

    async def page(self, features: Features, kind: str, cursor: bytes) -> bytes | None:
        """The members of the result that lists them from this cursor on, as JSON without braces; None where the cursor
        is of another list, or is none. A page is made once, beside the event loop."""
        offset = _offset(cursor, features.generation)
        if offset is None:
            return None
        pages = self._pages.setdefault(features, {})
        if (kind, offset) not in pages:
            made = await beside(_page, features, kind, offset)
            if made is None:
                return None
            pages[kind, offset] = made
        return pages[kind, offset]


def result(page: bytes, caller: Caller) -> bytes:
    """The result that has these members, as the caller's revision wants it."""
    return refusals.own(b"{%b,%b}" % (page, _CACHED) if caller.modern else b"{%b}" % page, caller)


def _offset(cursor: bytes, generation: str) -> int | None:
    """Where the page begins that a cursor in JSON is of."""
    if cursor in (b"", b"null"):
        return 0
    try:
        before, _, offset = jsonrpc.value(cursor, str).rpartition(".")
    except jsonrpc.Malformed:
        return None
    number = int(offset) if before == generation and _NUMBER.fullmatch(offset) else 0
    return number if number and number % _PAGE == 0 else None


def _page(features: Features, kind: str, offset: int) -> bytes | None:
    named = features.of_kind(kind)
    if offset and offset >= len(named):
        return None
    shown = islice(named.items(), offset, offset + _PAGE)
    listed = b'"%b":[%b]' % (_MEMBERS[kind], b",".join(_definition(kind, *each) for each in shown))
    if offset + _PAGE >= len(named):
        return listed
    return b'%b,"nextCursor":"%b.%d"' % (listed, features.generation.encode(), offset + _PAGE)


def _definition(kind: str, name: str, feature: Feature) -> bytes:
    text = feature.tool.text.encode("utf-8", "replace")
    if name == feature.name:
        return text
    return jsonrpc.object_of({**jsonrpc.members(text), NAMED_BY[kind]: msgspec.json.encode(name)})
