"""Prompts, resources and templates beside tools: how they are named where both are kept, judged and pinned.

Each server has a list of its own for each kind, under a set of capabilities that no client has; what is in it is a
`Tool` whose name is `@KIND/NAME`, which no tool has.
"""

PROMPTS, RESOURCES, TEMPLATES = "prompts", "resources", "templates"
KINDS = (PROMPTS, RESOURCES, TEMPLATES)
NAMED_BY = {PROMPTS: "name", RESOURCES: "uri", TEMPLATES: "uriTemplate"}  # the key of a definition
EXPOSABLE = (PROMPTS, RESOURCES)  # servers declare these, and the configuration shows them to clients
EXPOSED_AS = {PROMPTS: PROMPTS, RESOURCES: RESOURCES, TEMPLATES: RESOURCES}
EXPLICIT = "mcpctl+"  # a URI that names its server begins so
_RESERVED = (EXPLICIT, "mcpctl:")
_MARK = "@"
_PREFIXES = tuple(f"{_MARK}{kind}/" for kind in KINDS)


def list_of(kind: str) -> str:
    """The set of capabilities under which the list of this kind is kept."""
    return f"{_MARK}{kind}"


def kind_of_list(capabilities: str) -> str:
    """The kind of a list; empty for a list of tools."""
    return capabilities.removeprefix(_MARK) if capabilities.startswith(_MARK) else ""


def join(kind: str, name: str) -> str:
    return f"{_MARK}{kind}/{name}"


def split(name: str) -> tuple[str, str]:
    """The kind and the name; the kind is empty for a tool's name."""
    if not name.startswith(_PREFIXES):
        return "", name
    kind, _, rest = name[len(_MARK) :].partition("/")
    return kind, rest


def is_feature(name: str) -> bool:
    return name.startswith(_PREFIXES)


def is_reserved(kind: str, name: str) -> bool:
    """Whether a URI would pass for one of ours, or for another server's: no server may have it."""
    return kind != PROMPTS and name[:16].casefold().startswith(_RESERVED)
