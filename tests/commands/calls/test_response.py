"""`mcpctl calls response`"""

import json
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import responses
from mcpctl.store.responses import ResponseOwner
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, call, call_id, session

TEXT = '{"items": [{"id": 1}], "t": "a\\u001b[31mb", "n": "one\\ntwo", "c": "\x9b31m"}'
RESULT = b'{"content": [{"type": "text", "text": %b}], "x":1.50}' % json.dumps(TEXT, ensure_ascii=False).encode()


def keep(paths: Paths) -> None:
    """Have the answer of a call, and the call."""
    session(paths, rest=call(1, 1))
    owner = ResponseOwner(session_id=CLAUDE, server="weather", tool="get_forecast")
    responses.keep(paths, call_id(1), owner, RESULT, keep_mb=1)


@pytest.mark.parametrize("ref", ["last", call_id(1), call_id(1)[:4]])
def test_a_pipe_gets_the_bytes_that_the_server_sent(mcpctl: Mcpctl, paths: Paths, ref: str) -> None:
    keep(paths)
    assert mcpctl("calls", "response", ref).out == RESULT.decode()


@pytest.mark.parametrize(
    "path, printed", [("items", '[{"id": 1}]\n'), ("items[0].id", "1\n"), ("n", "one\ntwo\n"), ("no", "null\n")]
)
def test_a_path_selects_of_the_json_in_it(mcpctl: Mcpctl, paths: Paths, path: str, printed: str) -> None:
    keep(paths)
    assert mcpctl("calls", "response", "last", "--path", path).out == printed


@pytest.mark.parametrize("options", [[], ["--path", "t"], ["--path", "@"]])
def test_a_terminal_gets_nothing_that_commands_it(mcpctl: Mcpctl, paths: Paths, options: list[str]) -> None:
    keep(paths)
    out = mcpctl("calls", "response", "last", *options, tty=True).out
    assert not {"\x1b", "\x9b"} & set(out)
    assert "b" in out


def test_a_path_that_is_wrong_is_wrong_usage(mcpctl: Mcpctl, paths: Paths) -> None:
    keep(paths)
    ran = mcpctl("calls", "response", "last", "--path", "items[")
    assert (ran.code, ran.out) == (2, "")
    assert "--path:" in ran.err


def test_what_was_never_kept_says_what_to_set(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1))
    ran = mcpctl("calls", "response", "last")
    assert ran.code == 3
    assert "was not shortened" in ran.err
    assert "limit_tokens" in ran.err


def test_the_last_is_the_last_that_was_shortened_whatever_was_called_since(mcpctl: Mcpctl, paths: Paths) -> None:
    shortened: dict[str, Any] = {"delivered_bytes": 10, "shortened": True, "response_file": True}
    session(paths, rest=[*call(1, 1, **shortened), *call(2, 2)])
    responses.keep(
        paths, call_id(1), ResponseOwner(session_id=CLAUDE, server="weather", tool="get_forecast"), RESULT, keep_mb=1
    )
    assert mcpctl("calls", "response", "last").out == RESULT.decode()


def test_what_made_room_says_so(mcpctl: Mcpctl, paths: Paths) -> None:
    shortened: dict[str, Any] = {"delivered_bytes": 10, "shortened": True, "response_file": True}
    session(paths, rest=call(call_id(1), 1, **shortened))
    ran = mcpctl("calls", "response", "last")
    assert ran.code == 3
    assert "not kept any more" in ran.err
    assert "keep_mb" in ran.err


def test_an_unknown_call_is_not_found(mcpctl: Mcpctl) -> None:
    assert mcpctl("calls", "response", "ffff").code == 3
