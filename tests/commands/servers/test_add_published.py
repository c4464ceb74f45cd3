"""`mcpctl servers add` with the name of a server in the registry."""

import os
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from tests.configured import configure
from tests.conftest import MCPCTL, Mcpctl
from tests.registry.own_registry import OwnRegistry, described, package, remote
from tests.table import for_each
from tests.terminal import Terminal

NAME = "io.github.ada/weather"
KEY = {"name": "WEATHER_KEY", "description": "Your key", "isRequired": True, "isSecret": True}
TOKEN = {
    "name": "Authorization",
    "value": "Bearer {token}",
    "isSecret": True,
    "isRequired": True,
    "variables": {"token": {}},
}


def entry(paths: Paths, name: str = "weather") -> Any:
    """The entry that was written."""
    return tomllib.loads(paths.config.read_text(encoding="utf-8"))["servers"][name]


def positional(**more: Any) -> dict[str, Any]:
    """An argument without a name."""
    return {"type": "positional", **more}


def named(name: str, **more: Any) -> dict[str, Any]:
    """An option."""
    return {"type": "named", "name": name, **more}


@for_each(
    "offered, runs",
    [
        (package(), "npx -y weather-mcp@1.2.3"),
        (package(identifier="@ada/weather.mcp", version="1.2.3-rc.1+b7"), "npx -y @ada/weather.mcp@1.2.3-rc.1+b7"),
        (package(registryBaseUrl="https://registry.npmjs.org/", runtimeHint="npx"), "npx -y weather-mcp@1.2.3"),
        (package(runtimeArguments=[positional(value="-y")]), "npx -y weather-mcp@1.2.3"),
        (package("pypi", version="1.2"), "uvx weather-mcp@1.2"),
        (package("pypi", "Weather.MCP", "2025.1rc2", registryBaseUrl="https://pypi.org"), "uvx Weather.MCP@2025.1rc2"),
        (
            package(packageArguments=[
                positional(value="start"), named("--units", value="metric"), named("-v", value="2"),
                named("--stdio", value=""), named("--color"), positional(valueHint="folder", default="/srv"),
            ]),
            "npx -y weather-mcp@1.2.3 start --units=metric -v 2 --stdio",
        ),
        (
            package(packageArguments=[
                named("--place", value="{city},{country}", isRequired=True,
                      variables={"city": {"default": "Oslo"}, "country": {"value": "NO"}}),
                named("--mode", default="local", isRequired=True),
                named("--left", value="{out}", variables={"out": {}}),
                named("--as-it-is", value="{unknown}"),
            ]),
            "npx -y weather-mcp@1.2.3 --place=Oslo,NO --mode=local '--as-it-is={unknown}'",
        ),
    ],
)  # fmt: skip
def test_a_package_is_run_in_the_very_version(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, offered: dict[str, Any], runs: str
) -> None:
    registry.published.clear()
    paths.config.unlink(missing_ok=True)
    registry.publish(described(packages=[offered]))
    ran = mcpctl("servers", "add", NAME, "--yes")
    assert (ran.code, ran.out) == (0, "weather\n"), ran
    assert f"  command: {runs}\n" in ran.err
    program, *args = shlex.split(runs)
    assert entry(paths) == {"command": program, "args": args, "inherit_env": "minimal"}


@for_each(
    "offered, written",
    [
        ([remote()], {"url": "https://weather.example/mcp"}),
        ([remote("https://a.example/events", "sse")], {"url": "https://a.example/events", "transport": "sse"}),
        ([remote("https://weather.example/sse", "sse"), remote()], {"url": "https://weather.example/mcp"}),
        ([remote("http://localhost:8080/mcp")], {"url": "http://localhost:8080/mcp"}),
        (
            [remote(headers=[{"name": "X-Units", "value": "metric"}, {"name": "X-Language", "default": "no"}])],
            {"url": "https://weather.example/mcp", "headers": {"X-Units": "metric"}},
        ),
        (
            [remote("https://{host}/{version}/mcp", variables={
                "host": {"default": "eu.weather.example", "isRequired": True}, "version": {"value": "v1"},
            })],
            {"url": "https://eu.weather.example/v1/mcp"},
        ),
    ],
)  # fmt: skip
def test_a_remote_is_its_address(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, offered: list[Any], written: dict[str, Any]
) -> None:
    registry.published.clear()
    paths.config.unlink(missing_ok=True)
    registry.publish(described(remotes=offered))
    assert mcpctl("servers", "add", NAME, "--yes").code == 0
    assert entry(paths) == written


def test_a_version_that_is_named_is_taken_and_else_the_newest(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths
) -> None:
    registry.publish(described(version="1.0.0", packages=[package(version="1.0.0")]))
    registry.publish(described(version="2.0.0", packages=[package(version="2.0.1")]))
    mcpctl("servers", "add", f"{NAME}@1.0.0", "--yes", "--name", "old")
    mcpctl("servers", "add", NAME, "--yes")
    assert [entry(paths, name)["args"][1] for name in ("old", "weather")] == ["weather-mcp@1.0.0", "weather-mcp@2.0.1"]


@for_each(
    "name, code, said",
    [
        ("io.github.ada/none", 3, "no server 'io.github.ada/none'\nhint: look for it with: mcpctl servers search none"),
        (f"{NAME}@9.9.9", 3, f"no server '{NAME}@9.9.9'\nhint: the newest version is taken with: mcpctl servers add"),
        ("io.github.ada/gone", 3, "has no server"),
        (f"{NAME}@latest", 2, "'latest' is not one exact version"),
        (f"{NAME}@", 2, "'' is not one exact version"),
        (f"{NAME}@^1.0.0", 2, "'^1.0.0' is not one exact version"),
        (f"{NAME}@1.x", 2, "'1.x' is not one exact version"),
        (f"{NAME}@1.0/../2", 2, "is not one exact version"),
        ("weather/mcp", 2, "command: is missing"),
        ("./weather", 2, "command: is missing"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, name: str, code: int, said: str
) -> None:
    registry.publish(described(packages=[package()]))
    registry.publish(described("io.github.ada/gone"), status="deleted")
    ran = mcpctl("servers", "add", name)
    assert (ran.code, said in ran.err) == (code, True), ran
    assert not paths.config.exists()


def test_a_deprecated_one_is_said_to_be(registry: OwnRegistry, mcpctl: Mcpctl) -> None:
    registry.publish(described(packages=[package()]), status="deprecated", statusMessage="use weather-2")
    ran = mcpctl("servers", "add", NAME, "--yes")
    assert (ran.code, "  it is deprecated: 'use weather-2'\n" in ran.err) == (0, True)


@for_each(
    "offered, why, hint",
    [
        (package("oci", "docker.io/ada/weather:1"), "mcpctl runs packages of npm and PyPI only",
         "by hand it would be: mcpctl servers add NAME -- docker run -i --rm docker.io/ada/weather:1"),
        (package("nuget", "Ada.Weather"), "mcpctl runs packages of npm and PyPI only", "add it by hand"),
        (package("mcpb", "https://a.example/w.mcpb", fileSha256="0" * 64), "npm and PyPI only", "add it by hand"),
        (package(fileSha256="0" * 64), "it names the hash of its file", "add it by hand"),
        (package(transport=remote("http://localhost/mcp")), "it speaks streamable-http", "add it by hand"),
        (None, "it has no package and no address", "add it by hand"),
    ],
)  # fmt: skip
def test_a_package_of_another_kind_is_said_and_not_run(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, offered: Any, why: str, hint: str
) -> None:
    registry.published.clear()
    registry.publish(described(packages=[offered] if offered else []))
    ran = mcpctl("servers", "add", NAME, "--yes", "--json")
    assert (ran.code, ran.error["code"]) == (5, "server_json")
    assert why in ran.error["message"]
    assert hint in ran.error["hint"]
    assert not paths.config.exists()


def test_another_way_is_offered_beside_one_that_is_not_run(registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths) -> None:
    registry.publish(described(packages=[package("oci", "ada/weather:1")], remotes=[remote()]))
    ran = mcpctl("servers", "add", NAME, "--yes")
    assert "not for mcpctl: oci package ada/weather:1: mcpctl runs packages of npm and PyPI only\n" in ran.err
    assert entry(paths) == {"url": "https://weather.example/mcp"}


def test_one_of_several_ways_is_named(registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths) -> None:
    packages = [package(), package("pypi", "weather"), package("pypi", "weather-lite")]
    registry.publish(described(packages=packages, remotes=[remote()]))
    ran = mcpctl("servers", "add", NAME, "--yes", "--json")
    assert (ran.code, ran.error["code"]) == (2, "ambiguous")
    assert ran.error["hint"] == "choose one with --use: npm, weather@1.2.3, weather-lite@1.2.3, remote"
    ran = mcpctl("servers", "add", NAME, "--yes", "--use", "nuget", "--json")
    assert (ran.code, ran.error["code"]) == (2, "no_such_way")
    for number, use in enumerate(("npm", "weather", "weather-lite@1.2.3", "remote")):
        assert mcpctl("servers", "add", NAME, "--yes", "--use", use, "--name", f"w{number}").code == 0
    written = [entry(paths, f"w{number}") for number in range(4)]
    assert [each.get("url") or each["args"][-1] for each in written] == [
        "weather-mcp@1.2.3", "weather@1.2.3", "weather-lite@1.2.3", "https://weather.example/mcp",
    ]  # fmt: skip


def test_missing_values_are_named_with_the_options_that_give_them(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths
) -> None:
    arguments = [positional(valueHint="folder", isRequired=True), named("--api-key", isRequired=True)]
    registry.publish(described(packages=[package(environmentVariables=[KEY], packageArguments=arguments)]))
    ran = mcpctl("servers", "add", NAME, "--yes", "--json")
    assert (ran.code, ran.error) == (2, {
        "code": "input_missing",
        "message": f"'{NAME}' needs folder, api-key (a secret), WEATHER_KEY (a secret)",
        "hint": "give --input folder=VALUE --input 'api-key=${API_KEY}' --env 'WEATHER_KEY=${WEATHER_KEY}'",
    })  # fmt: skip
    given = ["--input", "folder=a b", "--input", "--api-key=${API_KEY}", "--env", "WEATHER_KEY=${cmd:pass weather}"]
    assert mcpctl("servers", "add", NAME, "--yes", *given, "--env", "MORE=1", "--deny", "rm").code == 0
    assert entry(paths) == {
        "command": "npx", "args": ["-y", "weather-mcp@1.2.3", "a b", "--api-key=${API_KEY}"], "inherit_env": "minimal",
        "env": {"WEATHER_KEY": "${cmd:pass weather}", "MORE": "1"}, "tools": {"rm": False},
    }  # fmt: skip


def test_headers_and_addresses_get_values_too(registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths) -> None:
    variables = {"region": {"isRequired": True, "choices": ["eu", "us"]}}
    headers = [TOKEN, {"name": "X-Team", "isRequired": True}]
    registry.publish(
        described(remotes=[remote("https://{region}.weather.example", variables=variables, headers=headers)])
    )
    given = ["--input", "region=eu", "--input", "token=${T}", "--header", "x-team=blue", "--header", "X-More=${M}"]
    ran = mcpctl("servers", "add", NAME, "--yes", *given)
    assert ran.code == 0, ran
    assert entry(paths) == {
        "url": "https://eu.weather.example",
        "headers": {"Authorization": "Bearer ${T}", "X-Team": "blue", "X-More": "${M}"},
    }


@for_each(
    "given, said",
    [
        (["--env", "WEATHER_KEY=abc"], "a secret is not written in the open: give it as ${WEATHER_KEY}"),
        (["--env", "WEATHER_KEY=${X:-abc}"], "a secret is not written in the open"),
        (["--env", "WEATHER_KEY=${X}abc"], "a secret is not written in the open"),
        (["--env", "WEATHER_KEY=${cmd:abc"], "a secret is not written in the open"),
        (["--env", "WEATHER_KEY=${ghp_abcdefghijklmnopqrstuvwxyz0123456789}"], "looks like a secret itself"),
        (["--input", "url=postgres://me:hunter2hunter2@db/x"], "this looks like a secret"),
        (["--input", "units=cubits"], "it must be one of: metric, imperial"),
        (["--input", "days=soon"], "it must be a number"),
        (["--input", "loud=yes"], "it must be true or false"),
        (["--input", "days=1", "--input", "days=2"], "--input days is given 2 times"),
        (["--input", "dayz=1"], "did you mean 'days'"),
        (["--input", "days"], "--input needs NAME=VALUE"),
        (["--input", "url=a\x07b"], "characters that are not printed"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, given: list[str], said: str
) -> None:
    arguments = [
        named("--url"), named("--units", choices=["metric", "imperial"]), named("--days", format="number"),
        named("--loud", format="boolean"),
    ]  # fmt: skip
    registry.published.clear()
    registry.publish(described(packages=[package(environmentVariables=[KEY], packageArguments=arguments)]))
    key = [] if "--env" in given else ["--env", "WEATHER_KEY=${K}"]
    ran = mcpctl("servers", "add", NAME, "--yes", *given, *key)
    assert (ran.code, said in ran.err) == (2, True), ran
    assert not paths.config.exists()


def test_a_path_begins_where_it_is_given_and_may_be_several(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ada")
    folder = positional(valueHint="folder", isRequired=True, isRepeated=True, format="filepath")
    registry.publish(described(packages=[package(packageArguments=[folder])]))
    given = [word for path in ("notes", "~/notes", "/srv", "${NOTES}") for word in ("--input", f"folder={path}")]
    assert mcpctl("servers", "add", NAME, "--yes", *given).code == 0
    assert entry(paths)["args"][2:] == [f"{tmp_path}/notes", "/home/ada/notes", "/srv", "${NOTES}"]


def test_a_name_that_is_taken_is_said_before_anything_is_asked(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths
) -> None:
    mcpctl("servers", "add", "weather", "--", "sh")
    ran = mcpctl("servers", "add", NAME, "--yes")
    assert (ran.code, "there is a server 'weather' already" in ran.err, "--name NAME" in ran.err) == (1, True, True)
    assert registry.asked == []


def test_the_last_part_is_the_name_as_far_as_a_name_may_have_it(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths
) -> None:
    registry.publish(described("com.example/my.weather_2", packages=[package()]))
    assert mcpctl("servers", "add", "com.example/my.weather_2", "--yes").out == "my-weather_2\n"
    ran = mcpctl("servers", "add", "com.example/my.weather_2", "--yes", "--name", "a b")
    assert (ran.code, "'a b' cannot name a server" in ran.err) == (2, True)


@for_each(
    "words",
    [
        ["x", "--yes", "--", "sh"], ["x", "--name", "y", "--", "sh"], ["x", "--use", "npm", "--url", "https://a.example"],
        [NAME, "--yes", "--use", "remote", "--cwd", "/"], [NAME, "--yes", "--use", "npm", "--oauth", "client_id=x"],
        [NAME, "--", "sh"], [NAME, "--url", "https://a.example"], [NAME, "--transport", "sse"],
    ],
)  # fmt: skip
def test_options_that_contradict_each_other_are_refused(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, words: list[str]
) -> None:
    registry.published.clear()
    registry.publish(described(packages=[package()], remotes=[remote()]))
    assert mcpctl("servers", "add", *words).code == 2
    assert not paths.config.exists()


def test_a_program_that_is_restricted_under_another_name_is_for_a_person(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths
) -> None:
    configure(paths, {"mine": {"command": "npx", "args": ["-y", "weather-mcp"], "tools": {"delete": False}}})
    text = paths.config.read_bytes()
    registry.publish(described(packages=[package()]))
    ran = mcpctl("servers", "add", NAME, "--yes")
    assert (ran.code, "only a person can" in ran.err) == (6, True), ran
    assert paths.config.read_bytes() == text


def test_without_a_terminal_nothing_is_written_unless_it_is_said(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths
) -> None:
    registry.publish(described(packages=[package()]))
    ran = mcpctl("servers", "add", NAME)
    assert (ran.code, "  command: npx -y weather-mcp@1.2.3\n" in ran.err) == (2, True)
    assert f"hint: to write this: mcpctl servers add {NAME}@1.2.3 --yes, with the same options" in ran.err
    assert not paths.config.exists()


def test_a_dry_run_shows_the_change_and_writes_nothing(registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths) -> None:
    registry.publish(described(packages=[package(environmentVariables=[KEY])]))
    ran = mcpctl("servers", "add", NAME, "--env", "WEATHER_KEY=${WEATHER_KEY}", "--dry-run")
    assert ran.code == 0
    assert '+command = "npx"' in ran.out and "WEATHER_KEY is not set here" in ran.err
    assert mcpctl("servers", "add", "time", "--dry-run", "--json", "--", "sh").json["changed"] is True
    assert not paths.config.exists()


def test_json_prints_the_entry_alone(registry: OwnRegistry, mcpctl: Mcpctl) -> None:
    registry.publish(described(packages=[package("pypi")]))
    ran = mcpctl("servers", "add", NAME, "--yes", "--json")
    assert (ran.json["name"], ran.json["runs"]) == ("weather", "uvx weather-mcp@1.2.3")


# ---- at a terminal


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a person at a terminal types, line by line; a line that nobody asks for is a failure."""
    lines: list[str] = []
    monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
    monkeypatch.setattr(confirmation, "may_be_a_person", lambda: True)
    yield lines


def test_a_person_is_asked_for_all_that_is_needed(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, typed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", "x")
    arguments = [
        positional(valueHint="folder", isRequired=True, isRepeated=True),
        named("--mode", default="local", isRequired=True, choices=["local", "far"]), named("--token", isRequired=True),
    ]  # fmt: skip
    offered = package(environmentVariables=[KEY, {"name": "LOG"}], packageArguments=arguments)
    registry.publish(described(packages=[offered], remotes=[remote()]))
    lines = ["7", "npm", "", "/srv", "/tmp", "", "near", "", "ghx1", "OTHER_KEY", "", "y"]
    ran = mcpctl("servers", "add", NAME, stdin="\n".join(lines) + "\n", tty=True)
    assert ran.code == 0, ran
    assert entry(paths) == {
        "command": "npx", "inherit_env": "minimal", "env": {"WEATHER_KEY": "${WEATHER_KEY}"},
        "args": ["-y", "weather-mcp@1.2.3", "/srv", "/tmp", "--mode=local", "--token=${OTHER_KEY}"],
    }  # fmt: skip
    for said in ("Use which, 1 to 2?", "it needs a value", "it must be one of: local, far", "no variable of this name"):
        assert said in ran.err
    assert "--env LOG=VALUE" in ran.err


def test_a_person_who_says_no_has_the_file_as_it_was(
    registry: OwnRegistry, mcpctl: Mcpctl, paths: Paths, typed: list[str]
) -> None:
    registry.publish(described(packages=[package()]))
    paths.config.parent.mkdir(parents=True)
    paths.config.write_bytes(b"# mine\n")
    for answer, code in (("n\n", 6), ("\n", 6), ("", 6)):
        ran = mcpctl("servers", "add", NAME, stdin=answer, tty=True)
        assert (ran.code, "nothing was written" in ran.err) == (code, True)
    assert paths.config.read_bytes() == b"# mine\n"


@pytest.mark.process
@pytest.mark.slow
def test_it_is_one_conversation_at_a_terminal(registry: OwnRegistry, paths: Paths) -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    registry.publish(described(packages=[package(environmentVariables=[KEY])], remotes=[remote(headers=[TOKEN])]))
    env = {name: value for name, value in os.environ.items() if name not in confirmation.AGENTS} | {"MY_TOKEN": token}
    with Terminal([*MCPCTL, "servers", "add", NAME, "--no-check"], env) as terminal:
        terminal.wait_for(r"1: npm  npx -y weather-mcp@1\.2\.3\s+2: remote  https://weather\.example/mcp")
        terminal.wait_for(r"Use which, 1 to 2\? ")
        terminal.type("2\n")
        terminal.wait_for(r"token \(a secret; .*\) \[\$\{TOKEN\}\]: ")
        terminal.type(f"{token}\n")
        terminal.wait_for(r"a secret is not written in the open")
        terminal.wait_for(r"\[\$\{TOKEN\}\]: ")
        terminal.type("MY_TOKEN\n")
        terminal.wait_for(r"\[servers\.weather\] will be:\s+url: https://weather\.example/mcp")
        terminal.wait_for(r"header Authorization: Bearer \$\{MY_TOKEN\}")
        terminal.wait_for(r"Write this\? \[y/N\]: ")
        terminal.type("y\n")
        terminal.wait_for(r"added to\s")
        terminal.wait_for_end()
    assert entry(paths) == {"url": "https://weather.example/mcp", "headers": {"Authorization": "Bearer ${MY_TOKEN}"}}
    with Terminal([*MCPCTL, "servers", "add", NAME, "--use", "npm", "--name", "again"], env) as terminal:
        terminal.wait_for(r"WEATHER_KEY \('Your key', a secret; .*\) \[\$\{WEATHER_KEY\}\]: ")
        terminal.type("\x03")
        terminal.wait_for_end()
    assert "again" not in paths.config.read_text(encoding="utf-8")
    assert token not in paths.config.read_text(encoding="utf-8")
