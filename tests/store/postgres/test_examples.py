"""The files of `examples/team/` for many machines are taken by the programs that they are for."""

import shutil
import subprocess

import pytest

from tests.conftest import ROOT
from tests.postgres import Cluster

pytestmark = [pytest.mark.process, pytest.mark.slow]
TEAM = ROOT / "examples" / "team"


def test_the_lines_for_logins_are_read(cluster: Cluster) -> None:
    hba = cluster.folder / "data" / "pg_hba.conf"
    before = hba.read_text()
    try:
        hba.write_text(before + (TEAM / "pg_hba.conf").read_text(encoding="utf-8"))
        rules = "SELECT database::text, user_name::text, auth_method, error FROM pg_hba_file_rules"
        ours = [row for row in cluster.execute(cluster.url(), rules) if row[0] == "{mcpctl}"]
        assert [row[1:3] for row in ours] == [
            ("{+mcpctl_writer}", "scram-sha-256"),
            ("{+mcpctl_reader}", "scram-sha-256"),
            ("{+mcpctl_owner}", "scram-sha-256"),
            ("{all}", "reject"),
        ]
        assert {row[3] for row in ours} <= {None, "hostssl record cannot match because SSL is disabled"}
    finally:
        hba.write_text(before)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_the_unit_is_one_of_systemd() -> None:
    ran = subprocess.run(
        ["systemd-analyze", "verify", str(TEAM / "mcpctl-ship.service")], capture_output=True, text=True, check=False
    )
    told = [line for line in ran.stderr.splitlines() if "mcpctl-ship" in line and "is not executable" not in line]
    assert told == []
