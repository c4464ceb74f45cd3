"""What tests of logins have in common."""

import pytest

from mcpctl.oauth.token_store import TokenStore
from mcpctl.paths import Paths


@pytest.fixture
def store(paths: Paths) -> TokenStore:
    """The logins of this test's data directory."""
    return TokenStore(paths)
