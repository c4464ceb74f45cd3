"""`mcpctl tools call --output`: what is not text goes into files, and never into a terminal."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.commands.tools.test_call import server
from tests.configured import configure
from tests.conftest import Mcpctl, Ran

pytestmark = pytest.mark.process
PNG, WAV, PDF = b"\x89PNG\r\n\x00\xff", b"RIFF", b"%PDF"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


TEXT = {"type": "text", "text": "here it is"}
IMAGE = {"type": "image", "data": encoded(PNG), "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": encoded(WAV), "mimeType": "audio/wav"}
RESOURCE = {"type": "resource", "resource": {"uri": "x:y", "blob": encoded(PDF), "mimeType": "application/pdf"}}


class Calling:
    """A tool that answers with given blocks."""

    def __init__(self, mcpctl: Mcpctl, tmp_path: Path) -> None:
        self._mcpctl, self._file = mcpctl, tmp_path / "result"

    def __call__(self, blocks: list[Any], *options: str, tty: bool = False, **members: Any) -> Ran:
        self._file.write_text(json.dumps({"content": blocks, **members}), encoding="utf-8")
        return self._mcpctl("tools", "call", "s:raw", f"file={self._file}", *options, tty=tty)


@pytest.fixture
def call(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> Calling:
    configure(paths, {"s": server("raw")})
    return Calling(mcpctl, tmp_path)


def test_a_terminal_gets_a_name_in_place_of_bytes(call: Calling) -> None:
    ran = call([TEXT, IMAGE], tty=True)
    assert ran.out == "here it is\n[image image/png, 8 bytes; --output FILE saves it]\n"


def test_one_file_is_saved_as_it_is_named(call: Calling, tmp_path: Path) -> None:
    ran = call([TEXT, IMAGE], "--output", str(tmp_path / "page.png"), tty=True)
    assert (tmp_path / "page.png").read_bytes() == PNG
    assert ran.out.startswith("here it is\n")
    assert f"saved {tmp_path / 'page.png'}: 8 bytes" in " ".join(ran.err.split())  # a long path breaks its line


def test_several_files_are_numbered_before_the_ending(call: Calling, tmp_path: Path) -> None:
    call([IMAGE, TEXT, AUDIO, RESOURCE], "-o", str(tmp_path / "all.bin"))
    assert [(tmp_path / f"all-{n}.bin").read_bytes() for n in (1, 2, 3)] == [PNG, WAV, PDF]
    assert not (tmp_path / "all.bin").exists()


def test_nothing_is_overwritten_and_nothing_called_for_it(call: Calling, mcpctl: Mcpctl, tmp_path: Path) -> None:
    taken = tmp_path / "taken.png"
    taken.write_bytes(b"mine")
    ran = call([IMAGE], "-o", str(taken), "--json")
    assert (ran.code, ran.error["code"], taken.read_bytes()) == (5, "file_exists", b"mine")
    assert mcpctl("calls", "ls", "--count").out == "0\n"
    assert call([IMAGE], "-o", str(taken), "--force").code == 0
    assert taken.read_bytes() == PNG


def test_a_link_is_not_followed(call: Calling, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert call([IMAGE], "-o", str(tmp_path / "link")).code == 5
    assert not (tmp_path / "elsewhere").exists()


def test_a_dash_writes_the_bytes_alone_but_not_to_a_terminal(call: Calling, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr("mcpctl.output.write_bytes", written.append)
    ran = call([TEXT, IMAGE], "-o", "-")
    assert (ran.out, written) == ("", [PNG])
    assert call([TEXT, IMAGE], "-o", "-", tty=True).code == 2
    assert call([TEXT, IMAGE], "-o", "-", "--json").code == 2
    ran = call([IMAGE, AUDIO], "-o", "-")
    assert (ran.code, "stdout takes one" in ran.err, len(written)) == (4, True, 1)


@pytest.mark.parametrize(
    ("block", "code"), [(TEXT, "no_file"), ({**IMAGE, "data": "***"}, "bad_base64"), ({**IMAGE, "data": 5}, "no_file")]
)
def test_what_cannot_be_saved_fails(call: Calling, tmp_path: Path, block: dict[str, Any], code: str) -> None:
    ran = call([block], "-o", str(tmp_path / "file"), "--json")
    assert (ran.code, ran.error["code"]) == (4, code)
    assert not (tmp_path / "file").exists()


def test_a_tool_error_saves_nothing(call: Calling, tmp_path: Path) -> None:
    ran = call([TEXT, IMAGE], "-o", str(tmp_path / "file"), isError=True)
    assert (ran.code, ran.out, (tmp_path / "file").exists()) == (4, "", False)
