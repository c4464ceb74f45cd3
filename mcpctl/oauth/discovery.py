"""The issuer that logs in for a server: asked of the server, then of the issuer that it names; and the client there.

https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization; RFC 9728 and RFC 8414, read as the SDK
reads them. Importing it imports the SDK, 0.7 s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httpx2
from mcp.client.auth import utils
from mcp.client.auth.exceptions import OAuthRegistrationError
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import ValidationError

from mcpctl import __version__
from mcpctl.base.errors import McpctlError
from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth.requests import (
    BASIC,
    METHODS,
    NONE,
    POST,
    LoginFailed,
    Requests,
    authenticated,
    brief,
    challenge,
    origin,
    refusal_in_words,
)


@dataclass(frozen=True)
class Issuer:
    """An authorization server, and what to ask it for."""

    name: str
    metadata: OAuthMetadata
    challenged: str | None = None  # the scope that the server has asked for
    resource: ProtectedResourceMetadata | None = None  # the server's own metadata; None for one of 2025-03-26
    resource_url: str | None = None  # the `resource` of RFC 8707

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
    response = await challenge(requests, where)
    resource = await _resource(requests, where, response)
    if response.status_code != HTTPStatus.UNAUTHORIZED and resource is None and where.oauth is None:
        if response.is_error:
            raise LoginFailed(f"the server answers HTTP {response.status_code}", "is its url right?")
        return None
    configured = where.oauth.issuer if where.oauth else ""
    name = configured or (str(resource.authorization_servers[0]) if resource else "")
    metadata = await of_issuer(requests, name, where.url)
    return Issuer(
        name or str(metadata.issuer),
        metadata,
        utils.extract_scope_from_www_auth(response),
        resource,
        str(resource.resource) if resource else resource_url_from_server_url(where.url),
    )


async def _resource(requests: Requests, where: Endpoint, refusal: httpx2.Response) -> ProtectedResourceMetadata | None:
    named = utils.extract_resource_metadata_from_www_auth(refusal) if refusal.is_error else None
    broken = None
    for url in utils.build_protected_resource_metadata_discovery_urls(named, where.url):
        response = await requests.send("GET", url, _JSON)
        if response.is_server_error:
            broken = response.status_code
        if metadata := await utils.handle_protected_resource_response(response):
            ours = resource_url_from_server_url(where.url)
            if not check_resource_allowed(requested_resource=ours, configured_resource=str(metadata.resource)):
                raise LoginFailed(f"the server says that it is {brief(str(metadata.resource))}", "is its url right?")
            return metadata
    if broken:
        # Whether it names an issuer is then not known, and guessing one would send the login elsewhere.
        raise LoginFailed(f"the server does not say who logs in for it (HTTP {broken})", "try again later")
    return None


async def of_issuer(requests: Requests, name: str, server_url: str) -> OAuthMetadata:
    """An issuer's own metadata; without a name, that of 2025-03-26 at the server's own origin. Raises `LoginFailed`."""
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
        for place in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.registration_endpoint):
            if place is not None:
                requests.check(str(place))
        methods = metadata.code_challenge_methods_supported
        if methods is not None and "S256" not in methods:
            raise LoginFailed("the issuer does not support PKCE with S256", "tell whoever runs it")
        return metadata
    if name:
        raise LoginFailed(f"the issuer {brief(name)} does not describe its login", "tell whoever runs the server")
    hint = "it may want a token in a header, which mcpctl servers set --header gives it"
    raise LoginFailed("the server does not say who logs in for it", hint)


_JSON: Mapping[str, str] = {"accept": "application/json"}


CONFIGURED, DOCUMENT, DYNAMIC = "configured", "metadata document", "dynamic"


@dataclass(frozen=True)
class OAuthClient:
    """A client of an issuer. It may hold a secret: never shown."""

    kind: str
    id: str
    secret: str | None = None
    method: str = NONE  # how it authenticates to the token endpoint
    secret_expires_at: float | None = None

    def request(self, form: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
        return authenticated(self.method, self.id, self.secret, form)


def configured(metadata: OAuthMetadata, client_id: str, secret: str) -> OAuthClient:
    if not secret:
        return OAuthClient(CONFIGURED, client_id)
    # RFC 8414, 2: an issuer that does not say takes the first.
    supported = metadata.token_endpoint_auth_methods_supported or [BASIC]
    method = POST if POST in supported and BASIC not in supported else BASIC
    return OAuthClient(CONFIGURED, client_id, secret, method)


async def dynamic(
    requests: Requests, metadata: OAuthMetadata, addresses: list[str], scope: str | None, name: str
) -> tuple[OAuthClient, str]:
    """A client registered now, and its address for the browser to return to; raises `LoginFailed` or `McpctlError`."""
    if metadata.registration_endpoint is None:
        raise _none(name, addresses[0], "the issuer registers no clients by itself")
    supported = metadata.token_endpoint_auth_methods_supported or METHODS
    method = next((method for method in METHODS if method in supported), NONE)
    for address in addresses:
        client = OAuthClientMetadata.model_validate({
            "client_name": "mcpctl", "redirect_uris": [address], "scope": scope, "application_type": "native",
            "token_endpoint_auth_method": method, "software_id": "mcpctl", "software_version": __version__,
        })  # fmt: skip
        content = client.model_dump_json(exclude_none=True).encode()
        url, headers = str(metadata.registration_endpoint), {"content-type": "application/json"}
        response = await requests.send("POST", url, {**headers, "accept": "application/json"}, content)
        if response.status_code != HTTPStatus.BAD_REQUEST:  # which some say to an address, and not to its like
            break
    if response.status_code not in (200, 201):
        raise _none(name, addresses[0], f"the issuer did not register mcpctl ({refusal_in_words(response)})")
    try:
        registered = await utils.handle_registration_response(response)
        check_registration_usable(registered)
    except OAuthRegistrationError:
        raise LoginFailed("the issuer registered mcpctl in a way that cannot be used", _REGISTER) from None
    method = registered.token_endpoint_auth_method or (method if registered.client_secret else NONE)
    ends = registered.client_secret_expires_at  # 0 is never; and some say when in more digits than there are seconds
    expires_at = float(min(max(ends, 1), 10**11)) if ends else None
    return OAuthClient(DYNAMIC, registered.client_id, registered.client_secret, method, expires_at), address


_REGISTER = "register a client with the issuer, and write its client_id into [servers.NAME.oauth]"


def _none(name: str, address: str, why: str) -> McpctlError:
    hint = (
        f"register a client there, with the redirect URL {address}, then: mcpctl servers set {name}"
        f" --oauth client_id=ID --oauth redirect_port={address.rpartition(':')[2].partition('/')[0]},"
        " and --oauth 'client_secret=${VARIABLE}' if it has a secret"
    )
    return LoginFailed(why, hint, "no_client")
