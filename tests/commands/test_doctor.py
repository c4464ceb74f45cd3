"""`mcpctl doctor`"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.doctor import examination
from mcpctl.doctor.findings import CODES, Case, DoctorFinding
from tests.configured import DEMO, configure
from tests.conftest import Mcpctl, Ran

LITERALLY = {
    "D101": "error", "D102": "error", "D103": "error", "D104": "error", "D105": "warning", "D106": "warning",
    "D107": "info", "D108": "info", "D109": "warning", "D110": "warning", "D111": "warning", "D112": "info",
    "D113": "warning", "D114": "warning", "D115": "error", "D116": "warning", "D117": "info", "D118": "warning",
    "D119": "warning", "D120": "warning",
    "D121": "warning", "D122": "warning", "D123": "warning", "D124": "error",
    "D131": "error", "D132": "warning", "D133": "error", "D134": "info", "D135": "info", "D141": "error",
    "D142": "warning", "D143": "warning", "D144": "warning", "D145": "warning", "D146": "info", "D147": "info",
    "D148": "error", "D149": "error", "D150": "info", "D151": "info", "D152": "warning", "D153": "info",
    "D161": "warning", "D162": "info",
    "D171": "error", "D172": "error", "D173": "warning", "D174": "warning", "D175": "info", "D176": "info",
    "D177": "info", "D178": "info", "D179": "info", "D180": "warning", "D191": "error",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of clients of this test alone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)


def codes(ran: Ran) -> list[str]:
    return [row["code"] for row in ran.json if row["code"]]


def test_the_codes_are_stable_and_each_says_why_and_what_to_do(mcpctl: Mcpctl) -> None:
    assert {code: rule.severity for code, rule in CODES.items()} == LITERALLY
    listed = mcpctl("doctor", "--list", "--json").json
    assert {row["id"]: row["severity"] for row in listed} == LITERALLY
    assert all(row["why"].endswith(".") and row["fix"] for row in listed)
    assert len(mcpctl("doctor", "--list").out.splitlines()) == len(LITERALLY)


@pytest.mark.slow
def test_a_healthy_home_has_nothing_to_fix(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, DEMO)
    mcpctl("tools", "refresh")
    mcpctl("tools", "call", "weather:get_forecast", "city=Oslo")
    mcpctl("sessions", "ls")
    ran = mcpctl("doctor")
    assert (ran.code, ran.err) == (0, "")
    *lines, last = ran.out.splitlines()
    assert [line.split()[:2] for line in lines] == [[area, "ok"] for area in examination.AREAS]
    assert last == "servers were not started: mcpctl servers check"
    assert f"2 servers in {paths.config}" in ran.out
    assert "1 journal with 0.0 of 512 MB" in ran.out
    assert codes(mcpctl("doctor", "--json")) == []
    assert mcpctl("doctor", "--fix").err == ""


def test_a_home_where_nothing_is_yet_is_no_problem(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("doctor", "--json")
    assert (ran.code, codes(ran)) == (0, ["D108"])
    assert not paths.data.exists()


def test_a_finding_is_told_with_its_fix(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"gone": {"command": "no-such-program"}})
    ran = mcpctl("doctor")
    assert ran.code == 7
    assert (
        "  D131 error    gone: 'no-such-program' is not found on the PATH\n"
        "           fix:  install it, or write its absolute path into the entry\n"
    ) in ran.out
    assert ran.err == "mcpctl: 1 problem\nhint: what each code means: mcpctl doctor --list\n"
    assert {**next(row for row in mcpctl("doctor", "--json").json if row["code"] == "D131")} == {
        "area": "programs", "status": "error", "code": "D131", "subject": "gone", "fixable": False,
        "message": "'no-such-program' is not found on the PATH",
        "fix": "install it, or write its absolute path into the entry",
    }  # fmt: skip


def test_information_alone_is_no_problem(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"off": {"command": sys.executable, "enabled": False}})
    ran = mcpctl("doctor", "--json")
    assert (ran.code, codes(ran)) == (0, ["D107"])


def test_what_can_be_fixed_is_fixed_and_told(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, DEMO)
    mcpctl("tools", "call", "weather:get_forecast", "city=Oslo")
    mcpctl("calls", "ls")
    paths.config.chmod(0o666)
    paths.data.chmod(0o755)
    paths.sessions.chmod(0o755)
    paths.index.write_bytes(b"rubbish" * 2000)
    assert [*codes(ran := mcpctl("doctor", "--json"))] == ["D121", "D122", "D145"]
    assert ran.error == {"code": "problems", "message": "3 problems",
                         "hint": "3 can be fixed with: mcpctl doctor --fix"}  # fmt: skip
    ran = mcpctl("doctor", "--fix")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        f"chmod go-w {paths.config}",
        f"closed {paths.data} to other users",
        "mcpctl db rebuild: made the index again, closed sessions of the dead, removed what was left over",
    ]
    assert mcpctl("calls", "ls", "--count").out == "1\n"
    assert paths.data.stat().st_mode & 0o777 == 0o700


def test_a_check_that_fails_is_a_finding_and_the_others_are_done(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MCPCTL_DEBUG")
    configure(paths, {"gone": {"command": "no-such-program"}})

    def broken(_: Case) -> list[DoctorFinding]:
        raise KeyError("x")

    monkeypatch.setattr(examination, "AREAS", {**examination.AREAS, "permissions": (broken,)})
    ran = mcpctl("doctor", "--json")
    assert codes(ran) == ["D191", "D131"]
    assert "KeyError('x')" in ran.out


@pytest.mark.parametrize(
    "break_", [
        lambda paths: paths.config.write_text("[servers", encoding="utf-8"),
        lambda paths: paths.config.write_bytes(b"\xff\xfe"),
        lambda paths: (paths.config.unlink(), paths.config.mkdir()),
        lambda paths: paths.data.write_text("a file"),
        lambda paths: (paths.data.mkdir(), paths.sessions.write_text("a file")),
        lambda paths: (paths.data.mkdir(), paths.data.rmdir(), paths.data.symlink_to("nowhere")),
    ],
    ids=["no TOML", "no UTF-8", "a folder", "no folder of data", "no folder of journals", "a link to nothing"],
)  # fmt: skip
def test_nothing_that_is_broken_stops_it(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, break_: Callable[[Paths], object]
) -> None:
    monkeypatch.delenv("MCPCTL_DEBUG")
    configure(paths, {})
    break_(paths)
    for words in (["doctor", "--json"], ["doctor", "--fix", "--json"]):
        ran = mcpctl(*words)
        assert ran.code == 7
        assert {row["area"] for row in ran.json} >= {"programs", "clients"}
        assert "internal" not in ran.err


def test_a_configuration_that_was_named_must_be_there(mcpctl: Mcpctl, tmp_path: Path) -> None:
    ran = mcpctl("doctor", "--config", str(tmp_path / "none.toml"), "--json")
    assert (ran.code, codes(ran)) == (7, ["D101"])


def test_words_of_strangers_are_told_on_one_line_without_escapes(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "no\x1b[31m\nsuch"}})
    ran = mcpctl("doctor", tty=True)
    assert "\x1b" not in ran.out
    assert len([line for line in ran.out.splitlines() if "such" in line]) == 1


def test_it_starts_no_server(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    configure(paths, {"s": {"command": "touch", "args": [str(tmp_path / "started")]}})
    (tmp_path / ".cursor").mkdir()
    entry = {"command": sys.executable, "args": ["-m", "mcpctl", "serve", "--config", str(paths.config)],
             "env": {"PYTHONPATH": str(Path(config.__file__).parent.parent), "MCPCTL_HOME": str(paths.config.parent),
                     "PATH": "/usr/bin:/bin"}}  # fmt: skip
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"mcpctl": entry}}), encoding="utf-8")
    ran = mcpctl("doctor", "--json")
    assert [row["message"] for row in ran.json if row["subject"] == "Cursor"] == ["the entry for mcpctl starts"]
    assert not (tmp_path / "started").exists()
    assert mcpctl("sessions", "ls", "--count").out == "0\n"
