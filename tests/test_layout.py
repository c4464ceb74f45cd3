"""The house: a command is where its name says, and rooms import in one direction."""

import ast
import keyword
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.models import CommandInfo

import mcpctl
from mcpctl.main import ALONE, NOUNS, tree

PACKAGE = Path(mcpctl.__file__).parent

LAYERS = (
    ("bounds", "models", "posix", "jsonc", "callers", "failure", "tool_keys", "visible_text", "plurals",
     "feature_names"),
    ("errors", "hints", "near_names", "definitions"),
    ("paths", "rules", "policy_settings", "projects"),
    ("files", "toml_values", "toml_places", "wire", "command_values"),
    ("server_settings",),
    ("settings",),
    ("config",),
    ("server_environment",),
    ("store",),
    ("http_client", "exposure", "answers", "entry_masks", "entry_secrets"),
    ("oauth",),
    ("toolsets", "checks"),
    ("policy",),
    ("catalog",),
    ("search",),
    ("upstreams",),
    ("proxy", "server_entries", "output"),
    ("clients", "server_changes", "savings"),
    ("dashboard", "demo", "doctor"),
    ("commands",),
    ("tab_completion",),
    ("main",),
    ("docgen", "__main__"),
)  # fmt: skip
"""From the ground up: a room imports its own and what is below it, nothing beside and nothing above."""
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}


@cache
def nodes(file: Path) -> list[Any]:
    """The module that is in a file, and all that is in it."""
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """They are many, and of use here alone."""
    yield
    nodes.cache_clear()


def rooms_imported(file: Path) -> Iterator[str]:
    """The rooms that a module imports, anywhere in it."""
    for node in nodes(file):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            room = rest.partition(".")[0]
            if first == "mcpctl" and room and room != "__version__":
                yield room


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(file for file in PACKAGE.rglob("*.py") if file != PACKAGE / "__init__.py")


def test_every_room_has_its_layer() -> None:
    assert {room_of(file) for file in MODULES} == set(HEIGHT)


def test_imports_point_down() -> None:
    above = {
        f"{file.relative_to(PACKAGE)} imports {other}"
        for file in MODULES
        for other in rooms_imported(file)
        if other != room_of(file) and HEIGHT[other] >= HEIGHT[room_of(file)]
    }
    assert not above


def test_output_knows_only_rows_failures_and_words() -> None:
    imported = {room for file in (PACKAGE / "output").rglob("*.py") for room in rooms_imported(file)}
    assert imported <= {"output", "models", "errors", "near_names", "plurals"}


INSIDE = {
    f"mcpctl.store.{name}"
    for name in ("index", "projection", "query", "schema", "sqlite", "state_file", "statistics", "tables")
}
"""What only the store itself uses: everybody else asks `Records` and `State`."""


def modules_imported(file: Path) -> Iterator[str]:
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield str(node.module)


def test_databases_are_asked_through_the_objects_of_the_store() -> None:
    connected, inside = set(), set()
    for file in MODULES:
        name = str(file.relative_to(PACKAGE))
        if room_of(file) != "store":
            modules = set(modules_imported(file))
            connected |= {name} if "sqlite3" in modules else set()
            inside |= {name} if INSIDE & modules else set()
    assert not connected
    assert inside == {"docgen/records_page.py"}  # the manual's page of the tables


@pytest.mark.parametrize(
    "room", ["store", "toolsets", "checks", "catalog", "search", "config.py", "paths.py", "files.py"]
)
def test_what_is_kept_and_found_needs_no_sdk(room: str) -> None:
    files = [PACKAGE / room] if room.endswith(".py") else list((PACKAGE / room).rglob("*.py"))
    for file in files:
        for node in nodes(file):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.partition(".")[0] in ("mcp", "mcp_types", "typer", "rich")], file


@pytest.mark.parametrize(
    "room",
    [
        "store",
        "toolsets",
        "checks",
        "catalog",
        "search",
        "wire",
        "upstreams",
        "proxy",
        "clients",
        "server_entries.py",
        "config.py",
        "files.py",
    ],
)
def test_a_domain_never_exits_nor_writes_to_stdout(room: str) -> None:
    files = [PACKAGE / room] if room.endswith(".py") else list((PACKAGE / room).rglob("*.py"))
    for file in files:
        for node in nodes(file):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                assert [keyword.arg for keyword in node.keywords if keyword.arg == "file"], file
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                ends = ast.unparse(node.func) in ("sys.exit", "os._exit", "os.abort")
                assert not ends or file == PACKAGE / "proxy" / "process.py", file
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("exit", "quit", "_exit", "SystemExit"), file


def commands(app: typer.Typer, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], CommandInfo]]:
    """Every command of the tree, with the words that name it."""
    for found in app.registered_commands:
        assert found.callback
        yield (*path, found.name or found.callback.__name__), found
    for group in app.registered_groups:
        assert group.typer_instance
        assert group.name
        yield from commands(group.typer_instance, (*path, group.name))


EVERY = list(commands(tree()))


def test_a_command_is_where_its_name_says() -> None:
    for path, found in EVERY:
        assert found.callback
        *nouns, verb = path
        verb += "_" if keyword.iskeyword(verb) else ""
        assert found.callback.__module__ == ".".join(("mcpctl.commands", *nouns, verb))
        assert found.callback.__name__ == verb


def test_a_command_says_what_it_does_and_shows_an_example() -> None:
    for path, found in EVERY:
        assert found.callback
        help_ = found.callback.__doc__ or ""
        assert f"  mcpctl {' '.join(path)}" in help_ or path == ("db", "path"), path
        assert "Example" in help_, path


def test_a_command_is_tested_where_its_name_says() -> None:
    for *nouns, verb in (path for path, _ in EVERY):
        assert (Path(__file__).parent / "commands" / "/".join(nouns) / f"test_{verb}.py").is_file()


def test_one_branch_of_the_tree_is_that_branch_of_the_whole() -> None:
    for noun in (*NOUNS, *ALONE):
        whole = [path for path, _ in EVERY if path[0] == noun]
        assert [path for path, _ in commands(tree(noun))] == whole


def test_one_command_of_the_tree_is_that_command_of_the_whole() -> None:
    for path, found in EVERY:
        if path[0] in NOUNS:
            ((same, only),) = commands(tree(*path))
            assert (same, only.callback) == (path, found.callback)
    assert len(list(commands(tree("calls", "list")))) == len(list(commands(tree("calls"))))


def test_every_module_says_what_it_is() -> None:
    for file in MODULES:
        assert ast.get_docstring(nodes(file)[0]), file


def calls_of(name: str) -> Iterator[tuple[Path, str, ast.Call]]:
    """Every call of a method of that name in proxy/: its file, and what it is called on."""
    for file in sorted((PACKAGE / "proxy").rglob("*.py")):
        for node in nodes(file):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
                yield file, ast.unparse(node.func.value), node


def test_tools_are_called_in_one_place_behind_the_decision() -> None:
    made = [
        file.name
        for room in ("proxy", "upstreams")
        for file in (PACKAGE / room).rglob("*.py")
        for node in nodes(file)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Exchange" and "CALL" in ast.unparse(node)
    ]
    assert made == ["call.py"]
    # An upstream is given a call by one line, which one line of a call's reaches, which two of the decision reach.
    sending = [file.name for file, on, _ in calls_of("send") if "upstreams" in on]
    assert sorted(sending) == ["execute.py", "feature_requests.py"]
    assert [file.name for file, on, _ in calls_of("send") if on == "self._execute"] == ["call.py"]
    assert {(file.name, on) for file, on, _ in calls_of("go")} == {("execute.py", "call")}
    source = (PACKAGE / "proxy" / "execute.py").read_text(encoding="utf-8")
    going = [
        function
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and ".go()" in ast.unparse(function)
    ]
    # One sends what waited and is allowed now, the other is reached by the branch of the verdict that allows.
    assert {function.name for function in going} == {"_send_in_turn", "_send_allowed"}
    assert all("allows(call)" in ast.unparse(function) for function in going if function.name == "_send_allowed")
    assert [ast.unparse(node) for _, _, node in calls_of("_send_in_turn")] == ["self._send_in_turn(call)"]
    assert "verdict.outcome == ALLOW:\n            self._send_in_turn(call)" in source


def test_only_the_policy_decides() -> None:
    for file in MODULES:
        room = room_of(file)
        if room in ("policy", "toolsets", "config"):
            continue
        names = {node.attr for node in nodes(file) if isinstance(node, ast.Attribute)}
        assert not names & {"permits", "may_hold"}, file
