"""Logins are kept whole, for their owner alone, and nothing odd among them costs the others anything."""

import os
import stat
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from mcpctl.base import posix
from mcpctl.base.errors import McpctlError
from mcpctl.base.paths import Paths
from mcpctl.config.exposure import close, of_data
from mcpctl.oauth import token_store
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import canonical
from tests.oauth.logins import ISSUER, URL, login
from tests.table import for_each


@for_each(
    ("written", "is_"),
    [
        ("HTTPS://S.Test/mcp", "https://s.test/mcp"),
        ("https://s.test:443/mcp#part", "https://s.test/mcp"),
        ("http://s.test:80", "http://s.test"),
        ("https://s.test/", "https://s.test"),
        ("https://s.test:8443/Mcp/", "https://s.test:8443/Mcp/"),
        ("https://s.test/mcp?team=A", "https://s.test/mcp?team=A"),
        ("https://[::1]:9/", "https://[::1]:9"),
        ("https://s.test:port/mcp", "https://s.test:port/mcp"),
        ("no address", "no address"),
    ],
)
def test_a_url_is_the_same_however_it_is_written(written: str, is_: str) -> None:
    assert canonical(written) == is_


def test_what_is_kept_is_found_and_forgotten(store: TokenStore) -> None:
    kept = login(expires_at=5.5, scopes="a b", resource=URL, client_secret="s")
    assert store.find(URL) is None
    store.keep(kept)
    found = store.find("HTTPS://s.test:443/mcp")
    assert found and {name: getattr(found, name) for name in kept.__struct_fields__} == {
        name: getattr(kept, name) for name in kept.__struct_fields__
    }
    assert store.find("https://s.test/other") is None
    assert (store.forget(URL), store.forget(URL)) == (1, 0)
    assert store.find(URL) is None


def test_the_latest_login_counts_where_no_issuer_is_named(store: TokenStore) -> None:
    store.keep(login(logged_in_at=2.0, access_token="later"))
    store.keep(login(logged_in_at=1.0, issuer="https://other.test", access_token="earlier"))
    named = [store.find(URL), store.find(URL, "https://other.test"), store.find(URL, "https://none.test")]
    assert [found and found.access_token for found in named] == ["later", "earlier", None]
    assert store.forget(URL, "https://other.test") == 1
    assert store.find(URL)


def test_nobody_else_can_read_a_login(paths: Paths, store: TokenStore) -> None:
    before = os.umask(0)
    try:
        store.keep(login())
    finally:
        os.umask(before)
    modes = {path.suffix or path.name: stat.S_IMODE(path.stat().st_mode) for path in paths.oauth.iterdir()}
    assert modes == {".json": 0o600, ".lock": 0o600}
    assert stat.S_IMODE(paths.oauth.stat().st_mode) == 0o700
    paths.oauth.chmod(0o755)
    assert of_data(paths.data) == [paths.oauth]
    close(paths.data)
    assert of_data(paths.data) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"server_url": 1}', b"[" * 60_000, b'"' + b"x" * 70_000 + b'"', b"\xff"]
)
def test_an_odd_file_is_said_and_skipped(
    paths: Paths, store: TokenStore, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    store.keep(login())
    odd = paths.oauth / f"{'0' * 64}.json"
    odd.write_bytes(content)
    assert store.find(URL)
    err = capsys.readouterr().err
    assert str(odd) in err
    assert "skipped" in err


def test_a_foreign_file_is_not_taken_for_a_login(
    paths: Paths, store: TokenStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.keep(login())
    own = store.path(URL, ISSUER)
    (paths.oauth / f"{'1' * 64}.json").write_bytes(own.read_bytes().replace(b"access-1", b"planted"))
    (paths.oauth / "notes.json").write_text("mine")
    (paths.oauth / f"{'2' * 64}.json").mkdir()
    found = store.find(URL)
    assert found and found.access_token == "access-1"
    assert "than its name says; skipped" in capsys.readouterr().err


def test_only_so_many_files_are_looked_at(
    store: TokenStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(token_store, "_MOST_FILES", 2)
    for number in range(3):
        store.keep(login(issuer=f"https://{number}.test"))
    assert store.find(URL)
    assert "has more than 2 logins" in capsys.readouterr().err


def test_a_login_too_large_to_be_read_again_is_not_kept(store: TokenStore) -> None:
    store.keep(login())
    with pytest.raises(McpctlError, match="more than 64 kB"):
        store.keep(login(access_token="x" * 70_000))
    found = store.find(URL)
    assert found and found.access_token == "access-1"


def test_a_lock_is_held_by_one_and_not_for_ever(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_store, "_WAIT_S", 0.01)
    with (
        store.locked(login()),
        pytest.raises(McpctlError, match="another process has held"),
        store.locked(login()),
    ):
        pass
    with store.locked(login(issuer="https://other.test")), store.locked(login()):
        pass


def test_a_login_that_is_deleted_meanwhile_can_be_made_anew_at_once(store: TokenStore) -> None:
    store.keep(login())
    with store.locked(login()):
        waiting = threading.Thread(target=store.keep, args=(login(access_token="new"),))
        waiting.start()
        store.path(URL, ISSUER).with_suffix(".lock").unlink()
        with store.locked(login()):
            pass  # another lock of that name
    waiting.join()
    found = store.find(URL)
    assert found and found.access_token == "new"


def test_a_lock_whose_file_is_deleted_before_it_is_taken_is_taken_anew(
    store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_store, "_WAIT_S", 0.01)
    store.keep(login())
    lock, really_lock = store.path(URL, ISSUER).with_suffix(".lock"), posix.lock

    def lock_too_late(fd: int) -> bool:
        monkeypatch.setattr(posix, "lock", really_lock)
        lock.unlink()
        return really_lock(fd)

    monkeypatch.setattr(posix, "lock", lock_too_late)
    with (
        store.locked(login()),
        pytest.raises(McpctlError, match="another process has held"),
        store.locked(login()),
    ):
        pass


def test_no_message_shows_a_token(store: TokenStore) -> None:
    store.keep(login(client_secret="hidden"))
    shown = f"{login(client_secret='hidden')!r} {login(client_secret='hidden')} {store.find(URL)!r}"
    assert "https://s.test/mcp" in shown
    assert not [secret for secret in ("access-1", "refresh-1", "hidden") if secret in shown]


# ---- the keyring


class Ring(ModuleType):
    """A keyring in memory."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.fails: Exception | None = None

    def get_keyring(self) -> Any:
        return SimpleNamespace(name="ring of tests")

    def set_password(self, service: str, name: str, password: str) -> None:
        if self.fails:
            raise self.fails
        self.kept[service, name] = password

    def get_password(self, service: str, name: str) -> str | None:
        if self.fails:
            raise self.fails
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    ring = Ring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    return ring


def test_secrets_are_in_the_keyring_where_that_is_asked_for(paths: Paths, store: TokenStore, ring: Ring) -> None:
    TokenStore(paths, in_keyring=True).keep(login(client_secret="hidden", expires_at=7.0))
    written = store.path(URL, ISSUER).read_text()
    assert not [secret for secret in ("access-1", "refresh-1", "hidden") if secret in written]
    assert '"keyring":"ring of tests"' in written
    found = store.find(URL)
    assert found and (found.access_token, found.refresh_token, found.client_secret) == (
        "access-1", "refresh-1", "hidden",
    )  # fmt: skip
    with store.locked(found) as path:
        store.rewrite(path, login(access_token="access-2", expires_at=9.0))
    assert "access-2" not in store.path(URL, ISSUER).read_text()
    again = store.find(URL)
    assert again and (again.access_token, again.expires_at) == ("access-2", 9.0)
    assert store.forget(URL) == 1
    assert not ring.kept


def test_what_is_not_secret_is_known_without_the_keyring(paths: Paths, store: TokenStore, ring: Ring) -> None:
    TokenStore(paths, in_keyring=True).keep(login(expires_at=7.0))
    ring.fails = RuntimeError("locked, and access-1 is in here")
    found = store.find(URL, secrets=False)
    assert found and (found.expires_at, found.access_token) == (7.0, "")
    with pytest.raises(McpctlError) as raised:
        store.find(URL)
    assert raised.value.message == "the keyring cannot be used (RuntimeError)"


def test_without_a_keyring_it_is_said_what_to_do(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(McpctlError) as raised:
        TokenStore(paths, in_keyring=True).keep(login())
    assert raised.value.code == "keyring_unusable"
    assert "pip install 'mcpctl[keyring]'" in raised.value.hint
    assert not list(paths.oauth.glob("*.json"))


def test_a_system_with_no_back_end_is_named_as_one(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backends import fail

    none: type[Any] = fail.Keyring
    monkeypatch.setattr(keyring.core, "_keyring_backend", none())
    with pytest.raises(McpctlError, match="this system has no keyring"):
        TokenStore(paths, in_keyring=True).keep(login())
