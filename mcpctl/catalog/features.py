"""The prompts, resources and templates of servers, as one request sees them, and by what its client calls them.

URIs are never rewritten, so that links in results keep working; only one that several servers list is listed as
`mcpctl+SERVER:URI` for each of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcpctl.failure import Failed, Failure
from mcpctl.models import Tool

PROMPTS, RESOURCES, TEMPLATES = "prompts", "resources", "templates"
KINDS = (PROMPTS, RESOURCES, TEMPLATES)
NAMED_BY = {PROMPTS: "name", RESOURCES: "uri", TEMPLATES: "uriTemplate"}
"""The member of a definition that identifies it on its server."""
EXPLICIT = "mcpctl+"
"""What a URI begins with that names its server."""


@dataclass(frozen=True, eq=False)
class Feature:
    """One prompt, resource or template as its server defines it."""

    kind: str
    server: str
    name: str
    """Its name, URI or URI template on its server."""
    tool: Tool
    """Its definition, as pins and checks see it: a tool whose name is `@KIND/NAME`."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """The definition, of which any member may have any type."""
        return self.tool.definition


class Owner(NamedTuple):
    """Whose a URI is, and what it is there."""

    server: str
    uri: str


class Features:
    """What one request may list, get and read. Immutable, made anew when a list or what is in force changes."""

    def __init__(self, features: Iterable[Feature], generation: str) -> None:
        """`features` by server and then as listed; those that are held or hidden from the request are not there."""
        of_kind: dict[str, list[Feature]] = {kind: [] for kind in KINDS}
        for feature in features:
            of_kind[feature.kind].append(feature)
        self.generation = generation
        """Changes whenever any of them does: cursors are of one generation."""
        self.prompts = _prompts(of_kind[PROMPTS])
        """By the names that clients use, in the order of lists."""
        self.resources = _by_uri(of_kind[RESOURCES])
        self.templates = _by_uri(of_kind[TEMPLATES])

    def owner(self, uri: str) -> Owner:
        """Whose URI it is: of the only server that lists it, or one of whose templates it is, or that lists others of
        its scheme. Raises `Failed` with `unknown_resource` or `ambiguous_resource`, whose facts have `servers`."""
        raise Failed(Failure("unknown_resource", {"uri": uri}))


def _prompts(prompts: Sequence[Feature]) -> Mapping[str, Feature]:
    """`{server}_{prompt}`; where two come out equal, `{server}__{prompt}` for both."""
    return {f"{each.server}_{each.name}": each for each in prompts}


def _by_uri(features: Sequence[Feature]) -> Mapping[str, Feature]:
    return {each.name: each for each in features}
