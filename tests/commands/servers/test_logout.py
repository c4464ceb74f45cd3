"""`mcpctl servers logout`"""

from collections.abc import Iterator

import pytest

from mcpctl.base.paths import Paths
from mcpctl.oauth.token_store import TokenStore
from tests.commands.servers.test_login import person, remembered
from tests.configured import configure
from tests.conftest import Mcpctl
from tests.oauth import sites
from tests.oauth.sites import Sites

__all__ = ["person"]


@pytest.fixture
def at(mcpctl: Mcpctl, paths: Paths) -> Iterator[Sites]:
    """Both, with somebody logged in."""
    with sites.running() as found:
        configure(paths, {"s": {"url": found.url}})
        assert mcpctl("servers", "login", "s").code == 0
        remembered()
        yield found


@pytest.mark.slow
def test_a_login_is_deleted_and_its_issuer_takes_it_back(mcpctl: Mcpctl, paths: Paths, at: Sites) -> None:
    ran = mcpctl("servers", "logout", "s", "--json")
    assert ran.json == {"server": "s", "issuer": at.issuer.name, "revoked": True}
    assert TokenStore(paths).find(at.url) is None
    assert (at.issuer.access, at.issuer.refresh) == ({}, {})
    assert dict(at.issuer.asked)["revoke"]["token_type_hint"] == "refresh_token"
    assert mcpctl("servers", "ls", "--json").json[0]["login"] == "needed"
    again = mcpctl("servers", "logout", "s")
    assert again.code == 3
    assert "nobody is logged in to 's'" in again.err


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.slow
def test_the_login_of_a_client_with_a_secret_is_taken_back_too(mcpctl: Mcpctl, paths: Paths, method: str) -> None:
    with sites.running(methods=[method]) as found:
        configure(paths, {"s": {"url": found.url}})
        assert mcpctl("servers", "login", "s").code == 0
        assert mcpctl("servers", "logout", "s", "--json").json["revoked"]
        assert found.issuer.refresh == {}


def test_that_of_a_client_with_a_secret_is_taken_back_too(
    mcpctl: Mcpctl, paths: Paths, at: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    at.issuer.know("mine", "s3cret")
    configure(paths, {"s": {"url": at.url, "oauth": {"client_id": "mine", "client_secret": "${SECRET}"}}})
    assert mcpctl("servers", "login", "s").code == 0
    assert mcpctl("servers", "logout", "s", "--json").json["revoked"]
    sent = dict(at.issuer.asked)["revoke"]
    assert sent["authorization"].startswith("Basic ") and "client_secret" not in sent


@pytest.mark.slow
def test_an_issuer_that_cannot_be_told_keeps_nobody_logged_in(mcpctl: Mcpctl, paths: Paths, at: Sites) -> None:
    at.issuer.name = "http://127.0.0.1:1/tenant"  # so that what it says of itself is not taken for its word
    ran = mcpctl("servers", "logout", "s")
    assert (ran.code, ran.out) == (0, "s\n")
    assert "did not take the tokens back" in ran.err
    assert TokenStore(paths).find(at.url) is None


def test_a_command_has_no_login(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "true"}})
    assert mcpctl("servers", "logout", "s").code == 2
