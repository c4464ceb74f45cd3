"""`mcpctl resources read`"""

import pytest

from mcpctl.base.paths import Paths
from mcpctl.main import main
from tests.configured import configure
from tests.conftest import Mcpctl
from tests.proxy.client import journal_lines
from tests.servers import command

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("library")]


@pytest.mark.slow
def test_a_pipe_gets_texts_and_bytes_as_they_are(paths: Paths, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    def read(uri: str) -> bytes:
        assert main(["resources", "read", uri, "--config", str(paths.config), "--data-dir", str(paths.data)]) == 0
        return capfdbinary.readouterr().out

    capfdbinary.readouterr()
    assert read("book://one") == b"once\x1b[31m upon"
    assert read("book://cover") == b"\x89PNG\r\n\x00"
    assert read("book://page/7") == b"seven\n"


def test_a_terminal_gets_no_escapes_and_no_bytes(mcpctl: Mcpctl) -> None:
    assert mcpctl("resources", "read", "book://one", tty=True).out == "once\ufffd[31m upon\n"
    ran = mcpctl("resources", "read", "book://cover", tty=True)
    assert (ran.code, ran.out) == (1, "")
    assert "7 bytes of image/png" in ran.err


def test_json_is_the_result_as_it_came(mcpctl: Mcpctl) -> None:
    ran = mcpctl("resources", "read", "book://page/7", "--json", "--server", "library")
    assert ran.json["contents"] == [{"uri": "book://page/7", "text": "seven\n"}]


def test_that_it_was_read_is_on_record_without_its_content(mcpctl: Mcpctl, paths: Paths) -> None:
    mcpctl("resources", "read", "book://page/7", "--json")
    (line,) = (line for line in journal_lines(paths.data.parent) if line["type"] == "reads.finished")
    assert (line["server"], line["kind"], line["name"], line["status"]) == (
        "library", "resource", "book://page/7", "ok",
    )  # fmt: skip
    assert "seven" not in str(line)


def test_one_that_several_servers_have_is_told_with_the_command_for_one(mcpctl: Mcpctl, paths: Paths) -> None:
    argv = command("library")
    configure(paths, {name: {"command": argv[0], "args": argv[1:]} for name in ("library", "other")})
    assert mcpctl("tools", "refresh").code == 0
    ran = mcpctl("resources", "read", "book://one")
    assert ran.code == 2
    assert "hint: read one with: mcpctl resources read mcpctl+library:book://one\n" in ran.err


def test_what_nobody_has_is_not_found_and_what_the_server_refuses_fails(mcpctl: Mcpctl) -> None:
    assert mcpctl("resources", "read", "other://x").code == 3
    assert "no server 'libary'" in mcpctl("resources", "read", "book://one", "--server", "libary").err
    ran = mcpctl("resources", "read", "book://page/8")
    assert ran.code == 4
    assert "Resource not found" in ran.err


def test_of_a_server_that_does_not_start_that_is_told(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.write_text(f'{paths.config.read_text()}\n[servers.gone]\ncommand = "/nowhere/gone"\n')
    ran = mcpctl("resources", "read", "book://one", "--server", "gone")
    assert ran.code == 4
    assert "server 'gone' did not start" in ran.err
    assert "see: mcpctl servers check gone" in ran.err
