"""Where a browser can be opened whose window the user sees."""

import sys
import threading
from pathlib import Path

import pytest

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
    ],
)
def test_a_browser_is_opened_only_where_its_user_sees_it(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], on_linux: bool, on_mac: bool
) -> None:
    for platform, expected in (("linux", on_linux), ("darwin", on_mac)):
        monkeypatch.setattr(sys, "platform", platform)
        assert can_open(env) is expected


def test_nothing_of_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "webbrowser.py").write_text("open('imported', 'w').close()\ndef open(url): return True\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROWSER", "false")
    has_failed = threading.Event()
    open_("https://issuer.example/authorize", has_failed.set)
    assert has_failed.wait(20)
    assert not (tmp_path / "imported").exists()
