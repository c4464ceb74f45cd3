"""`mcpctl approvals revoke`"""

from pathlib import Path

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from tests.commands.approvals.waiting import opened, wanted
from tests.conftest import Mcpctl
from tests.proxy.client import journal_lines


def test_a_standing_yes_is_found_however_old_and_taken_back(
    mcpctl: Mcpctl, paths: Paths, person: None, home: Path
) -> None:
    mcpctl("approvals", "allow", opened(paths).id, "--always")
    with PolicyFile.connect(paths) as file:
        file.db.execute("UPDATE approvals SET created = created - 40 * 86400, answered = created")
        file.db.execute("UPDATE grants SET created = created - 40 * 86400")
        approvals.open_for(file, wanted(2))
    (row,) = mcpctl("approvals", "ls", "--standing", "--json").json
    assert (row["key"], row["scope"], row["until"]) == ("files:delete", "always", None)
    assert mcpctl("approvals", "revoke", "files:delet").code == 3
    assert mcpctl("approvals", "revoke", "files:delete").out == f"{row['id']}\n"
    assert mcpctl("approvals", "ls", "--standing", "--json").json == []
    last = [line for line in journal_lines(home) if line["type"] == "decisions.made"][-1]
    assert (last["decision"], last["rule"], last["scope"]) == ("declined", "standing yes taken back", "always")
