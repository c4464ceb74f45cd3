"""The members of a `server.json` that mcpctl uses, as a registry has it of each server. Strangers write it.

https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/api/openapi.yaml
https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json
"""

import re

from msgspec import Struct, field

from mcpctl.base.models import Row

_NAME = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/[A-Za-z0-9][A-Za-z0-9._-]*"  # as published, with a dot before the slash
NAME = re.compile(rf"(?=[A-Za-z0-9].{{2,199}}\Z){_NAME}\Z")
REFERENCE = re.compile(rf"((?=[A-Za-z0-9]){_NAME})(?:@(.*))?\Z", re.DOTALL)
_VERSION = re.compile(r"(?!latest\Z)(?!(?:[^.]+\.)*[xX](?:[.+-]|\Z))[A-Za-z0-9][A-Za-z0-9._+-]{0,254}\Z", re.IGNORECASE)
STREAMABLE, SSE, STDIO = "streamable-http", "sse", "stdio"
ACTIVE, DEPRECATED, DELETED = "active", "deprecated", "deleted"


class InputJson(Struct, frozen=True, rename="camel"):
    """A value that a server gets: an argument, a variable, a header, or a part of one of these."""

    name: str = ""
    type: str = ""  # of arguments: positional or named
    description: str = ""
    value: str | None = None
    default: str | None = None
    choices: list[str] | None = None
    format: str = "string"
    value_hint: str = ""
    is_required: bool = False
    is_secret: bool = False
    is_repeated: bool = False
    variables: "dict[str, InputJson] | None" = None


class TransportJson(Struct, frozen=True):
    type: str
    url: str = ""
    headers: list[InputJson] | None = None
    variables: dict[str, InputJson] | None = None


class PackageJson(Struct, frozen=True, rename="camel"):
    registry_type: str
    identifier: str
    transport: TransportJson
    version: str = ""
    registry_base_url: str = ""
    file_sha256: str = ""
    runtime_hint: str = ""
    runtime_arguments: list[InputJson] | None = None
    package_arguments: list[InputJson] | None = None
    environment_variables: list[InputJson] | None = None


class _Repository(Struct, frozen=True):
    url: str = ""


class ServerJson(Struct, frozen=True, rename="camel"):
    name: str
    description: str
    version: str
    title: str = ""
    website_url: str = ""
    repository: _Repository | None = None
    packages: list[PackageJson] | None = None
    remotes: list[TransportJson] | None = None


class _Official(Struct, frozen=True, rename="camel"):
    status: str = ACTIVE
    status_message: str = ""
    published_at: str | None = None
    updated_at: str | None = None
    is_latest: bool = True


class _Meta(Struct, frozen=True):
    official: _Official = field(default_factory=_Official, name="io.modelcontextprotocol.registry/official")


class Published(Struct, frozen=True):
    """One version of a server, and what its registry says of that."""

    server: ServerJson
    meta: _Meta = field(default_factory=_Meta, name="_meta")

    @property
    def status(self) -> str:
        return self.meta.official.status

    @property
    def is_listed(self) -> bool:
        """Whether a list has it: usable names, the newest version, and not taken back."""
        names_are_usable = NAME.match(self.server.name) and is_exact(self.server.version)
        return bool(names_are_usable) and self.meta.official.is_latest and self.status != DELETED

    def row(self) -> Row:
        server, official = self.server, self.meta.official
        remotes = ["remote"] if server.remotes else []
        return {
            "name": server.name, "version": server.version,
            "kinds": list(dict.fromkeys([*(each.registry_type for each in server.packages or ()), *remotes])),
            "status": self.status, "title": server.title or None, "description": server.description,
            "status_message": official.status_message or None,
            "repository": server.repository.url if server.repository else None,
            "website": server.website_url or None,
            "published_at": official.published_at, "updated_at": official.updated_at,
        }  # fmt: skip


def is_exact(version: str) -> bool:
    """Whether a text is one version of a server: not `latest`, not empty, and no range of versions."""
    return _VERSION.match(version) is not None
