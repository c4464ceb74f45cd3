"""The files of logins: `oauth/HASH.json` in the data directory, one for each server's URL and issuer.

Several configurations, and any number of processes, may share them. The secrets of a login may be in the system's
keyring instead (`pip install 'mcpctl[keyring]'`); its file says so, and has the rest.
"""

import hashlib
import itertools
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import bounds, files, posix
from mcpctl.base.errors import McpctlError, NotFound, Unusable, warn
from mcpctl.base.paths import Paths, cannot_write, private_dir
from mcpctl.config.server_environment import CannotLaunch, endpoint
from mcpctl.config.server_settings import OPENAPI, STDIO, VARIABLE, Server
from mcpctl.oauth.tokens import Tokens, canonical
from mcpctl.secrets.redact import learn

_MOST_BYTES = 64 << 10
_MOST_FILES = 1000
_NAME = re.compile(r"[0-9a-f]{64}\.json")
_WAIT_S = 45.0  # a refresh under the lock takes 30 s at most
_FIRST_LOOK_S, _LAST_LOOK_S = 0.001, 0.05
_SERVICE = "mcpctl"
_HINT = "make it writable, or name another place with --data-dir or MCPCTL_DATA_DIR"


class _Secrets(msgspec.Struct, frozen=True, kw_only=True):
    access_token: str
    refresh_token: str | None = None
    client_secret: str | None = None

    def __repr__(self) -> str:
        """Without the secrets."""
        return "_Secrets()"


class _KeptTokens(Tokens, frozen=True, kw_only=True):
    keyring: str = ""

    @property
    def is_refreshed(self) -> bool:
        """Whether they can be refreshed, told without the keyring."""
        return super().is_refreshed or bool(self.keyring)


class TokenStore:
    """The logins of a data directory. All of it may wait for a file or its lock: call it in a thread."""

    def __init__(self, paths: Paths, *, in_keyring: bool = False) -> None:
        """`in_keyring` is for new logins, whose secrets the keyring is to have; the files of others name theirs."""
        self._folder = paths.oauth
        self._in_keyring = in_keyring

    def path(self, server_url: str, issuer: str) -> Path:
        key = f"{canonical(server_url)}\n{issuer}".encode()
        return self._folder / f"{hashlib.sha256(key).hexdigest()}.json"

    def find(self, server_url: str, issuer: str = "", *, secrets: bool = True) -> Tokens | None:
        """The latest login to a server; without `secrets` no keyring is asked. Raises `McpctlError`."""
        logins = self._of(server_url, issuer)
        latest = max(logins, key=lambda tokens: tokens.logged_in_at, default=None)
        return self._with_secrets(latest) if latest and secrets else latest

    def keep(self, tokens: Tokens) -> None:
        """Keep a new login, whole or not at all; raises `McpctlError`."""
        path = self.path(tokens.server_url, tokens.issuer)
        with self._lock(path):
            self._write(path, tokens, in_keyring=self._in_keyring)

    def forget(self, server_url: str, issuer: str = "") -> int:
        """Delete the logins to a server; returns their number. Raises `McpctlError`."""
        logins = self._of(server_url, issuer)
        for tokens in logins:
            path = self.path(tokens.server_url, tokens.issuer)
            with self._lock(path):
                try:
                    path.unlink(missing_ok=True)
                    _lock_of(path).unlink(missing_ok=True)
                except OSError as error:
                    raise cannot_write(path, error, _HINT) from error
                if tokens.keyring:
                    with _keyring() as keyring:
                        if keyring.get_password(_SERVICE, path.stem) is not None:
                            keyring.delete_password(_SERVICE, path.stem)
        return len(logins)

    @contextmanager
    def locked(self, tokens: Tokens) -> Iterator[Path]:
        """Hold the lock (flock) of this login: one process refreshes it at a time. Raises `McpctlError`."""
        path = self.path(tokens.server_url, tokens.issuer)
        with self._lock(path):
            yield path

    # ---- for a login that is held

    def read(self, path: Path) -> Tokens | None:
        kept = _read(path)
        return self._with_secrets(kept) if kept else None

    def rewrite(self, path: Path, tokens: Tokens) -> None:
        """Keep it, whole or not at all, where its secrets are kept already; raises `McpctlError`."""
        kept = _read(path)
        self._write(path, tokens, in_keyring=bool(kept and kept.keyring))

    def _with_secrets(self, kept: _KeptTokens) -> Tokens:
        if kept.keyring:
            with _keyring() as keyring:
                text = keyring.get_password(_SERVICE, self.path(kept.server_url, kept.issuer).stem)
            try:
                secrets = msgspec.json.decode(text or "", type=_Secrets)
            except ValueError:
                why = "the keyring does not have this login any more"
                raise Unusable(why, "log in again", "keyring_unusable") from None
            kept = msgspec.structs.replace(kept, **msgspec.structs.asdict(secrets))
        _learn(kept)
        return kept

    def _write(self, path: Path, tokens: Tokens, *, in_keyring: bool) -> None:
        _learn(tokens)
        rest = {name: getattr(tokens, name) for name in Tokens.__struct_fields__}
        if in_keyring:
            secrets = msgspec.json.encode({name: rest[name] for name in _Secrets.__struct_fields__}).decode()
            rest |= {"access_token": "", "refresh_token": None, "client_secret": None}
            with _keyring() as keyring:  # first, so that no file ever speaks of secrets that are not there
                keyring.set_password(_SERVICE, path.stem, secrets)
                rest["keyring"] = str(keyring.get_keyring().name)
        content = msgspec.json.encode(_KeptTokens(**rest))
        if len(content) > _MOST_BYTES:
            raise Unusable(f"the login has more than {_MOST_BYTES >> 10} kB", "log in again", "login_too_large")
        files.edit(path, lambda _: content, _HINT)

    # ---- files

    def _of(self, server_url: str, issuer: str) -> list[_KeptTokens]:
        paths = [self.path(server_url, issuer)] if issuer else self._files()
        url = canonical(server_url)
        return [kept for path in paths if (kept := _read(path)) and canonical(kept.server_url) == url]

    def _files(self) -> list[Path]:
        try:
            with os.scandir(self._folder) as entries:
                named = (Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name))
                paths = list(itertools.islice(named, _MOST_FILES + 1))
        except FileNotFoundError:
            return []
        except OSError as error:
            warn(f"cannot read {self._folder}: {error.strerror or error}; no login is known")
            return []
        if len(paths) > _MOST_FILES:
            warn(f"{self._folder} has more than {_MOST_FILES:,} logins; the others are not looked at")
        return paths[:_MOST_FILES]

    @contextmanager
    def _lock(self, path: Path) -> Iterator[None]:
        private_dir(self._folder)
        lock, until = _lock_of(path), time.monotonic() + _WAIT_S
        for attempt in itertools.count(1):
            try:
                fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise cannot_write(lock, error, _HINT) from error
            with os.fdopen(fd, "rb"):
                if posix.lock(fd) and files.is_at(lock, fd):  # who deletes a login deletes its lock
                    yield
                    return
            if time.monotonic() > until:
                raise Unusable(
                    f"another process has held {lock} for {_WAIT_S:g} s", "end it, or try again", "login_busy"
                )
            # Not `flock` that waits: nothing could bound it.
            time.sleep(bounds.back_off(attempt, _FIRST_LOOK_S, _LAST_LOOK_S))


def check_keyring() -> None:
    """Raise `McpctlError` where there is no keyring that can be used."""
    with _keyring() as keyring:
        keyring.get_password(_SERVICE, _SERVICE)  # which is not a login


@contextmanager
def _keyring() -> Iterator[Any]:
    """The module keyring; its import takes 90 ms, and it may ask its user to unlock it. Raises `McpctlError`."""
    try:
        import keyring
    except ImportError:
        hint = "install it with: pip install 'mcpctl[keyring]'; or set store = \"file\" in [oauth] and log in again"
        raise Unusable("the package keyring is not installed", hint, "keyring_unusable") from None
    try:
        yield keyring
    except Exception as error:  # back ends raise what they like
        kind = type(error).__name__  # its kind alone: a back end's message may repeat the secret that it was given
        why = f"the keyring cannot be used ({kind})" if kind != "NoKeyringError" else "this system has no keyring"
        hint = 'unlock or set up a keyring, or set store = "file" in [oauth] and log in again'
        raise Unusable(why, hint, "keyring_unusable") from None


def _read(path: Path) -> _KeptTokens | None:
    """The login in a file; None where there is none, or something else, with a warning."""
    try:
        kept = msgspec.json.decode(files.read(path, _MOST_BYTES), type=_KeptTokens)
    except NotFound:
        return None
    except (McpctlError, ValueError, RecursionError) as error:
        why = error.message if isinstance(error, McpctlError) else f"{path} is not a login"
        warn(f"{why}; skipped")
        return None
    key = f"{canonical(kept.server_url)}\n{kept.issuer}".encode()
    if hashlib.sha256(key).hexdigest() != path.stem:
        warn(f"{path} is the login to another server than its name says; skipped")
        return None
    return kept


def _learn(tokens: Tokens) -> None:
    learn(f"{tokens.server_url}\n{tokens.issuer}", tokens.access_token, tokens.refresh_token, tokens.client_secret)


def _lock_of(path: Path) -> Path:
    """The file that is locked: beside the login's own, which each refresh replaces."""
    return path.with_suffix(".lock")


NEEDED, LOGGED_IN, EXPIRED = "needed", "logged in", "expired"


def login_state(
    store: TokenStore, server: Server, config_path: Path, refused_at: float | None
) -> tuple[str | None, float | None]:
    """The state of a login, and its end where nothing refreshes it, or None; it asks no server and no keyring."""
    if server.kind in (STDIO, OPENAPI) or server.has_token:
        return None, None
    issuer = server.oauth.issuer if server.oauth else ""
    try:
        # Only where it must: the environment may be in a file, whose reader takes 60 ms.
        url = endpoint(server, config_path).url if VARIABLE.search(server.url) else server.url
    except CannotLaunch:
        return None, None
    tokens = store.find(url, "" if VARIABLE.search(issuer) else issuer, secrets=False)
    if tokens is None:
        return (NEEDED if refused_at or server.oauth else None), None
    if refused_at and refused_at > tokens.issued_at:
        return EXPIRED, None
    if tokens.is_refreshed:
        return LOGGED_IN, None
    return (LOGGED_IN if tokens.holds(time.time()) else EXPIRED), tokens.expires_at
