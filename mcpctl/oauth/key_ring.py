"""The secrets of logins in the system's keyring, for those who ask for it: `pip install 'mcpctl[keyring]'`.

The import takes 90 ms, and a keyring may ask its user to unlock it: call it in a thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from mcpctl.base.errors import Unusable

_SERVICE = "mcpctl"


class Secrets(msgspec.Struct, frozen=True, kw_only=True):
    access_token: str
    refresh_token: str | None = None
    client_secret: str | None = None

    def __repr__(self) -> str:
        """Without the secrets."""
        return "Secrets()"


def look() -> None:
    """Raise `McpctlError` where there is no keyring that can be used."""
    with _used() as keyring:
        keyring.get_password(_SERVICE, _SERVICE)  # which is no login


def keep(name: str, secrets: Secrets) -> str:
    """Keep the secrets of a login; returns the name of the back end. Raises `McpctlError`."""
    with _used() as keyring:
        keyring.set_password(_SERVICE, name, msgspec.json.encode(secrets).decode())
        return str(keyring.get_keyring().name)


def read(name: str) -> Secrets:
    with _used() as keyring:
        text = keyring.get_password(_SERVICE, name)
    try:
        return msgspec.json.decode(text or "", type=Secrets)
    except ValueError:
        raise Unusable("the keyring does not have this login any more", "log in again", "keyring_unusable") from None


def forget(name: str) -> None:
    with _used() as keyring:
        if keyring.get_password(_SERVICE, name) is not None:
            keyring.delete_password(_SERVICE, name)


@contextmanager
def _used() -> Iterator[Any]:
    try:
        import keyring
    except ImportError:
        hint = "install it with: pip install 'mcpctl[keyring]'; or set store = \"file\" in [oauth] and log in again"
        raise Unusable("the package keyring is not installed", hint, "keyring_unusable") from None
    try:
        yield keyring
    except Exception as error:  # back ends raise what they like
        # Its kind alone: a back end's message may repeat the secret that it was given.
        kind = type(error).__name__
        why = f"the keyring cannot be used ({kind})" if kind != "NoKeyringError" else "this system has no keyring"
        hint = 'unlock or set up a keyring, or set store = "file" in [oauth] and log in again'
        raise Unusable(why, hint, "keyring_unusable") from None
