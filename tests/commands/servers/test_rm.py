"""`mcpctl servers rm`"""

import tomllib

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure, demo_tools, stub
from tests.conftest import Mcpctl
from tests.recorded import two_sessions


@pytest.mark.usefixtures("person")
def test_the_entry_goes_and_the_rest_of_the_file_stays(mcpctl: Mcpctl, paths: Paths) -> None:
    before = '# mine\n[servers.a]\ncommand = "a" # a\n\n'
    entry = '[servers.b]\ncommand = "b"\n[servers.b.tools]\nt = false\n'
    after = "\n# about search\n[search]\nanswer_tokens = 9 # nine\n"
    paths.config.parent.mkdir()
    paths.config.write_text(before + entry + after, encoding="utf-8")
    assert mcpctl("servers", "rm", "b").out == "b\n"
    assert paths.config.read_text(encoding="utf-8") == before + after


def test_no_blank_lines_gather_where_entries_were(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.parent.mkdir()
    a, b, c = (f'[servers.{name}]\ncommand = "{name}"\n' for name in "abc")
    paths.config.write_text(f"{a}\n{b}\n{c}", encoding="utf-8")
    mcpctl("servers", "rm", "b")
    assert paths.config.read_text(encoding="utf-8") == f"{a}\n{c}"


def test_several_entries_go_in_one_write_or_none(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.parent.mkdir()
    text = "# a\n[servers.a]\ncommand = 'a'\n# b\n[servers.b]\ncommand = 'b'\n# c\n[servers.c]\ncommand = 'c'\n"
    paths.config.write_text(text, encoding="utf-8")
    ran = mcpctl("servers", "rm", "a", "bb", "c")
    assert (ran.code, ran.out, "no server 'bb'" in ran.err) == (3, "", True)
    assert paths.config.read_text(encoding="utf-8") == text
    assert mcpctl("servers", "rm", "a", "c", "a").out == "a\nc\n"
    assert paths.config.read_text(encoding="utf-8") == "# a\n# b\n[servers.b]\ncommand = 'b'\n# c\n"
    assert mcpctl("servers", "rm").code == 2


@pytest.mark.usefixtures("person")
def test_a_comment_before_the_next_entry_stays(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.parent.mkdir()
    for tools in ("", "[servers.a.tools]\nt = false\n"):
        text = f'# of a\n[servers.a]\ncommand = "a"\n{tools}\n# of b\n[servers.b]\ncommand = "b"\n'
        paths.config.write_text(text, encoding="utf-8")
        mcpctl("servers", "rm", "a")
        assert paths.config.read_text(encoding="utf-8") == '# of a\n\n# of b\n[servers.b]\ncommand = "b"\n'


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_adding_and_removing_leave_the_file_as_it_was(mcpctl: Mcpctl, paths: Paths, end: str) -> None:
    paths.config.parent.mkdir()
    before = f'# mine{end}[servers.a]{end}command = "a" # a{end}'.encode()
    paths.config.write_bytes(before)
    mcpctl("servers", "add", "b", "--env", "A=1", "--", "b")
    mcpctl("servers", "rm", "b")
    assert paths.config.read_bytes() == before


def test_the_last_entry_can_go(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": stub()})
    mcpctl("servers", "rm", "a")
    assert mcpctl("servers", "ls", "--json").json == []


def test_an_entry_that_cannot_be_used_can_be_removed(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": 5})
    assert mcpctl("servers", "rm", "a").code == 0
    assert mcpctl("servers", "ls", "--count").out == "0\n"


def test_what_is_on_record_of_it_stays(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    mcpctl("servers", "rm", "notes")
    assert mcpctl("calls", "ls", "--server", "notes", "--count").out == "3\n"
    assert "notes" not in mcpctl("tools", "ls").out


@pytest.mark.parametrize("verb", ["rm", "enable", "disable"])
def test_an_unknown_server_is_not_found_and_the_near_name_is_named(mcpctl: Mcpctl, paths: Paths, verb: str) -> None:
    configure(paths, {"github": stub()})
    before = paths.config.read_bytes()
    ran = mcpctl("servers", verb, "gihub")
    assert ran.code == 3
    assert "did you mean 'github'?" in ran.err
    assert paths.config.read_bytes() == before


@pytest.mark.parametrize("verb", ["rm", "enable", "disable"])
def test_without_a_file_nothing_is_found_and_none_is_made(mcpctl: Mcpctl, paths: Paths, verb: str) -> None:
    assert mcpctl("servers", verb, "x").code == 3
    assert not paths.config.exists()


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("verb", ["rm", "disable"])
@pytest.mark.parametrize(
    "text",
    [
        'servers.a.command = "x"\nservers.b.command = "y"\n',
        'servers = {a = {command = "x"}, b = {command = "y"}}\n',
        '[servers]\na = {command = "x"}\n# b\nb = {command = "y"}\n',
        '[servers.a]\ncommand = "x"\n[search]\nanswer_tokens = 9\n# b\n[servers.b]\ncommand = "y"\n',
        '[servers.a]\ncommand = "x"\n[servers.b]\ncommand = "y"\n[servers.a.tools]\nt = false\n',
        '[servers]\n# a\n[servers.a]\ncommand = "x"\n# b\n[servers.b]\ncommand = "y"\n',
    ],
)
def test_any_way_to_write_the_tables_can_be_edited(mcpctl: Mcpctl, paths: Paths, text: str, verb: str) -> None:
    for name in ("a", "b"):
        paths.config.parent.mkdir(exist_ok=True)
        paths.config.write_text(text, encoding="utf-8")
        expected = tomllib.loads(text)
        if verb == "rm":
            del expected["servers"][name]
        else:
            expected["servers"][name]["enabled"] = False
        assert mcpctl("servers", verb, name).code == 0
        after = paths.config.read_text(encoding="utf-8")
        assert tomllib.loads(after) == expected
        assert after.count("#") == text.count("#")
