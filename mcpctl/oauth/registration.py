"""Which client logs in: the one that the configuration names, a metadata document, or one registered for this login."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from mcp.client.auth import utils
from mcp.client.auth.exceptions import OAuthRegistrationError
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata

from mcpctl import __version__
from mcpctl.base.errors import McpctlError
from mcpctl.oauth import client_authentication
from mcpctl.oauth.client_authentication import BASIC, METHODS, NONE, POST
from mcpctl.oauth.requests import LoginFailed, Requests, said

CONFIGURED, DOCUMENT, DYNAMIC = "configured", "metadata document", "dynamic"


@dataclass(frozen=True)
class Client:
    """A client of an issuer. It may hold a secret: never shown."""

    kind: str
    id: str
    secret: str | None = None
    method: str = NONE
    """How it authenticates to the token endpoint."""
    secret_expires_at: float | None = None

    def request(self, form: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
        return client_authentication.request(self.method, self.id, self.secret, form)


def configured(metadata: OAuthMetadata, client_id: str, secret: str) -> Client:
    if not secret:
        return Client(CONFIGURED, client_id)
    # RFC 8414, 2: an issuer that does not say takes the first.
    supported = metadata.token_endpoint_auth_methods_supported or [BASIC]
    method = POST if POST in supported and BASIC not in supported else BASIC
    return Client(CONFIGURED, client_id, secret, method)


def of_document(metadata: OAuthMetadata, url: str) -> Client | None:
    return Client(DOCUMENT, url) if url and utils.should_use_client_metadata_url(metadata, url) else None


async def dynamic(
    requests: Requests, metadata: OAuthMetadata, addresses: list[str], scope: str | None, name: str
) -> tuple[Client, str]:
    """A client registered just now, and the address that it may be sent back to: the first of these that is taken.

    Raises `LoginFailed`, or `McpctlError` where the issuer registers nobody by itself.
    """
    if metadata.registration_endpoint is None:
        raise _none(name, addresses[0], "the issuer registers no clients by itself")
    supported = metadata.token_endpoint_auth_methods_supported or METHODS
    method = next((method for method in METHODS if method in supported), NONE)
    for address in addresses:
        wanted = OAuthClientMetadata.model_validate({
            "client_name": "mcpctl", "redirect_uris": [address], "scope": scope, "application_type": "native",
            "token_endpoint_auth_method": method, "software_id": "mcpctl", "software_version": __version__,
        })  # fmt: skip
        content = wanted.model_dump_json(exclude_none=True).encode()
        url, headers = str(metadata.registration_endpoint), {"content-type": "application/json"}
        response = await requests.send("POST", url, {**headers, "accept": "application/json"}, content)
        if response.status_code != HTTPStatus.BAD_REQUEST:  # which some say to an address, and not to its like
            break
    if response.status_code not in (200, 201):
        raise _none(name, addresses[0], f"the issuer did not register mcpctl ({said(response)})")
    try:
        found = await utils.handle_registration_response(response)
        check_registration_usable(found)
    except OAuthRegistrationError:
        raise LoginFailed("the issuer registered mcpctl in a way that cannot be used", _REGISTER) from None
    method = found.token_endpoint_auth_method or (method if found.client_secret else NONE)
    # 0 is never; and some say when in more digits than there are seconds.
    expires_at = float(min(max(found.client_secret_expires_at, 1), 10**11)) if found.client_secret_expires_at else None
    return Client(DYNAMIC, found.client_id, found.client_secret, method, expires_at), address


_REGISTER = "register a client with the issuer, and write its client_id into [servers.NAME.oauth]"


def _none(name: str, address: str, why: str) -> McpctlError:
    hint = (
        f"register a client there, with the redirect URL {address}, then: mcpctl servers set {name}"
        f" --oauth client_id=ID --oauth redirect_port={address.rpartition(':')[2].partition('/')[0]},"
        " and --oauth 'client_secret=${VARIABLE}' if it has a secret"
    )
    return LoginFailed(why, hint, "no_client")
