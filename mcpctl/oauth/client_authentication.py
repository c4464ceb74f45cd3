"""How a client says to its issuer who it is: https://www.rfc-editor.org/rfc/rfc6749#section-2.3"""

import base64
from collections.abc import Mapping
from urllib.parse import quote, urlencode

METHODS = NONE, BASIC, POST = "none", "client_secret_basic", "client_secret_post"
"""The supported ways, the first for a client without a secret."""


def request(method: str, client_id: str, secret: str | None, form: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a request with this form."""
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    fields = {**form, "client_id": client_id}  # also beside Basic: the SDK's issuers look for it there
    if method == BASIC and secret:
        # Not `+` for a space: the SDK's issuers do not read it as one.
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif method == POST and secret:
        fields["client_secret"] = secret
    return headers, urlencode(fields).encode()
