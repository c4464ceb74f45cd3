"""The README's picture, from what the commands really print on a terminal: python -m tests.picture."""

import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "examples" / "mcpctl.svg"
WIDTH = 88
BEFORE = (
    "servers add notes -- python3 -m mcpctl.demo.notes",
    "servers add weather -- python3 -m mcpctl.demo.weather",
    "tools refresh",
    "tools call notes:add_note title=Oslo text=raincoat",
    "tools call notes:search_notes query=oslo",
)
SHOWN = (
    "tools search forecast for a city",
    "tools call weather:get_forecast city=Oslo days=1",
    "calls ls",
    "calls stats --by tool",
)


def main(target: Path = PICTURE) -> None:
    """Run the commands in a home of their own and draw what they print."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {"MCPCTL_HOME": folder, "PATH": path, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        for line in BEFORE:
            ran(line, env)
        screen = Text()
        for line in SHOWN:
            screen.append("$ ", "bold green").append(f"mcpctl {line}\n", "bold")
            screen.append(Text.from_ansi(ran(line, env).replace("\r\n", "\n").rstrip())).append("\n\n")
    screen.rstrip()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, color_system="truecolor", force_terminal=True)
        console.print(screen)
        # Fonts from elsewhere are not fetched for a picture in a README, and a random id would change every time.
        template = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
        picture = console.export_svg(title="mcpctl", code_format=template, unique_id="mcpctl")
    target.write_text(
        "\n".join(line.rstrip() for line in picture.splitlines() if line.strip()) + "\n", encoding="utf-8"
    )


def ran(line: str, env: Mapping[str, str]) -> str:
    """What a command prints on a terminal, its talk included."""
    outer, inner = pty.openpty()
    words = [sys.executable, "-m", "mcpctl", *line.split()]
    sized = {**env, "COLUMNS": str(WIDTH), "LINES": "50"}
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner, env=sized)
    os.close(inner)
    said = b""
    try:
        while data := os.read(outer, 1 << 16):
            said += data
    except OSError:
        pass  # Linux says so, instead of an empty read, when the last writer has closed a pty
    os.close(outer)
    if process.wait():
        raise SystemExit(f"mcpctl {line}: {said.decode()}")
    return said.decode()


if __name__ == "__main__":
    main()
