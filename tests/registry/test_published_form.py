"""The tests' own registry answers, and is asked, as the published API has it."""

import json
import re
import urllib.error
import urllib.request
from typing import Any

import jsonschema
import pytest

from tests.conftest import ROOT, Mcpctl
from tests.registry.own_registry import OwnRegistry, described, package, remote
from tests.registry.published_form import LIST, PARAMETERS, VERSION, VERSIONS, schema
from tests.table import for_each

VARIABLES = [{"name": "KEY", "isRequired": True, "isSecret": True}, {"name": "LOG", "default": "info"}]
ARGUMENTS = [
    {"type": "positional", "valueHint": "folder", "isRequired": True, "isRepeated": True, "format": "filepath"},
    {"type": "named", "name": "--units", "value": "{units}", "variables": {"units": {"choices": ["metric"]}}},
]


@pytest.fixture
def full(registry: OwnRegistry) -> OwnRegistry:
    """It has one server with all that a server may have, and an older version of it."""
    registry.publish(described(version="1.0.0", packages=[package(version="1.0.0")]))
    packages = [
        package(
            environmentVariables=VARIABLES, packageArguments=ARGUMENTS, registryBaseUrl="https://registry.npmjs.org"
        ),
        package("oci", "docker.io/ada/weather:1.2.3"),
    ]
    remotes = [remote("https://{region}.weather.example/mcp", variables={"region": {"isRequired": True}})]
    registry.publish(described(packages=packages, remotes=remotes, title="Weather"))
    return registry


def got(url: str) -> Any:
    """The JSON at an address, also of a refusal."""
    try:
        with urllib.request.urlopen(url) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        return json.load(error)


@for_each(
    "path, name",
    [
        ("/v0.1/servers", "ServerList"),
        ("/v0.1/servers?search=weather&version=latest&limit=1", "ServerList"),
        ("/v0.1/servers/io.github.ada%2Fweather/versions", "ServerList"),
        ("/v0.1/servers/io.github.ada%2Fweather/versions/latest", "ServerResponse"),
        ("/v0.1/servers/io.github.ada%2Fweather/versions/1.0.0", "ServerResponse"),
        ("/v0.1/servers/io.github.ada%2Fweather/versions/9.9.9", "NotFound"),
        ("/v0.1/servers/io.github.ada%2Fnone/versions", "NotFound"),
    ],
)
def test_its_answers_have_the_published_form(full: OwnRegistry, path: str, name: str) -> None:
    answer = got(full.url + path)
    jsonschema.validate(answer, schema(name), cls=jsonschema.Draft7Validator)
    assert answer.get("servers") != []


@for_each(
    "change",
    [
        {"name": "weather"}, {"version": None}, {"description": ""}, {"packages": [package(version="latest")]},
        {"packages": [{"registryType": "npm"}]}, {"remotes": [{"type": "streamable-http"}]},
        {"packages": [package(packageArguments=[{"type": "positional"}])]},
        {"packages": [package(packageArguments=["--yes"])]},
    ],
)  # fmt: skip
def test_the_form_refuses_what_the_schema_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"server": described() | change}, schema("ServerResponse"))


def test_what_mcpctl_says_of_itself_has_the_form_and_can_be_added(registry: OwnRegistry, mcpctl: Mcpctl) -> None:
    ours = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    registry.publish(ours)
    jsonschema.validate(got(f"{registry.url}/v0.1/servers"), schema("ServerList"), cls=jsonschema.Draft7Validator)
    ran = mcpctl("servers", "add", ours["name"], "--yes", "--json")
    assert ran.json["runs"] == f"uvx mcpctl@{ours['version']} serve"


def test_requests_have_published_addresses_and_parameters_alone(full: OwnRegistry, mcpctl: Mcpctl) -> None:
    mcpctl("servers", "search", "weather")
    mcpctl("servers", "add", "io.github.ada/weather", "--use", "npm", "--dry-run")
    mcpctl("servers", "add", "io.github.ada/weather@1.0.0", "--dry-run")
    assert [path for path, _ in full.asked] == [
        "/v0.1/servers",
        "/v0.1/servers/io.github.ada%2Fweather/versions/latest",
        "/v0.1/servers/io.github.ada%2Fweather/versions/1.0.0",
    ]
    for path, parameters in full.asked:
        forms = [form for form in (LIST, VERSIONS, VERSION) if re.fullmatch(form.replace("{}", "[^/]+"), path)]
        assert parameters.keys() <= PARAMETERS[forms[0]]


def test_nothing_else_asks_the_registry(full: OwnRegistry, mcpctl: Mcpctl) -> None:
    mcpctl("servers", "add", "time", "--", "sh", "-c", "true")
    for words in (("servers", "ls"), ("tools", "ls"), ("doctor",), ("config", "check"), ("servers", "rm", "time")):
        mcpctl(*words)
    assert full.asked == []
