"""`mcpctl dashboard token`"""

import pytest

from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import claimed
from tests.commands.dashboard.processes import Started, asked
from tests.conftest import Mcpctl


def test_the_token_is_of_the_dashboard_that_runs(mcpctl: Mcpctl, paths: Paths) -> None:
    with claimed(paths) as claim:
        assert claim
        here = claim.publish(4747, read_only=False)
        assert mcpctl("dashboard", "token").out == f"{here.token}\n"
        assert mcpctl("dashboard", "token", "--json").json == {
            "token": here.token, "url": "http://127.0.0.1:4747/", "port": 4747,
        }  # fmt: skip
        claim.publish(4747, read_only=False)
        assert mcpctl("dashboard", "token").out != f"{here.token}\n"


def test_without_a_dashboard_there_is_none(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("dashboard", "token", "--json")
    assert (ran.code, ran.error["code"], ran.error["hint"]) == (3, "no_dashboard", "start it: mcpctl dashboard")
    assert not paths.data.exists()


@pytest.mark.slow
@pytest.mark.process
def test_scripts_read_with_it_and_answer_nothing(mcpctl: Mcpctl) -> None:
    with Started() as started:
        token = f"Bearer {mcpctl('dashboard', 'token').out.strip()}"
        assert asked(started.port, "/sessions", Authorization=token).status == 200
        assert asked(started.port, "/sessions", "POST", Authorization=token).status == 403
        assert asked(started.port, "/sessions", Authorization=f"{token}0").status == 401
