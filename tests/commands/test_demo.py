"""`mcpctl demo`: the whole loop, as a process."""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from mcpctl.demo import tour
from tests.conftest import MCPCTL, ROOT, Mcpctl

pytestmark = [pytest.mark.process, pytest.mark.slow]

SECONDS = 30
"""What a slow machine may take; it is one to three on others."""


def run(folder: Path, *options: str) -> str:
    folder.mkdir(exist_ok=True)
    env = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run([*MCPCTL, "demo", *options], env=env, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_shows_the_whole_loop_and_with_keep_its_home_stays(
    tmp_path: Path, home: Path, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = run(tmp_path / "tmp", "--keep")
    assert "sees: tool_discovery, tool_execute" in out
    for line in ("$ mcpctl tools ls", "$ mcpctl sessions show last", "$ mcpctl calls ls"):
        assert line in out
    shown = re.findall(r"^  0\.\d\d  .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(shown) == 3
    assert "\n".join(shown) in out  # what the README shows of it
    assert re.search(r"weather:get_forecast +yes +- +- +yes +Get the forecast", out)
    assert re.search(r"weather +get_forecast +R--O +tool_error", out)
    assert "  error: days must be" in out or "  error: city must be" in out
    assert not home.exists()
    left = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [line for line in left if any(str(tmp_path / "tmp") in word for word in line)]
    (kept,) = (tmp_path / "tmp").iterdir()
    assert f"MCPCTL_HOME={kept}" in out
    monkeypatch.setenv("MCPCTL_HOME", str(kept))
    assert mcpctl("calls", "show", "last", "--json").json["status"] == "tool_error"


@pytest.mark.parametrize("error", [None, LookupError])
def test_its_home_goes_with_it(
    tmp_path: Path, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, error: type[Exception] | None
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[Path] = []

    def played(env: Mapping[str, str]) -> list[str]:
        seen.append(Path(env["MCPCTL_HOME"]))
        assert (seen[0] / "config.toml").exists()
        if error:
            raise error
        return []

    monkeypatch.setattr(tour, "_played", played)
    monkeypatch.setattr(tour, "_shown", lambda command, env: "")
    with pytest.raises(error) if error else nullcontext():
        ran = mcpctl("demo")
        assert (ran.code, ran.out.splitlines()[-1]) == (0, "mcpctl install CLIENT --dry-run.")
        assert ran.out.index("mcpctl init.") < ran.out.index("mcpctl servers add;")
    assert (len(seen), list(tmp_path.iterdir())) == (1, [])


def test_it_takes_no_arguments(mcpctl: Mcpctl) -> None:
    assert mcpctl("demo", "x").code == 2
