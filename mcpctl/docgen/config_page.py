"""mcpctl-config(5): every key of config.toml. Types and defaults come from the Structs that check the file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mcpctl.config.policy_settings import PolicyTable, ProjectPolicyTable
from mcpctl.config.server_settings import ClientCredentials, OAuth, Server
from mcpctl.config.settings import (
    ClientSettings,
    HttpSettings,
    OAuthSettings,
    Project,
    RecordSettings,
    RegistrySettings,
    Responses,
    Search,
    Serve,
)
from mcpctl.config.toml import Section
from mcpctl.docgen import roff
from mcpctl.docgen.texts import TEXTS

NAME = "mcpctl-config"
STRUCTS: Mapping[str, type[Section]] = {
    "[servers.NAME]": Server,
    "[servers.NAME.oauth]": OAuth,
    "[servers.NAME.auth.NAME]": ClientCredentials,
    "[projects.NAME]": Project,
    "[projects.NAME.policy]": ProjectPolicyTable,
    "[policy]": PolicyTable,
    "[search]": Search,
    "[responses]": Responses,
    '[clients."NAME"]': ClientSettings,
    "[serve]": Serve,
    "[http]": HttpSettings,
    "[records]": RecordSettings,
    "[oauth]": OAuthSettings,
    "[registry]": RegistrySettings,
}
UNSET: Sequence[Any] = (None, "", [], {})
_KINDS = {
    "ProjectPolicyTable": "table",
    "OAuth": "table",
    "ClientCredentials": "table",
    "Any": "any",
    "str": "text",
    "bool": "true or false",
    "int": "whole number",
    "float": "number",
}


def page() -> str:
    return roff.joined([
        *roff.head(NAME, 5, "The configuration of mcpctl."),
        *roff.section("SYNOPSIS", [".I config.toml"]),
        *roff.section("DESCRIPTION", roff.paragraphs(TEXTS["config"])),
        *roff.section("KEYS", _keys()),
        *roff.section("VARIABLES", roff.paragraphs(TEXTS["variables"])),
        *roff.section("EXAMPLES", roff.verbatim(TEXTS["config_example"].splitlines())),
        *roff.section("SEE ALSO", roff.references([("mcpctl", 1), ("mcpctl-servers", 1), ("mcpctl-records", 5)])),
    ])  # fmt: skip


def _keys() -> Iterator[str]:
    for title, struct in STRUCTS.items():
        texts = {**TEXTS["[policy]"], **TEXTS[title]}  # a project's lists are described once
        fields = msgspec.structs.fields(struct)
        yield from roff.subsection(title, roff.entries(_key(field, texts[field.name]) for field in fields))


def _key(field: msgspec.structs.FieldInfo, text: str) -> tuple[str, str]:
    default = default_of(field)
    tag = f"{roff.bold(field.name)} ({roff.escaped(_kind(field.type))})"
    return tag, text if default in UNSET else f"{text} Default: {msgspec.json.encode(default).decode()}."


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    return field.default_factory() if field.default is msgspec.NODEFAULT else field.default


def _kind(annotation: Any) -> str:
    name = str(getattr(annotation, "__name__", annotation))
    arguments = [argument for argument in getattr(annotation, "__args__", ()) if argument is not type(None)]
    if name == "list":
        return f"list of {_kind(arguments[0])}"
    if name == "dict":
        return f"table of {_kind(arguments[1])}"
    return " or ".join(map(_kind, arguments)) if arguments else _KINDS[name]
