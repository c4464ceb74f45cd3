"""What others on the machine, and on the way, could read or change."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config, exposure
from mcpctl.store import state_file
from tests.configured import DEMO, configure
from tests.conftest import Mcpctl
from tests.proxy.conftest import Serve, serve  # noqa: F401

SECRET = {"env": {"API_TOKEN": "abc"}}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("entry", "is_said"),
    [
        (SECRET, True), ({"args": ["--token=abc"]}, True), ({"env": {"A": "ghp_" + "x" * 36}}, True),
        ({"env": {"API_TOKEN": "${API_TOKEN}"}}, False), ({"env": {"LOG_LEVEL": "debug"}}, False),
        ({"command": "", "url": "https://a.example", "headers": {"Authorization": "Bearer abc"}}, True),
        ({"command": "", "url": "https://a.example", "headers": {"Authorization": "Bearer ${T}"}}, False),
        ({"command": "", "url": "https://a.example", "oauth": {"client_id": "x", "client_secret": "abc"}}, True),
        ({"command": "", "url": "https://a.example", "oauth": {"client_id": "x", "client_secret": "${T}"}}, False),
    ],
)  # fmt: skip
def test_secrets_that_others_can_read_are_said(
    paths: Paths, capsys: pytest.CaptureFixture[str], entry: Mapping[str, Any], is_said: bool
) -> None:
    table = {key: value for key, value in {"command": "true", **entry}.items() if value}
    configure(paths, {"s": table})
    for bits in (0o600, 0o640, 0o644):
        paths.config.chmod(bits)
        exposure.guard(paths, config.load(paths.config))
        assert (f"chmod 600 {paths.config}" in capsys.readouterr().err) is (is_said and bits == 0o644)


def test_a_configuration_that_others_can_change_is_said(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    configure(paths, DEMO)
    paths.config.chmod(0o666)
    exposure.guard(paths, config.load(paths.config))
    assert f"chmod go-w {paths.config}" in capsys.readouterr().err


def opened_to_all(paths: Paths) -> None:
    with closing(state_file.connect(paths)):
        pass
    for path in (paths.data, paths.state):
        path.chmod(0o777)
    paths.toolsets.mkdir()
    paths.toolsets.chmod(0o755)


def test_what_is_ours_is_closed_to_others(paths: Paths) -> None:
    configure(paths, DEMO)
    opened_to_all(paths)
    exposure.guard(paths, config.load(paths.config))
    assert [mode(path) for path in (paths.data, paths.state, paths.toolsets)] == [0o700, 0o700, 0o700]


def test_all_that_is_kept_in_the_data_directory_is_ours(paths: Paths) -> None:
    names = [name for name, member in vars(Paths).items() if isinstance(member, property)]
    kept = [path for name in names if isinstance(path := getattr(paths, name), Path)]
    for path in (*kept, *paths.older_indexes, paths.log("s")):
        (top := paths.data / path.relative_to(paths.data).parts[0]).mkdir(parents=True, exist_ok=True)
        top.chmod(0o755)
    paths.data.chmod(0o755)
    assert exposure.of_data(paths.data)
    exposure.close(paths.data)
    assert exposure.of_data(paths.data) == []
    assert {path.name: mode(path) for path in (paths.data, *paths.data.iterdir()) if mode(path) != 0o700} == {}


def test_a_folder_that_has_more_stays_open_and_others_who_can_change_it_are_said(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(paths, DEMO)
    opened_to_all(paths)
    (paths.data / "mine.txt").touch(mode=0o644)
    (paths.data / "state.db-link").symlink_to("mine.txt")
    exposure.guard(paths, config.load(paths.config))
    assert [mode(paths.data), mode(paths.data / "mine.txt"), mode(paths.state)] == [0o777, 0o644, 0o700]
    assert f"chmod go-w {paths.data}" in capsys.readouterr().err


@pytest.mark.process
def test_serve_says_it_when_it_starts_and_closes_what_is_its_own(serve: Serve, paths: Paths) -> None:  # noqa: F811
    configure(paths, {"s": {"command": "true", **SECRET}})
    paths.config.chmod(0o644)
    opened_to_all(paths)
    client = serve()
    client.end_input()
    client.wait()
    assert client.stderr.count("others can read the secrets") == 1
    assert mode(paths.data) == 0o700


@pytest.mark.parametrize(
    ("url", "is_said"),
    [
        ("http://a.example/mcp", True), ("HTTP://93.184.216.34/mcp", True), ("https://a.example/mcp", False),
        ("http://localhost:1/mcp", False), ("http://127.0.0.1/mcp", False), ("http://[::1]/mcp", False),
        ("http://192.168.1.2/mcp", False), ("http://nas/mcp", False), ("http://nas.local/mcp", False),
        ("http://${HOST}/mcp", False), ("http://100.64.0.1/mcp", False),
    ],
)  # fmt: skip
def test_a_token_that_goes_out_unencrypted_is_said(mcpctl: Mcpctl, paths: Paths, url: str, is_said: bool) -> None:
    ran = mcpctl("servers", "add", "s", "--url", url, "--header", "Authorization=Bearer ${T}")
    assert (ran.code, ran.out) == (0, "s\n")
    assert ("unencrypted" in ran.err) is is_said
    assert mcpctl("servers", "add", "t", "--url", url).err == ""


@pytest.mark.process
def test_the_check_names_a_token_that_goes_out_unencrypted(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(paths, {"s": {"url": "http://a.example:1/mcp", "headers": {"X-Api-Key": "${K}"}}})
    monkeypatch.setenv("K", "abc")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    (row,) = mcpctl("servers", "check", "--json").json
    assert "header X-Api-Key is sent to a.example unencrypted" in row["problems"][-1]


def test_whole_answers_are_closed_to_others(paths: Paths) -> None:
    paths.responses.mkdir(parents=True)
    paths.responses.chmod(0o755)
    assert exposure.of_data(paths.data) == [paths.responses]
    exposure.close(paths.data)
    assert mode(paths.responses) == 0o700
