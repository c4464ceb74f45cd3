"""Files that people keep or strangers bring: no link is followed to where it should not, reading has its bounds."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpctl.base import files
from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.toolsets import edits
from mcpctl.toolsets.toolset_files import place_of
from tests.configured import DEMO, configure, demo_tools, reference, stub, toolset
from tests.conftest import MCPCTL, Mcpctl, without_privileges
from tests.proxy.conftest import Serve, serve  # noqa: F401

KEY = "notes:add_note"
ADD = ("annotate", "add", KEY, "tip", "Ask first.")


@pytest.fixture
def checkout(paths: Paths, tmp_path: Path) -> Path:
    """A repository from anywhere, with one toolset, beside what is the user's."""
    demo_tools(paths)
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    toolset(paths, "triage", KEY, path=folder / "team" / "triage.json")
    return folder


@pytest.fixture
def bashrc(tmp_path: Path) -> Path:
    path = tmp_path / ".bashrc"
    path.write_text("alias ll='ls -l'\n", encoding="utf-8")
    path.chmod(0o600)
    return path


# ---- links


@pytest.mark.parametrize("name", [".triage.json.new", ".triage.json.{pid}.new"])
def test_a_link_that_waits_where_a_file_is_written_beside_is_not_followed(
    mcpctl: Mcpctl, checkout: Path, bashrc: Path, name: str
) -> None:
    file = checkout / "team" / "triage.json"
    (file.parent / name.format(pid=os.getpid())).symlink_to("../../.bashrc")
    assert mcpctl(*ADD, "--toolset", str(file)).code == 0
    assert (bashrc.read_text(encoding="utf-8"), bashrc.stat().st_mode & 0o777) == ("alias ll='ls -l'\n", 0o600)
    assert not file.is_symlink()
    assert "Ask first." in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["../../package.json", "../../gone.json"])
@pytest.mark.parametrize(
    "words", [ADD, ("toolsets", "add", "{path}", "notes:list_notes"), ("toolsets", "build", "{path}", KEY)]
)
def test_a_toolset_that_leads_out_of_its_repository_is_not_written_through(
    mcpctl: Mcpctl, paths: Paths, checkout: Path, tmp_path: Path, target: str, words: tuple[str, ...]
) -> None:
    other = toolset(paths, "package", KEY, path=tmp_path / "package.json")
    before = other.read_bytes()
    link = checkout / "team" / "link.json"
    link.symlink_to(target)
    chosen = ("--toolset", str(link)) if words is ADD else ()
    ran = mcpctl(*(word.format(path=link) for word in words), *chosen)
    assert ran.code in (3, 6)
    assert ran.code == 6 or "gone" in target
    assert other.read_bytes() == before
    assert not (tmp_path / "gone.json").exists()


def test_a_folder_that_leads_out_of_its_repository_is_not_written_through(
    mcpctl: Mcpctl, checkout: Path, tmp_path: Path
) -> None:
    (checkout / "more").symlink_to("..")
    ran = mcpctl("toolsets", "build", str(checkout / "more" / "new.json"), KEY)
    assert ran.code == 6
    assert str(tmp_path / "new.json") in ran.err
    assert not (tmp_path / "new.json").exists()


def test_a_link_within_a_repository_stays_one(mcpctl: Mcpctl, checkout: Path) -> None:
    link = checkout / "current.json"
    link.symlink_to("team/triage.json")
    assert mcpctl(*ADD, "--toolset", str(link)).code == 0
    assert link.is_symlink()
    assert "Ask first." in (checkout / "team" / "triage.json").read_text(encoding="utf-8")


def test_a_dangling_link_in_a_repository_makes_no_file(mcpctl: Mcpctl, checkout: Path) -> None:
    link = checkout / "new.json"
    link.symlink_to(".git/config")
    ran = mcpctl("toolsets", "build", str(link), KEY)
    assert ran.code == 6
    assert "does not exist" in ran.err
    assert not (checkout / ".git" / "config").exists()


def test_a_toolset_of_ones_own_may_be_a_link_to_anywhere(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    demo_tools(paths)
    real = toolset(paths, "mine", KEY, path=tmp_path / "dotfiles" / "mine.json")
    paths.toolsets.mkdir(parents=True)
    (paths.toolsets / "mine.json").symlink_to(real)
    assert mcpctl(*ADD, "--toolset", "mine").code == 0
    assert (paths.toolsets / "mine.json").is_symlink()
    assert "Ask first." in real.read_text(encoding="utf-8")


# ---- what is left behind


def kill_at(call: str, *words: str) -> None:
    """Run a command that is killed when it comes to that call of the system."""
    code = f"""
import os, signal, sys
os.{call} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from mcpctl.main import main
main({list(words)!r})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
@pytest.mark.process
def test_what_a_killed_writer_left_goes_with_the_next_write(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    kill_at("link", "toolsets", "build", "triage", KEY)
    (left,) = names(paths.toolsets)
    assert left != "triage.json"
    assert mcpctl("toolsets", "build", "triage", KEY).code == 0
    assert names(paths.toolsets) == ["triage.json"]
    kill_at("fchmod", *ADD, "--toolset", "triage")
    assert len(names(paths.toolsets)) == 2
    assert mcpctl(*ADD, "--toolset", "triage").code == 0
    assert names(paths.toolsets) == ["triage.json"]


def test_what_a_living_writer_is_writing_and_what_is_not_ours_stays(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    toolset(paths, "triage", KEY)
    living, theirs = paths.toolsets / f".triage.json.{'0' * 16}.new", paths.toolsets / ".notes.new"
    (paths.toolsets / f".link.{'0' * 16}.new").symlink_to("triage.json")
    theirs.touch()
    with living.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert mcpctl(*ADD, "--toolset", "triage").code == 0
        assert living.exists()
    assert mcpctl("annotate", "add", KEY, "more", "Ask.", "--toolset", "triage").code == 0
    assert names(paths.toolsets) == [f".link.{'0' * 16}.new", ".notes.new", "triage.json"]


def test_a_file_keeps_its_mode_and_owner(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    demo_tools(paths)
    path = toolset(paths, "triage", KEY)
    path.chmod(0o664)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    before = path.stat()
    old = os.umask(0o077)
    try:
        assert mcpctl(*ADD, "--toolset", "triage").code == 0
    finally:
        os.umask(old)
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


def test_a_command_that_fails_makes_no_folder(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    demo_tools(paths)
    assert mcpctl("toolsets", "add", str(tmp_path / "nope" / "dir" / "xx.json"), KEY).code == 3
    assert not (tmp_path / "nope").exists()


def test_what_cannot_be_written_leaves_no_folder(
    mcpctl: Mcpctl, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_tools(paths)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = mcpctl("toolsets", "build", str(tmp_path / "nope" / "dir" / "xx.json"), KEY)
    assert (ran.code, "No space left" in ran.err) == (5, True)
    assert not (tmp_path / "nope").exists()


def test_folders_made_in_a_repository_are_as_open_as_the_file(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    demo_tools(paths)
    old = os.umask(0o022)
    try:
        assert mcpctl("toolsets", "build", str(tmp_path / "tools" / "deep" / "tt.json"), KEY).code == 0
    finally:
        os.umask(old)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "tools", tmp_path / "tools/deep/tt.json")]
    assert modes == [0o755, 0o644]


@pytest.mark.process
@pytest.mark.parametrize("words", [ADD, ("annotate", "set", KEY, "--destructive")])
def test_a_dry_run_needs_no_permission_to_write(checkout: Path, words: tuple[str, ...]) -> None:
    file = checkout / "team" / "triage.json"
    file.chmod(0o444)
    file.parent.chmod(0o555)
    ran = subprocess.run(
        [*MCPCTL, *words, "--toolset", str(file), "--dry-run"],
        preexec_fn=without_privileges, capture_output=True, check=False,
    )  # fmt: skip
    file.parent.chmod(0o755)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b'+  "toolN' in ran.stdout or b'+  "toolO' in ran.stdout


def test_edits_of_a_file_that_was_replaced_meanwhile_are_made_to_the_new_one(paths: Paths) -> None:
    demo_tools(paths)
    path = toolset(paths, "triage", KEY)
    fd = os.open(path, os.O_RDWR)
    os.close(fd)
    path.write_text(json.dumps({"name": "triage", "tools": [], "mine": 1}), encoding="utf-8")
    edits.change(place_of(paths, "triage"), lambda draft: draft.add("tools", reference(KEY)), edits.notes_alone)
    assert json.loads(path.read_text(encoding="utf-8")) == {"name": "triage", "tools": [reference(KEY)], "mine": 1}


def test_an_edit_is_made_again_if_the_file_changed_before_the_rename(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"1")
    seen = []

    def change(before: bytes | None) -> bytes:
        seen.append(before)
        if before == b"1":
            path.write_bytes(b"2")  # a program that takes no lock, in place
        return (before or b"") + b"!"

    files.edit(path, change, "")
    assert (path.read_bytes(), seen) == (b"2!", [b"1", b"2"])


def test_a_file_that_never_stands_still_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"0")

    def change(before: bytes | None) -> bytes:
        path.write_bytes((before or b"") + b".")
        return b"mine"

    with pytest.raises(Unusable, match="was changed 200 times meanwhile"):
        files.edit(path, change, "")
    assert path.read_bytes() == b"0" + b"." * 200
    assert names(tmp_path) == ["state.json"]


def test_an_edit_may_remove_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"1")
    files.edit(path, lambda before: None, "")
    files.edit(path, lambda before: before, "")
    assert names(tmp_path) == []


# ---- what is no file


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_folder(path: Path) -> None:
    path.mkdir()


def too_large(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 30)


READERS: dict[str, tuple[str, ...]] = {
    "check": ("annotate", "check", "{path}", "{good}"),
    "catalog": ("annotate", "check", "{good}", "--catalog", "{path}"),
    "toolset": ("toolsets", "show", "{path}"),
    "change": ("toolsets", "add", "{path}", KEY),
    "config": ("servers", "ls", "--config", "{path}"),
    "edit": ("servers", "rm", "notes", "--config", "{path}"),
    "import": ("servers", "import", "--from", "{path}"),
    "queries": ("tools", "eval", "--queries", "{path}"),
    "baseline": ("tools", "eval", "--queries", "{queries}", "--baseline", "{path}"),
}


ODD_FILES = [
    pytest.param(reader, make, id=f"{reader}-{make.__name__}")
    for reader in READERS
    for make in (a_pipe, a_device, a_folder, too_large)
    if (reader, make) != ("check", a_folder)  # which looks at what is in it
]


@pytest.mark.parametrize(("reader", "make"), ODD_FILES)
def test_what_is_no_regular_file_is_refused_in_words(
    mcpctl: Mcpctl, paths: Paths, tmp_path: Path, reader: str, make: Callable[[Path], None]
) -> None:
    demo_tools(paths)
    path, queries = tmp_path / "odd.json", tmp_path / "queries.jsonl"
    make(path)
    queries.write_text('{"query": "add a note", "expect": [["notes:add_note"]]}\n', encoding="utf-8")
    good = toolset(paths, "good", KEY, path=tmp_path / "good.json")
    words = [word.format(path=path, good=good, queries=queries) for word in READERS[reader]]
    ran = mcpctl(*words)
    told = ran.err
    if reader == "check":
        # A finding, which hides no other file's.
        assert (ran.code, f"{path}: it is " in ran.out) == (7, True)
        return
    if (reader, make) == ("change", a_device):
        assert (ran.code, ran.out) == (6, "")  # it leads out of its folder
        return
    assert (ran.code, ran.out) == (5, "")
    place = path.resolve() if reader in ("change", "edit") else path
    assert f"{place}: it is " in told or f"{place}: Is a directory" in told
    assert "\nhint: " in told


@pytest.mark.process
def test_a_pipe_as_env_file_stops_its_server_alone(serve: Serve, tmp_path: Path) -> None:  # noqa: F811
    os.mkfifo(tmp_path / "pipe.env")
    servers = {"good": DEMO["notes"], "odd": {**DEMO["notes"], "env_file": str(tmp_path / "pipe.env")}}
    client = serve(servers)
    assert "is a pipe, not a regular file" in client.call("odd:list_notes").text
    assert not client.call("good:list_notes").is_error


@pytest.mark.parametrize("words", [("toolsets", "build", "xx", "-"), ("tools", "call", KEY, "-"), (*ADD[:-1], "-")])
def test_what_comes_on_stdin_is_bounded(mcpctl: Mcpctl, paths: Paths, words: tuple[str, ...]) -> None:
    demo_tools(paths)
    toolset(paths, "t1", KEY)
    chosen = ("--toolset", "t1") if words[0] == "annotate" else ()
    ran = mcpctl(*words, *chosen, stdin="x" * ((16 << 20) + 1))
    assert ran.code == 2
    assert "stdin has more than" in ran.err


def test_a_name_that_no_file_may_have_is_refused(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()})
    for name in ("x" * 300 + ".json", "a/" * 3000 + "x.json"):
        for words in (("toolsets", "show", name), ("annotate", "check", name), ("servers", "import", "--from", name)):
            assert mcpctl(*words).code in (3, 5)
