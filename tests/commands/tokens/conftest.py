"""A terminal for the commands, and none of what agents set."""

import pytest


@pytest.fixture(autouse=True)
def terminal(person: None) -> None:
    """Have the commands run in front of a terminal."""
