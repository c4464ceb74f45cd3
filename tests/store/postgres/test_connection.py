"""Addresses of databases: read, and told without what is secret."""

import pytest

from mcpctl.base.errors import WrongUsage
from mcpctl.store.postgres.connection import PostgresUrl
from tests.table import for_each


@for_each(
    "url, told",
    [
        ("postgresql://ann:s3cret@db.example.com/mcpctl", "PostgreSQL at db.example.com, database mcpctl"),
        ("postgres://ann:a%40s3cret@db.example.com:5433/m", "PostgreSQL at db.example.com:5433, database m"),
        ("postgresql://one:1,two:2/m?password=s3cret", "PostgreSQL at one,two:1,2, database m"),
        ("postgresql:///m?host=/run/postgresql&user=a@b", "PostgreSQL at /run/postgresql, database m"),
        ("postgresql://", "PostgreSQL at this machine"),
    ],
)
def test_an_address_is_told_without_its_password(url: str, told: str) -> None:
    assert str(PostgresUrl(url)) == told


@for_each(
    "url",
    [
        "postgresql://ann:p@s3cret@db.example.com/mcpctl", "postgresql://ann:p/s3cret@db.example.com/mcpctl",
        "postgresql://ann:p/s3cret@db.example.com", "postgresql://ann:1/s3cret@db.example.com",
        "postgresql://db.example.com:s3cret/mcpctl", "postgresql://db.example.com/m?s3cret=1", "mysql://s3cret@db/m",
    ],
)  # fmt: skip
def test_an_address_that_halves_a_password_is_refused_and_nothing_of_it_is_told(url: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        PostgresUrl(url)
    assert "s3cret" not in refused.value.message + refused.value.hint
