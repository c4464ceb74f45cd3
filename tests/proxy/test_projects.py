"""A client of one project: the tools that it sees and may call, and the servers that are started for it."""

from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure, noted, toolset
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, Client, journal_lines
from tests.proxy.conftest import BOTH, Serve
from tests.servers import command
from tests.table import for_each

pytestmark = [pytest.mark.process, BOTH]

NOTES = [noted("mine:echo", rule="Ask the zookeeper first.")]


@pytest.fixture
def starts(tmp_path: Path) -> dict[str, Path]:
    """Per server a file with a line for each of its starts."""
    return {name: tmp_path / f"{name}.starts" for name in ("mine", "every", "other")}


@pytest.fixture
def served(paths: Paths, starts: dict[str, Path], serve: Serve) -> Any:
    """Starts `mcpctl serve` with options on a server of acme, one of every project, and one of zoo."""
    projects = {"mine": ["acme"], "every": [], "other": ["zoo"]}
    configured = {
        name: {"command": words[0], "args": words[1:], "projects": projects[name]}
        for name, file in starts.items()
        if (words := command("counter", file))
    }
    configure(paths, configured, projects={"acme": {"toolset": "acme"}, "zoo": {}})
    toolset(paths, "acme", "mine:echo", "mine:count", "every:count", "other:count", toolNotes=NOTES)

    def start(*options: str, revision: str = LATEST, **env: str) -> Client:
        return serve(options=options, revision=revision, opened=False, env=env)

    return start


def servers_found(client: Client) -> set[str]:
    """The servers of which any tool is found."""
    found = client.discover("count", "echo", "every:echo", "other:echo", maxResults=50)["results"]
    return {entry["toolKey"].partition(":")[0] for entry in found}


def keys(client: Client, query: str) -> list[str]:
    return [entry["toolKey"] for entry in client.discover(query)["results"]]


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_server_of_another_project_is_not_there_for_a_client(
    home: Path, served: Any, starts: dict[str, Path], revision: str
) -> None:
    client = served("--project", "acme", "--toolset", "none", revision=revision)
    opened = client.open()
    assert ": every, mine. Find" in opened["instructions"]
    for tool in client.ask("tools/list").json["result"]["tools"]:
        assert "every, mine" in tool["description"]
        assert "mine, other" not in tool["description"]
    found = client.discover("other:count", "how many calls", maxResults=50)
    assert {entry["toolKey"].partition(":")[0] for entry in found["results"]} == {"mine", "every"}
    assert "other:" not in found.get("notice", "")
    refused = client.call("other:count")
    assert refused.is_error
    assert "server 'other' is not in the project in force, 'acme'" in refused.text
    assert "every, mine" in client.call("nobody:count").text
    assert not client.call("mine:count").is_error
    assert not client.call("every:count").is_error
    client.close()
    assert [name for name, file in starts.items() if file.exists()] == ["mine", "every"]
    lines = journal_lines(home)
    statuses = {line["id"]: line["status"] for line in lines if line["type"] == "calls.finished"}
    told = [(line["server"], statuses[line["id"]]) for line in lines if line["type"] == "calls.started"]
    assert told == [("other", "denied"), ("nobody", "failed"), ("mine", "ok"), ("every", "ok")]


@for_each(
    ("options", "variable", "expected"),
    [
        ([], None, {"mine", "every", "other"}),
        (["--project", "zoo"], None, {"every", "other"}),
        ([], "", {"mine", "every", "other"}),  # from here on, it is set
        ([], "zoo", {"every", "other"}),
        (["--project", "zoo"], "acme", {"every", "other"}),
        (["--project", "zoo"], "nothing", {"every", "other"}),
    ],
)
@pytest.mark.slow
def test_the_option_goes_before_the_variable(
    served: Any, options: list[str], variable: str | None, expected: set[str]
) -> None:
    client = served(*options, **({} if variable is None else {"MCPCTL_PROJECT": variable}))
    client.open()
    assert servers_found(client) == expected
    client.close()


@pytest.mark.parametrize(("options", "variable"), [(["--project", "acne"], "acme"), ([], "acne")])
def test_a_project_that_nothing_names_stops_serve_before_it_begins(
    served: Any, options: list[str], variable: str
) -> None:
    client = served(*options, MCPCTL_PROJECT=variable)
    client.end_input()
    assert client.rest() == []
    assert client.wait() == 3
    assert client.stderr == "mcpctl: no project 'acne'\nhint: did you mean 'acme'?\n"


def test_a_project_whose_servers_are_all_elsewhere_finds_nothing(paths: Paths, served: Any) -> None:
    configure(paths, {"other": {"command": "x", "projects": ["zoo"]}}, projects={"idle": {}})
    client = served("--project", "idle")
    assert client.open()["instructions"].startswith("No MCP server is behind this one yet")
    found = client.discover("count")
    assert found["results"] == []
    assert found["notice"].startswith("No server is in project 'idle'.")


def test_a_model_of_a_project_cannot_add_notes_to_the_tools_of_another(served: Any, paths: Paths) -> None:
    client = served("--project", "acme", "--allow-annotate")
    client.open()
    before = (paths.toolsets / "acme.json").read_bytes()
    for key in ("other:count", "other:none"):
        note = {"toolRef": {"namespacedName": key.replace(":", ".")}, "notes": [{"name": "use", "note": "first"}]}
        answer = client.tool("add-tool-annotation", note)
        assert answer.is_error
        assert "server 'other' is not in the project in force, 'acme'" in answer.text
    assert (paths.toolsets / "acme.json").read_bytes() == before


@pytest.mark.parametrize(("options", "project"), [(["--project", "acme"], "acme"), ([], None)])
def test_the_project_in_force_is_on_every_record(
    home: Path, mcpctl: Mcpctl, served: Any, options: list[str], project: str | None
) -> None:
    client = served(*options)
    client.open()
    client.discover("count")
    client.call("mine:count")
    client.call("other:nothing")
    client.close()
    told = [(line["type"], line["project"]) for line in journal_lines(home) if "project" in line]
    types = ["sessions.created", "discoveries.finished", "calls.started", "calls.started"]
    types += ["decisions.made"] if project else []  # without one there is only no such tool, which nobody decided
    assert told == [(type_, project) for type_ in types]
    shown = mcpctl("sessions", "show", "last", "--json").json
    assert [shown["project"], *(call["project"] for call in shown["calls"])] == [project] * 3
    assert mcpctl("calls", "show", "last", "--json").json["project"] == project
    (search,) = mcpctl("calls", "ls", "--kind", "discovery", "--json").json
    assert search["project"] == project
    assert mcpctl("calls", "show", search["id"], "--json").json == search
    counts = [mcpctl(*words, "--project", "acme", "--count").out for words in (["sessions", "ls"], ["calls", "ls"])]
    assert counts == (["1\n", "2\n"] if project else ["0\n", "0\n"])


# ---- its toolset


@pytest.mark.parametrize(
    ("options", "variable", "equipped", "in_force"),
    [
        (["--toolset", "one"], "two", "three", "one"),
        ([], "two", "three", "two"),
        ([], "", "three", "acme"),
        ([], "", None, "acme"),
        (["--toolset", "none"], "two", "three", None),
        ([], "none", "three", None),
    ],
)
@pytest.mark.slow
def test_a_toolset_is_in_force_by_option_variable_project_and_equipment_in_this_order(
    mcpctl: Mcpctl,
    paths: Paths,
    home: Path,
    served: Any,
    options: list[str],
    variable: str,
    equipped: str | None,
    in_force: str | None,
) -> None:
    for number, name in enumerate(("one", "two", "three")):
        toolset(paths, name, ("mine:echo", "every:echo", "every:count")[number])
    if equipped:
        mcpctl("toolsets", "equip", equipped)
    held = {"one": {"mine:echo"}, "two": {"every:echo"}, "three": {"every:count"}}
    held["acme"] = {"mine:echo", "mine:count", "every:count"}
    client = served("--project", "acme", *options, MCPCTL_TOOLSET=variable)
    client.open()
    found = {entry["toolKey"] for entry in client.discover("count", "echo", maxResults=50)["results"]}
    every = {f"{server}:{tool}" for server in ("mine", "every") for tool in ("count", "echo")}
    assert found == (held[in_force] if in_force else every)
    for key in every:
        assert client.call(key, {}).is_error == (key not in found)
    client.close()
    (created,) = [line for line in journal_lines(home) if line["type"] == "sessions.created"]
    assert created["toolset"] == in_force


def test_a_project_without_a_toolset_has_the_equipped_one(mcpctl: Mcpctl, paths: Paths, served: Any) -> None:
    toolset(paths, "three", "every:count")
    mcpctl("toolsets", "equip", "three")
    client = served("--project", "zoo")
    client.open()
    assert keys(client, "count") == ["every:count"]


def test_a_project_may_have_no_toolset_whatever_is_equipped(mcpctl: Mcpctl, paths: Paths, served: Any) -> None:
    words = command("counter")
    configure(paths, {"mine": {"command": words[0], "args": words[1:]}}, projects={"acme": {"toolset": "none"}})
    toolset(paths, "three", "mine:count")
    mcpctl("toolsets", "equip", "three")
    free, bound = served("--project", "acme"), served()
    for client, refused in ((free, False), (bound, True)):
        client.open()
        assert client.call("mine:echo", {}).is_error == refused
        assert ("mine:echo" in keys(client, "mine:echo")) != refused


def test_a_running_serve_follows_the_file_of_its_project_s_toolset(
    paths: Paths, served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = command("counter")
    path = paths.config.parent / "team" / "tools.json"
    servers = {"mine": {"command": words[0], "args": words[1:]}}
    configure(paths, servers, projects={"acme": {"toolset": "team/tools.json"}})
    toolset(paths, "team", "mine:count", path=path)
    monkeypatch.chdir(tmp_path)  # where there is no folder team
    client = served("--project", "acme")
    client.open()
    assert "mine:echo" not in keys(client, "mine:echo")
    assert "is not in the toolset 'team'" in client.call("mine:echo", {}).text
    toolset(paths, "team", "mine:count", "mine:echo", path=path)
    assert not client.call("mine:echo", {}).is_error
    assert "mine:echo" in keys(client, "mine:echo")


@pytest.mark.parametrize(
    ("named", "code", "told", "hint"),
    [
        ("acne", 3, "no toolset 'acne'", "did you mean 'acme'?"),
        ("./acme.json", 3, "there is no toolset file {home}/acme.json", "check the path"),
        ("Acme", 5, "'Acme' cannot name a toolset", "names have 2 to 50 of"),
    ],
)
def test_a_project_s_toolset_that_is_not_there_stops_serve_and_is_told_where_it_is_named(
    mcpctl: Mcpctl, home: Path, paths: Paths, served: Any, named: str, code: int, told: str, hint: str
) -> None:
    configure(paths, {}, projects={"acme": {"toolset": named}})
    toolset(paths, "acme", "mine:count")
    said = f"{paths.config}: projects.acme.toolset: {told.format(home=home)}\nhint: {hint}"
    client = served("--project", "acme")
    client.end_input()
    assert (client.wait(), said in client.stderr) == (code, True)
    for words in (["tools", "ls"], ["toolsets", "show"]):
        ran = mcpctl(*words, "--project", "acme")
        assert (ran.code, said in ran.err) == (code, True)
    assert mcpctl("tools", "ls", "--project", "acme", "--toolset", "none").code == 0
