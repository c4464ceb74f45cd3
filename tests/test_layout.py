"""The house: a command is where its name says, and rooms import in one direction."""

import ast
import keyword
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.models import CommandInfo

import mcpctl
from mcpctl.cli.command_tree import ALONE, NOUNS, tree, verbs
from tests.table import for_each

PACKAGE = Path(mcpctl.__file__).parent

LAYERS = (
    ("base", "jsonc"),
    ("secrets",),
    ("config", "checks", "output"),
    ("store", "wire"),
    ("answers", "oauth", "openapi", "otlp", "registry", "toolsets"),
    ("policy",),
    ("catalog", "upstreams"),
    ("search", "servers"),
    ("metatools",),
    ("clients", "proxy"),
    ("calling", "doctor", "over_http"),
    ("dashboard", "demo"),
    ("commands",),
    ("cli",),
    ("main",),
    ("docgen", "__main__"),
)
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


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Neither for types: where a part needs something of its owner, a small Protocol says what."""
    names = {".".join(("mcpctl", *file.relative_to(PACKAGE).with_suffix("").parts)): file for file in MODULES}
    left = {name: set(modules_imported(file)) & names.keys() - {name} for name, file in names.items()}
    while ends := {name for name, imported in left.items() if not imported & left.keys()}:
        left = {name: imported for name, imported in left.items() if name not in ends}
    assert not left, "these are in circles, or import what is"


def test_the_core_has_as_many_files_as_one_person_can_know() -> None:
    assert len(list((PACKAGE / "proxy").glob("*.py"))) <= 40


def test_output_knows_only_rows_failures_and_words() -> None:
    imported = {name for file in (PACKAGE / "output").rglob("*.py") for name in modules_imported(file)}
    modules = {name.split(".")[2] for name in imported if name.startswith("mcpctl.base.")}
    assert modules <= {"models", "errors", "near_names", "texts"}


INSIDE = {
    f"mcpctl.store.{name}"
    for name in ("index", "projection", "query", "schema", "sqlite", "state_file", "statistics", "tables")
}
"""What only the store itself uses: everybody else asks `Records` and `State`."""


OF_POLICY_DB = {f"policy/{name}.py" for name in (
    "approvals", "limits", "pausing", "pins", "policy_file", "tokens", "versions",
)}  # fmt: skip
OF_ALL = {"docgen/records_page.py", "doctor/health.py"}
"""The manual's page of the tables, and what looks at every file as it lies."""


def modules_imported(file: Path) -> Iterator[str]:
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield str(node.module)


def test_what_is_imported_comes_with_the_package_and_not_only_with_its_tests() -> None:
    declared = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (each for name, each in declared["optional-dependencies"].items() if name != "dev")
    words = [re.split(r"[<>=\[]", text)[0].lower() for text in (*declared["dependencies"], *chain(*extras))]
    named = {"opentelemetry-proto": "opentelemetry", "python-dotenv": "dotenv", "pyyaml": "yaml"}
    known = {named.get(word, word.replace("-", "_")) for word in words}
    known |= {
        "anyio",
        "markupsafe",
        "google",
    }  # the SDK needs the first, Jinja the next, OTLP's messages google.protobuf
    known |= {"mcpctl", *sys.stdlib_module_names}
    imported = {name.partition(".")[0] for file in MODULES for name in modules_imported(file)}
    assert imported - known == set()


def test_databases_are_asked_through_the_objects_of_the_store() -> None:
    connected, inside = set(), set()
    for file in MODULES:
        name = str(file.relative_to(PACKAGE))
        if room_of(file) != "store" and name not in OF_POLICY_DB | OF_ALL:
            modules = set(modules_imported(file))
            connected |= {name} if "sqlite3" in modules else set()
            inside |= {name} if INSIDE & modules else set()
    assert not connected
    assert not inside


@for_each("room", ["base", "config", "secrets", "store", "toolsets", "checks", "policy", "catalog", "search"])
def test_what_is_kept_and_found_needs_no_sdk(room: str) -> None:
    for file in (PACKAGE / room).rglob("*.py"):
        for node in nodes(file):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.partition(".")[0] in ("mcp", "mcp_types", "typer", "rich")], file


@for_each(
    "room",
    [
        "store",
        "toolsets",
        "checks",
        "catalog",
        "search",
        "wire",
        "upstreams",
        "metatools",
        "proxy",
        "calling",
        "clients",
        "servers",
        "secrets",
        "config",
        "base",
    ],
)
def test_a_domain_never_exits_nor_writes_to_stdout(room: str) -> None:
    for file in (PACKAGE / room).rglob("*.py"):
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
        place = ("cli", "command_tree") if path[0] in ("help", "version") else ("commands", *nouns, verb)
        assert found.callback.__module__ == ".".join(("mcpctl", *place))
        assert found.callback.__name__ == verb


def test_every_folder_of_commands_is_a_noun_and_every_file_in_it_a_verb() -> None:
    folders = {folder.name for folder in (PACKAGE / "commands").iterdir() if (folder / "__init__.py").is_file()}
    assert folders == set(NOUNS)
    for noun in NOUNS:
        files = {file.stem.rstrip("_") for file in (PACKAGE / "commands" / noun).glob("[a-z]*.py")}
        assert set(verbs(noun)) == files - {noun}, noun


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


def test_a_name_of_a_class_stands_for_one_thing() -> None:
    """Those that begin with "_" are their module's own."""
    homes: dict[str, list[str]] = {}
    for file in MODULES:
        for node in nodes(file):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


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
    assert made == ["tool_calls.py"]
    # A server is given a request by one line, which one line of a request's reaches, and that the verdict that allows.
    assert [file.name for file, on, _ in calls_of("send") if ".held[" in on] == ["dispatch.py"]
    assert [file.name for file, on, _ in calls_of("send") if on == "self._dispatch"] == ["request.py"]
    going = [ast.unparse(node) for file, _, node in calls_of("go") if file.name == "dispatch.py"]
    assert len(going) == len(list(calls_of("go")))
    source = (PACKAGE / "proxy" / "dispatch.py").read_text(encoding="utf-8")
    allowing = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.If)]
    branches = [
        "\n".join(map(ast.unparse, node.body))
        for node in allowing
        if ast.unparse(node.test).startswith("verdict.outcome == ALLOW")
    ]
    assert sum("request.go()" in branch for branch in branches) == len(going)


def test_only_the_policy_decides() -> None:
    for file in MODULES:
        room = room_of(file)
        if room in ("policy", "toolsets", "config"):
            continue
        names = {node.attr for node in nodes(file) if isinstance(node, ast.Attribute)}
        assert not names & {"permits", "may_hold"}, file
