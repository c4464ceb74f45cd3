"""`mcpctl serve --http` as a process: its port, requests that two programs could read in two ways, its end."""

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpctl.base.errors import McpctlError
from mcpctl.base.paths import Paths
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.over_http import listening
from tests.conftest import Mcpctl
from tests.over_http.test_balancers import HOST, Processes, answers, call, configured, free_ports
from tests.proxy.client import until
from tests.table import for_each

HEAD = f"POST /mcp HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n".encode()
NEXT = f"GET /mcp HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
PAIRS = [
    b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"Content-Length : 2\r\n\r\n{}",
    b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    b"Content-Length: +2\r\n\r\n{}", b"Content-Length: 0x2\r\n\r\n{}",
]  # fmt: skip
"""What a proxy in front could take for a request of another length."""


@pytest.fixture
def port(home: Path, paths: Paths) -> Iterator[tuple[int, str]]:
    """The port of a process, and a token for it."""
    token = configured(home, paths)
    (number,) = free_ports(1)
    processes = Processes(home, [number])
    try:
        until("it listens", lambda: answers(number))
        yield number, token
    finally:
        processes.end()


def said(port: int, sent: bytes) -> bytes:
    """All that is answered until the connection is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(sent)
        parts = []
        while part := connection.recv(4096):
            parts.append(part)
        return b"".join(parts)


@pytest.mark.slow
@pytest.mark.process
def test_a_request_that_could_be_read_in_two_ways_is_refused_with_all_that_follows_it(port: tuple[int, str]) -> None:
    for pair in PAIRS:
        answer = said(port[0], HEAD + pair + NEXT)
        assert answer.startswith(b"HTTP/1.1 400"), pair
        assert answer.count(b"HTTP/1.1 ") == 1, pair


@pytest.mark.slow
@pytest.mark.process
def test_half_open_connections_keep_nobody_out(port: tuple[int, str]) -> None:
    half = [socket.create_connection(("127.0.0.1", port[0])) for _ in range(300)]
    try:
        for number, connection in enumerate(half):
            connection.sendall(HEAD[: number % len(HEAD)])
        assert call(port[0], port[1], "x") == "answered"
    finally:
        for connection in half:
            connection.close()


@pytest.mark.slow
@pytest.mark.process
def test_a_second_process_on_the_port_is_told_who_has_it(port: tuple[int, str], mcpctl: Mcpctl) -> None:
    ran = mcpctl("serve", "--http", str(port[0]))
    assert ran.code == 1
    assert f"cannot listen on 127.0.0.1:{port[0]}: process " in ran.err


@for_each(
    ("number", "code", "told"),
    [
        (errno.EADDRINUSE, "port_taken", f"process {os.getpid()} ("), (errno.EACCES, "port_of_root", "are root's"),
        (errno.EADDRNOTAVAIL, "not_here", "not of this machine"),
        (socket.EAI_NONAME, "not_here", "not of this machine"),
    ],
)  # fmt: skip
def test_why_it_cannot_listen_is_told(monkeypatch: pytest.MonkeyPatch, number: int, code: str, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_connection(taken.getsockname()) as other:
        at = listening.address(f"127.0.0.1:{taken.getsockname()[1]}")
        if code != "port_taken":
            monkeypatch.setattr(listening, "listening", lambda *_: (_ for _ in ()).throw(OSError(number, "")))
        with pytest.raises(McpctlError) as error:
            at.listen()
        assert (error.value.code, told in error.value.message) == (code, True)
        assert listening._owner(other.getsockname()[1]) == ""


def test_localhost_is_both_of_its_addresses_and_any_other_one() -> None:
    for name, families in (("localhost", [socket.AF_INET, socket.AF_INET6]), ("127.0.0.1", [socket.AF_INET])):
        sockets = listening.address(f"{name}:0").listen()
        assert [each.family for each in sockets] == families
        assert len({each.getsockname()[1] for each in sockets}) == 1
        for each in sockets:
            each.close()
    assert listening.address("65535").port == 65535


@for_each(
    ("address", "code", "told"),
    [
        ("nosuch.invalid:8080", "not_here", "that is not of this machine"),
        ("192.0.2.1:8080", "not_here", "that is not of this machine"),
        ("x:y", "wrong_usage", "'x:y' is not an address"),
        ("http://x:80", "wrong_usage", "is not an address"),
        ("70000", "wrong_usage", "is not an address"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_told_with_what_can(
    mcpctl: Mcpctl, home: Path, address: str, code: str, told: str
) -> None:
    ran = mcpctl("serve", "--http", address)
    assert (ran.code, told in ran.err) == (2 if code == "wrong_usage" else 1, True), ran.err
    assert "hint: give " in ran.err


@for_each(
    ("http", "url"),
    [
        ("8080", "http://127.0.0.1:8080/mcp"), ("0.0.0.0:80", "http://127.0.0.1:80/mcp"),
        ("[::1]:8080", "http://[::1]:8080/mcp"), ("mcp.example.com:80", "http://mcp.example.com:80/mcp"),
        ("https://mcp.example.com", "https://mcp.example.com/mcp"), ("https://a.example/x", "https://a.example/x"),
    ],
)  # fmt: skip
def test_each_client_gets_an_entry_with_the_address_and_without_a_token(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, http: str, url: str
) -> None:
    monkeypatch.setenv("MCPCTL_TOKEN", "mcpctl_secret")
    for client in CLIENTS:
        ran = mcpctl("serve", "--http", http, "--print-config", client, tty=True)
        if client == "claude-desktop":
            assert (ran.code, ran.out) == (2, "")
            assert "takes no address" in ran.err
            continue
        assert url in ran.out
        assert "MCPCTL_TOKEN" in ran.out
        assert "mcpctl_secret" not in ran.out + ran.err
        assert "mcpctl tokens create" in ran.err
        assert ("by the name of this one: write that in place of 127.0.0.1" in " ".join(ran.err.split())) == (
            http.startswith("0.0.0.0")
        )
        assert ("your own token where it says" in " ".join(ran.err.split())) == (client in ("zed", "cline"))


def test_without_tokens_nothing_beyond_this_machine_is_listened_on(mcpctl: Mcpctl, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[http]\nrequire_token = false\n", encoding="utf-8")
    ran = mcpctl("serve", "--http", "0.0.0.0:1")
    assert ran.code == 2
    assert "is for this machine alone" in ran.err
    (home / "config.toml").write_text("", encoding="utf-8")
    ran = mcpctl("serve", "--http", "0.0.0.0:1", "--token-file", str(home / "config.toml"))
    assert (ran.code, "gives its token to everybody who asks" in ran.err) == (2, True)
