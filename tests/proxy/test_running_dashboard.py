"""Where the dashboard is, as a refusal names it."""

from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import claimed
from mcpctl.proxy.running_dashboard import dashboard_url


def test_it_is_where_it_says_as_long_as_it_runs(paths: Paths) -> None:
    assert dashboard_url(paths) == ""
    with claimed(paths) as claim:
        assert claim
        assert dashboard_url(paths) == "", "it has not said yet"
        claim.publish(4711, read_only=False)
        assert dashboard_url(paths) == "http://127.0.0.1:4711/"
    assert dashboard_url(paths) == ""
