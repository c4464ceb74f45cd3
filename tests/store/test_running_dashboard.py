"""Where the dashboard is, as a refusal names it."""

from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import claimed
from mcpctl.store import running_dashboard


def test_it_is_where_it_says_as_long_as_it_runs(paths: Paths) -> None:
    assert running_dashboard.url(paths) == ""
    with claimed(paths) as claim:
        assert claim
        assert running_dashboard.url(paths) == "", "it has not said yet"
        claim.publish(4711, read_only=False)
        assert running_dashboard.url(paths) == "http://127.0.0.1:4711/"
    assert running_dashboard.url(paths) == ""
