"""The entry of an HTTP API with every variable and command expanded, as `server_environment` does it for others."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mcpctl.config.server_environment import HEADER_VALUE, VALUE, CannotLaunch, expand, known_to, lacking
from mcpctl.config.server_settings import ClientCredentials, Server, is_address
from mcpctl.secrets.redact import MASK, is_secret_name

_NO_PASSWORD = 4  # fewer characters than this stand in the place of one, such as X


class Api(msgspec.Struct, frozen=True, kw_only=True):
    """All that is sent with an API's requests. It holds secrets: never shown, never stored."""

    url: str  # without a slash at its end; empty where the document says it
    written_url: str  # the same as the entry has it, which is the base that its operations are compiled with
    headers: dict[str, str]
    parameters: dict[str, bytes]  # each in JSON
    auth: dict[str, str | ClientCredentials]
    slash_in: frozenset[str] = frozenset()
    origins: list[str] = []
    upload_root: Path | None = None
    unset: dict[str, str] = {}  # by scheme: why its value is none, where that is for want of a variable
    secrets: tuple[str, ...] = ()  # its credentials, and every value that a variable or a command has given


def api(server: Server, config_path: Path, env: Mapping[str, str] = os.environ, *, masked: bool = False) -> Api:
    """The entry expanded; raises `CannotLaunch`. One that is `masked` is for requests that are shown: no command is run
    for it, and `MASK` is in place of every credential, and of every value that comes from elsewhere."""
    known, printed = known_to(server, config_path, env), None
    url = _address(server.url, known, masked=masked)
    without = unset(server, known)
    # Its place is no secret; what else a variable has put into it may be one.
    secrets = [part for part in urlsplit(url).path.split("/") if part and part not in server.url]
    if masked:
        known, printed = {name: MASK if text else "" for name, text in known.items()}, lambda *_: MASK

    def value(written: str, *, is_secret: bool = False) -> str:
        text = expand(written, known, printed).strip(" \t")
        secrets.extend(expand(match[0], known, printed).strip() for match in VALUE.finditer(written))
        if not is_secret or not text:
            return text
        # Before a blank there may be a scheme, and before a colon a user: a key, where the password is none.
        user, colon, password = text.partition(":")
        secrets.extend((text, text.partition(" ")[2].strip(), password.strip()))
        secrets.extend([user] if colon and len(password) < _NO_PASSWORD else [])
        return MASK if masked else text

    def header(name: str, written: str) -> str:
        is_whole = not masked or VALUE.search(written) is None  # with a variable, its scheme is shown
        text = value(written, is_secret=is_secret_name(name) and is_whole)
        if not HEADER_VALUE.match(text):
            raise CannotLaunch(f"its header {name} has characters that a header cannot have", "fix the header's value")
        return text

    auth: dict[str, str | ClientCredentials] = {}
    for scheme, of in server.auth.items():
        if isinstance(of, str):
            # Without its variable a scheme has no value, and another may have one.
            auth[scheme] = "" if scheme in without else value(of, is_secret=True)
            continue
        client_id, secret = (expand(text, known, printed).strip() for text in (of.client_id, of.client_secret))
        secrets.append(secret)
        auth[scheme] = msgspec.structs.replace(of, client_id=client_id, client_secret=secret)
    return Api(
        url=url, written_url=server.url.rstrip("/"), auth=auth,
        headers={name: header(name, text) for name, text in server.headers.items()},
        parameters={name: msgspec.json.encode(_expanded(of, partial(value, is_secret=is_secret_name(name))))
                    for name, of in server.parameters.items()},
        slash_in=frozenset(server.slash_in), origins=server.origins, unset=without,
        upload_root=config_path.parent / Path(server.upload_root).expanduser() if server.upload_root else None,
        secrets=() if masked else tuple(secrets),
    )  # fmt: skip


def unset(server: Server, known: Mapping[str, str]) -> dict[str, str]:
    """The schemes in `auth` whose variable has no value, each with the words for that."""
    return {
        scheme: f"the variable {missing[0]} is not set"
        for scheme, of in server.auth.items()
        if (missing := lacking([of] if isinstance(of, str) else [of.client_id, of.client_secret], known))
    }


def _address(written: str, known: Mapping[str, str], *, masked: bool) -> str:
    url = expand(written, known, (lambda *_: MASK) if masked else None).rstrip("/")
    if url and not is_address(url):
        raise CannotLaunch("its url, once expanded, is not an address", 'write "url" as https://host/path')
    if masked and url != written.rstrip("/"):
        # Its place is no secret; its path may have one.
        path = urlsplit(expand(written, dict.fromkeys(known, MASK), lambda *_: MASK)).path.strip("/")
        return f"{urlsplit(url).scheme}://{urlsplit(url).netloc}{path and '/' + path}"
    return url


def _expanded(given: Any, value: "partial[str]") -> Any:
    """A value of `parameters`, whose texts are expanded; those under the name of a secret are one."""
    if isinstance(given, str):
        return value(given) if "${" in given or value.keywords["is_secret"] else given
    if isinstance(given, list):
        return [_expanded(item, value) for item in given]
    if isinstance(given, dict):
        return {name: _expanded(item, value) for name, item in given.items()}
    return given
