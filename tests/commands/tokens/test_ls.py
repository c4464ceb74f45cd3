"""`mcpctl tokens ls`"""

import time

from mcpctl.base.models import TOKEN_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import clock
from tests.conftest import Mcpctl


def test_nothing_is_listed_and_made_where_there_is_none(mcpctl: Mcpctl, paths: Paths) -> None:
    assert mcpctl("tokens", "ls", "--json").json == []
    assert not paths.policy.exists()


def test_a_row_says_what_it_is_for_and_whether_it_is_valid(mcpctl: Mcpctl, paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        first, text = tokens.create(file, projects=["zoo", "acme"], servers=["notes"], read_only=True)
        expired, _ = tokens.create(file, expires=time.time() - 1)
        revoked, _ = tokens.create(file, expires=time.time() - 1)
        tokens.revoke(file, [revoked.id])
    rows = mcpctl("tokens", "ls", "--json").json
    assert tuple(rows[0]) == TOKEN_FIELDS
    assert rows[0] == {
        "id": first.id,
        "projects": ["acme", "zoo"],
        "servers": ["notes"],
        "read_only": True,
        "created": clock.iso(first.created),
        "expires": None,
        "state": "valid",
        "name": None,
    }
    assert {row["id"]: row["state"] for row in rows} == {
        first.id: "valid", expired.id: "expired", revoked.id: "revoked",
    }  # fmt: skip
    table = mcpctl("tokens", "ls", tty=True).out
    assert "acme,zoo" in table
    assert text not in table
    assert first.hash not in mcpctl("tokens", "ls", "--json").out
