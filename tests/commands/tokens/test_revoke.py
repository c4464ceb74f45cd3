"""`mcpctl tokens revoke`"""

from typing import Any

from mcpctl.base.paths import Paths
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from tests.conftest import Mcpctl


def states(mcpctl: Mcpctl) -> dict[str, Any]:
    return {row["id"]: row["state"] for row in mcpctl("tokens", "ls", "--json").json}


def test_all_that_are_named_are_revoked_or_none(mcpctl: Mcpctl, paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        one, two, three = (tokens.create(file)[0].id for _ in range(3))
    ran = mcpctl("tokens", "revoke", one, "unknown")
    assert ran.code == 3
    assert ran.err.startswith("mcpctl: no token 'unknown'\nhint: ")
    assert set(states(mcpctl).values()) == {"valid"}
    assert mcpctl("tokens", "revoke", one, two).out == f"{one}\n{two}\n"
    assert states(mcpctl) == {one: "revoked", two: "revoked", three: "valid"}


def test_one_that_is_revoked_stays_so_since_when_it_was(mcpctl: Mcpctl, paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        id_ = tokens.create(file)[0].id
        tokens.revoke(file, [id_])
        (before,) = tokens.every(file)
    assert mcpctl("tokens", "revoke", id_).code == 0
    with PolicyFile.connect(paths) as file:
        assert tokens.every(file) == (before,)
