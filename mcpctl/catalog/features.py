"""The prompts, resources and templates of servers, as one request sees them, and under the names that its client uses.
URIs are never rewritten, so that links in results keep working; only one that several servers list is listed as
`mcpctl+SERVER:URI` for each of them."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import Struct

from mcpctl.base import bounds, feature_names
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.feature_names import EXPLICIT, PROMPTS, RESOURCES, TEMPLATES
from mcpctl.base.models import Tool

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ANY = "+#"
_STARTED_BY = "./;?&"
_PART_ENDS = ":/?#&="


class UriTemplate(Struct, frozen=True, dict=True):
    """A URI template of RFC 6570. Bytes are compared as they are. The places in the URI where each part may end are the
    bits of one number, so that matching takes linear time and never goes back."""

    text: str

    @cached_property
    def scheme(self) -> str:
        """The scheme with its colon; empty where it is not written out, and then the template matches nothing here."""
        match = _SCHEME.match(self.text)
        return match[0] if match else ""

    @cached_property
    def _parts(self) -> list[tuple[str, str]]:
        """Literals, and expressions as their operator and whether a value is exploded; bounded in number."""
        parts, at = [], 0
        for match in islice(_EXPRESSION.finditer(self.text), bounds.EXPRESSIONS + 1):
            parts.append((self.text[at : match.start()], match[1] + ("*" if "*" in match[2] else "")))
            at = match.end()
        return [*parts, (self.text[at:], "")]

    @cached_property
    def _ends(self) -> tuple[str, str]:
        return self.text.partition("{")[0], self.text.rpartition("}")[2]

    @property
    def place(self) -> str:
        """The beginning of every URI that matches, up to the end of a part."""
        first = self._parts[0][0]
        return first[: max(map(first.rfind, _PART_ENDS)) + 1]

    def may_match(self, uri: str) -> bool:
        """A quick look at the beginning and the end of a URI."""
        first, last = self._ends
        return bool(self.scheme) and uri.startswith(first) and uri.endswith(last)

    def matches(self, uri: str) -> bool:
        if len(uri) > bounds.URI or not self.may_match(uri) or len(self._parts) > bounds.EXPRESSIONS + 1:
            return False
        if len(self._parts) == 1:
            return uri == self.text
        ends = 1  # bit n: what was matched so far may end before character n
        for literal, operator in self._parts[:-1]:
            ends = _expanded(_after(ends, literal, uri), operator, uri)
            if not ends:
                return False
        return bool(_after(ends, self._parts[-1][0], uri) >> len(uri) & 1)


def _after(ends: int, literal: str, uri: str) -> int:
    if not literal:
        return ends
    return (ends & _where(literal, uri)) << len(literal)


def _expanded(ends: int, operator: str, uri: str) -> int:
    """End of an expression's value: anywhere for {+x}, before the next '/' for {x}."""
    kind, is_exploded = operator[:1].strip("*"), operator.endswith("*")
    every = (1 << len(uri)) - 1
    if (kind and kind in _ANY) or (is_exploded and not kind):
        return _run((ends & every) << 1, every)
    if kind and kind in _STARTED_BY:
        starts = _where(kind, uri)
        further = every if kind in "?&" or is_exploded else every & ~_where("/", uri)
        return ends | _run((ends & starts) << 1, further)
    inside = every & ~_where("/", uri)
    return _run((ends & inside) << 1, inside)


def _run(starts: int, inside: int) -> int:
    """Every place that is reached from one of these over characters inside alone: a carry does the walking."""
    return (((starts & inside) + inside) ^ inside) | starts


@lru_cache(maxsize=64)
def _where(literal: str, uri: str) -> int:
    bits = bytearray(b"0" * len(uri))
    at = uri.find(literal)
    while at >= 0:
        bits[len(uri) - 1 - at] = 0x31
        at = uri.find(literal, at + 1)
    return int(bits, 2) if uri else 0


_READS = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_OF_ANYBODY = ("file:", "http:", "https:")  # schemes that do not tell which server a URI is of


class Feature(Struct, frozen=True, eq=False):
    kind: str
    server: str
    name: str  # its name, URI or URI template on its server
    tool: Tool  # as pins and checks see it: a tool whose name is `@KIND/NAME`


class FeatureOwner(NamedTuple):
    server: str
    uri: str


class FeaturePart(Struct, frozen=True, eq=False, dict=True):
    kind: str
    server: str
    features: Mapping[str, Feature]  # by name, in its server's order
    held: Collection[str] = frozenset()  # the names of those that are neither listed nor read

    @classmethod
    def of(cls, kind: str, server: str, tools: Iterable[Tool], held: Iterable[Tool] = ()) -> "FeaturePart":
        named = ((feature_names.split(tool.name)[1], tool) for tool in tools)
        features = {name: Feature(kind, server, name, tool) for name, tool in named}
        return cls(kind, server, features, frozenset(feature_names.split(tool.name)[1] for tool in held))

    @cached_property
    def schemes(self) -> Collection[str]:
        return frozenset(_scheme(name) for name in self.features)

    @cached_property
    def _templates(self) -> Sequence[UriTemplate]:
        return [UriTemplate(name) for name in self.features]

    @cached_property
    def _held_templates(self) -> Sequence[UriTemplate]:
        return [UriTemplate(name) for name in self.held]

    def places(self, uri: str) -> Sequence[str]:
        return [template.place for template in _matching(self._templates, uri)]

    def lists_in(self, place: str) -> bool:
        return any(name.startswith(place) for name in self.features)

    def holds_back(self, uri: str) -> bool:
        return uri in self.held or (self.kind == TEMPLATES and any(True for _ in _matching(self._held_templates, uri)))


class Features:
    """The features that one request may list, get and read; immutable."""

    def __init__(self, parts: Sequence[FeaturePart], generation: str) -> None:
        """The parts are in the order of their servers, without those that are hidden from the request."""
        self.parts = parts
        self.generation = generation  # changes whenever any of them does: cursors are of one generation
        self.pages: dict[tuple[str, int], bytes] = {}  # those of lists that were made, by kind and offset

    @cached_property
    def prompts(self) -> Mapping[str, Feature]:
        return _prompts(self._of(PROMPTS))

    @cached_property
    def resources(self) -> Mapping[str, Feature]:
        return _by_uri(self._of(RESOURCES))

    @cached_property
    def templates(self) -> Mapping[str, Feature]:
        return _by_uri(self._of(TEMPLATES))

    def of_kind(self, kind: str) -> Mapping[str, Feature]:
        named: Mapping[str, Feature] = getattr(self, kind)
        return named

    def _of(self, kind: str) -> list[FeaturePart]:
        return [part for part in self.parts if part.kind == kind]

    def owner(self, uri: str) -> FeatureOwner:
        """The owner of a URI: the only server that lists it or has a template for it, unless another server lists
        resources in that template's place, or others of the URI's scheme. Raises `Failed` with `unknown_resource` or
        `ambiguous_resource`, whose facts have `servers`."""
        if len(uri) > bounds.URI:
            raise _unknown(uri)
        if uri.startswith(EXPLICIT):
            return self._explicit(uri)
        for candidates in (self._listing(uri), self._matching(uri), self._of_scheme(uri)):
            servers = [server for server in candidates if not self.is_held(server, uri)]
            if len(servers) == 1:
                return FeatureOwner(servers[0], uri)
            if servers:
                raise Failed(Failure("ambiguous_resource", {"uri": uri, "servers": servers}))
        raise _unknown(uri)

    def as_tool(self, owner: FeatureOwner) -> Tool:
        """The tool that policies see a model call when it reads this: read-only for a listed URI; one that declares
        nothing for any other, which the model may have made from a template."""
        name = feature_names.join(RESOURCES, owner.uri)
        listing = (part for part in self._of(RESOURCES) if part.server == owner.server and owner.uri in part.features)
        if part := next(listing, None):
            tool = part.features[owner.uri].tool
            return replace(tool, name=name, definition={**tool.definition, "annotations": _READS})
        definition = {"uri": owner.uri}
        return Tool(owner.server, name, definition, msgspec.json.encode(definition).decode())

    def _explicit(self, uri: str) -> FeatureOwner:
        server, _, rest = uri.removeprefix(EXPLICIT).partition(":")
        is_there = any(part.server == server and part.kind != PROMPTS for part in self.parts)
        if not is_there or not rest or self.is_held(server, rest):
            raise _unknown(uri)
        return FeatureOwner(server, rest)

    def _listing(self, uri: str) -> Sequence[str]:
        return [part.server for part in self._of(RESOURCES) if uri in part.features]

    def _matching(self, uri: str) -> Sequence[str]:
        """The servers with a template for it, and those that could have resources which they do not list."""
        places = {part.server: places for part in self._of(TEMPLATES) if (places := part.places(uri))}
        if len(places) != 1:
            return [*places]
        ((server, own),) = places.items()
        others = (part for part in self._of(RESOURCES) if part.server != server)
        return [server, *(part.server for part in others if all(map(part.lists_in, own)))]

    def _of_scheme(self, uri: str) -> Sequence[str]:
        scheme = _scheme(uri)
        if not scheme or scheme.lower() in _OF_ANYBODY:
            return []
        parts = (part for part in self.parts if part.kind != PROMPTS and scheme in part.schemes)
        return list(dict.fromkeys(part.server for part in parts))

    def is_held(self, server: str, uri: str) -> bool:
        if server in self._listing(uri):
            return False
        return any(part.held and part.server == server and part.holds_back(uri) for part in self.parts)


def _prompts(parts: Sequence[FeaturePart]) -> Mapping[str, Feature]:
    """`{server}_{prompt}`; where two come out equal, `{server}__{prompt}` for both, numbered where that is taken."""
    prompts = [feature for part in parts for feature in part.features.values()]
    short = [f"{prompt.server}_{prompt.name}" for prompt in prompts]
    equal = {name for name, count in Counter(short).items() if count > 1}
    taken = set(short) - equal
    named: dict[str, Feature] = {}
    for name, feature in zip(short, prompts, strict=True):
        if name in equal:
            name = _free(f"{feature.server}__{feature.name}", taken)
            taken.add(name)
        named[name] = feature
    return named


def _free(name: str, taken: Collection[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _by_uri(parts: Sequence[FeaturePart]) -> Mapping[str, Feature]:
    merged: dict[str, Feature] = {}
    for part in parts:
        merged.update(part.features)
    if len(merged) == sum(len(part.features) for part in parts):
        return merged
    count = Counter(name for part in parts for name in part.features)
    return {
        f"{EXPLICIT}{part.server}:{name}" if count[name] > 1 else name: feature
        for part in parts
        for name, feature in part.features.items()
    }


def _matching(templates: Iterable[UriTemplate], uri: str) -> Iterator[UriTemplate]:
    likely = (template for template in templates if template.may_match(uri))
    return (template for template in islice(likely, bounds.TEMPLATES_TRIED) if template.matches(uri))


def _scheme(uri: str) -> str:
    scheme, colon, _ = uri.partition(":")
    return scheme + colon if colon else ""


def _unknown(uri: str) -> Failed:
    return Failed(Failure("unknown_resource", {"uri": uri}))
