"""The roles of `examples/team/` in a database of their own."""

from collections.abc import Callable, Iterator

import pytest

from mcpctl.store.postgres.connection import PostgresUrl
from tests.conftest import ROOT
from tests.postgres import Cluster


@pytest.fixture
def roles(cluster: Cluster) -> Iterator[Callable[[str], str]]:
    """The address of a new database of the owner's, for a login with each of the roles of examples/team."""
    database = str(PostgresUrl(cluster.database()).parts["dbname"])
    statements = (ROOT / "examples" / "team" / "roles.sql").read_text(encoding="utf-8")
    cluster.execute(cluster.url(database), statements.replace("DATABASE mcpctl", f"DATABASE {database}"))
    yield lambda login: cluster.url(database, login)
    cluster.execute(cluster.url(database), "DROP OWNED BY mcpctl_owner, mcpctl_writer, mcpctl_reader CASCADE")
    cluster.execute(cluster.url(database), f"ALTER DATABASE {database} OWNER TO postgres")
    for role in ("shop1", "ann", "admin", "mcpctl_writer", "mcpctl_reader", "mcpctl_owner"):
        cluster.execute(cluster.url(database), f"DROP ROLE {role}")
