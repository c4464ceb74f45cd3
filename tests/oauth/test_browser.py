"""Where a browser can be opened whose window the user sees."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpctl.oauth import browser
from mcpctl.oauth.browser import can_open, open_


@pytest.mark.parametrize(
    ("env", "on_linux", "on_mac"),
    [
        ({}, False, True),
        ({"DISPLAY": ":0"}, True, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True, True),
        ({"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "a b c d"}, False, False),
        ({"SSH_TTY": "/dev/pts/1", "BROWSER": "/usr/bin/opens-there"}, True, True),
        ({"BROWSER": ""}, False, True),
        ({"BROWSER": "lynx", "DISPLAY": ":0"}, False, False),
        ({"BROWSER": "/usr/bin/w3m -N %s:opens-there"}, True, True),
    ],
)
def test_a_browser_is_opened_only_where_its_user_sees_it(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], on_linux: bool, on_mac: bool
) -> None:
    for platform, expected in (("linux", on_linux), ("darwin", on_mac)):
        monkeypatch.setattr(sys, "platform", platform)
        assert can_open(env) is expected


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Puts a shell script of that name where programs are looked for, and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name: str, lines: str) -> Path:
        (folder / name).write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        (folder / name).chmod(0o700)
        return folder / name

    return put


@pytest.mark.parametrize("names", [{"BROWSER": "false"}, {"BROWSER": "none-such:lynx:www-browser"}, {"DISPLAY": ":0"}])
def test_a_browser_in_the_terminal_is_never_started(
    names: dict[str, str], on_path: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**names, "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    for name in ("www-browser", "links", "elinks", "lynx", "w3m"):
        on_path(name, f"echo >> {tmp_path}/started")
    on_path("false", "exit 1")
    has_failed = threading.Event()
    open_("https://issuer.example/authorize", has_failed.set)
    assert has_failed.wait(20)
    assert not (tmp_path / "started").exists()


def test_one_in_the_terminal_is_known_by_what_its_name_leads_to(
    on_path: Callable[[str, str], Path], tmp_path: Path
) -> None:
    (tmp_path / "bin" / "sensible").symlink_to(on_path("lynx", "exit 0"))
    assert not can_open({"BROWSER": "sensible"})


def test_a_browser_that_does_not_say_whether_it_opened_is_not_counted_on(
    on_path: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "closed")
    script = on_path("stays", f"read line < {tmp_path}/closed")
    monkeypatch.setenv("BROWSER", str(script))
    monkeypatch.setattr(browser, "_PATIENCE_S", 0.01)
    has_failed = threading.Event()
    open_("https://issuer.example/authorize", has_failed.set)
    assert has_failed.wait(20)
    (waits,) = [each for each in threading.enumerate() if each.name == "browser"]
    (tmp_path / "closed").write_text("now\n", encoding="utf-8")
    waits.join(20)
    assert not waits.is_alive()


def test_nothing_of_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "webbrowser.py").write_text("open('imported', 'w').close()\ndef open(url): return True\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROWSER", "false")
    has_failed = threading.Event()
    open_("https://issuer.example/authorize", has_failed.set)
    assert has_failed.wait(20)
    assert not (tmp_path / "imported").exists()
