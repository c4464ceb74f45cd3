"""The files of `examples/team/` for many machines are taken by the programs that they are for."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable

import pytest

from mcpctl.base.paths import Paths
from tests.conftest import ROOT, Mcpctl
from tests.postgres import Cluster
from tests.recorded import two_sessions
from tests.test_readme import blocks

pytestmark = [pytest.mark.process, pytest.mark.slow]
TEAM = ROOT / "examples" / "team"
GUIDE = (ROOT / "mcpctl" / "docgen" / "guides" / "team.md").read_text(encoding="utf-8")


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


def test_every_line_of_the_guide_does_what_it_says(mcpctl: Mcpctl, paths: Paths, roles: Callable[[str], str]) -> None:
    (block,) = (text for kind, text in blocks(GUIDE) if kind == "shell")
    two_sessions(paths)
    printed: list[str] = []
    for line in block.splitlines():
        words = [
            roles(named[1]) if (named := re.fullmatch(r"postgresql://(\w+)@db\.example\.com/mcpctl", word)) else word
            for word in shlex.split(line)[1:] if word != "--follow"
        ]  # fmt: skip
        ran = mcpctl(*words)
        assert ran.code == 0, (line, ran.err)
        printed.append(ran.out)
    assert printed[0] == "lines: 18\n"
    assert len(printed[-1].splitlines()) == 3  # the calls that failed


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_the_unit_is_one_of_systemd() -> None:
    ran = subprocess.run(
        ["systemd-analyze", "verify", str(TEAM / "mcpctl-ship.service")], capture_output=True, text=True, check=False
    )
    told = [line for line in ran.stderr.splitlines() if "mcpctl-ship" in line and "is not executable" not in line]
    assert told == []
