"""The issuer that logs in for a server: asked of the server, then of the issuer that it names; and the client there.

https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization; RFC 9728 and RFC 8414, read as the SDK
reads them. Importing it imports the SDK, 0.7 s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httpx2
from mcp.client.auth import utils
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import ValidationError

from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth.first_request import challenge
from mcpctl.oauth.requests import LoginFailed, Requests, brief, origin


@dataclass(frozen=True)
class Issuer:
    """An authorization server, and what to ask it for."""

    name: str
    metadata: OAuthMetadata
    challenged: str | None = None
    """The scope that the server has asked for."""
    resource: ProtectedResourceMetadata | None = None
    """The server's own metadata; None for one of 2025-03-26."""
    resource_url: str | None = None
    """The `resource` of RFC 8707."""

    def wider(self, server_url: str) -> str:
        """The resource that tokens are for, where that is more than the server at this address; RFC 9728 permits it."""
        named = self.resource_url or ""
        return "" if named.rstrip("/") == resource_url_from_server_url(server_url).rstrip("/") else named

    def scope(self, grant_types: list[str]) -> str | None:
        """The scope to ask for where a person has not named one; None for the issuer's own choice."""
        if self.challenged is None and not (self.resource and self.resource.scopes_supported):
            return None
        return utils.get_client_metadata_scopes(self.challenged, self.resource, self.metadata, grant_types)


async def find(requests: Requests, where: Endpoint) -> Issuer | None:
    """The issuer that logs in for a server; None where it needs no login. Raises `LoginFailed`."""
    asked = await challenge(requests, where)
    resource = await _resource(requests, where, asked)
    if asked.status_code != HTTPStatus.UNAUTHORIZED and resource is None and where.oauth is None:
        if asked.is_error:
            raise LoginFailed(f"the server answers HTTP {asked.status_code}", "is its url right?")
        return None
    wanted = where.oauth.issuer if where.oauth else ""
    name = wanted or (str(resource.authorization_servers[0]) if resource else "")
    metadata = await of_issuer(requests, name, where.url)
    return Issuer(
        name or str(metadata.issuer),
        metadata,
        utils.extract_scope_from_www_auth(asked),
        resource,
        str(resource.resource) if resource else resource_url_from_server_url(where.url),
    )


async def _resource(requests: Requests, where: Endpoint, asked: httpx2.Response) -> ProtectedResourceMetadata | None:
    named = utils.extract_resource_metadata_from_www_auth(asked) if asked.is_error else None
    broken = None
    for url in utils.build_protected_resource_metadata_discovery_urls(named, where.url):
        response = await requests.send("GET", url, _JSON)
        if response.is_server_error:
            broken = response.status_code
        if found := await utils.handle_protected_resource_response(response):
            ours = resource_url_from_server_url(where.url)
            if not check_resource_allowed(requested_resource=ours, configured_resource=str(found.resource)):
                raise LoginFailed(f"the server says that it is {brief(str(found.resource))}", "is its url right?")
            return found
    if broken:
        # Whether it names an issuer is then not known, and guessing one would send the login elsewhere.
        raise LoginFailed(f"the server does not say who logs in for it (HTTP {broken})", "try again later")
    return None


async def of_issuer(requests: Requests, name: str, server_url: str) -> OAuthMetadata:
    """An issuer's own metadata; without a name, those of the one of 2025-03-26 at the server's own origin.

    Raises `LoginFailed`.
    """
    issuer = name or origin(server_url)
    for url in utils.build_oauth_authorization_server_metadata_discovery_urls(name or None, server_url):
        response = await requests.send("GET", url, _JSON)
        if response.status_code != HTTPStatus.OK:
            continue
        try:
            metadata = OAuthMetadata.model_validate_json(response.content)
        except ValidationError:
            continue
        if not utils.issuers_match(str(metadata.issuer), issuer):
            raise LoginFailed(
                f"the issuer {brief(issuer)} calls itself {brief(str(metadata.issuer))}",
                "tell whoever runs the server: the two must be the same (RFC 8414)",
            )
        _check(requests, metadata)
        return metadata
    if name:
        raise LoginFailed(f"the issuer {brief(name)} says nothing of how one logs in", "tell whoever runs the server")
    hint = "it may want a token in a header, which mcpctl servers set --header gives it"
    raise LoginFailed("the server does not say who logs in for it", hint)


def _check(requests: Requests, metadata: OAuthMetadata) -> None:
    """Raises `LoginFailed` for an issuer that one must not log in with."""
    for url in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.registration_endpoint):
        if url is not None:
            requests.check(str(url))
    methods = metadata.code_challenge_methods_supported
    if methods is not None and "S256" not in methods:
        raise LoginFailed("the issuer does not support PKCE with S256", "tell whoever runs it")


_JSON: Mapping[str, str] = {"accept": "application/json"}
