"""A home in which only this test's clients are, and one way to ask what is found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mcpctl.doctor import examination
from mcpctl.doctor.findings import Case, DoctorFinding
from tests.proxy.conftest import serve_process  # noqa: F401

Found = Callable[[str], list[DoctorFinding]]


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which clients keep their files."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "MCPCTL_OWNER"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def found() -> Found:
    """What is wrong in an area, or worth knowing."""

    def of(area: str) -> list[DoctorFinding]:
        return [each for each in examination.examined(Case.of(None, None), [area])[area] if each.code]

    return of


def told(findings: list[DoctorFinding]) -> list[tuple[str, str | None, str]]:
    """Codes, subjects and messages."""
    return [(each.code, each.subject, each.message) for each in findings]
