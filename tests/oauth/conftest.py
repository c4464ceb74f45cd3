"""What tests of logins have in common."""

import pytest

from mcpctl.base.paths import Paths
from mcpctl.oauth.token_store import TokenStore


@pytest.fixture
def store(paths: Paths) -> TokenStore:
    """The logins of this test's data directory."""
    return TokenStore(paths)
