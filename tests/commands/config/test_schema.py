"""`mcpctl config schema`: editors and mcpctl agree on what a config.toml is."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import tomli_w
from pytest_snapshot.plugin import Snapshot

from mcpctl import docgen
from mcpctl.config import config, problems
from mcpctl.config.editing import SCHEMA
from mcpctl.config.server_settings import API_ONLY
from mcpctl.config.toml import Section
from mcpctl.docgen.config_page import STRUCTS
from mcpctl.docgen.texts import TEXTS
from tests.conftest import ROOT, Mcpctl
from tests.table import for_each

VALUES: list[Any] = [
    "text", "", " ", "https://a.example/b", 0, 1, -1, 1.5, -0.5, 2e7 + 0.5, True, [], ["text"], ["a", 1], [["a"]], {},
    {"a": "b"}, {"a": 1}, {"a": True}, {"a:b": "x"}, {"a:*": "10/h"},
]  # fmt: skip
STRICTER: dict[str, list[Any]] = {  # settings with rules that no schema has: the reader alone refuses these
    "servers.url": ["text", "", " "], "servers.oauth.issuer": ["text", " "],
    "servers.oauth.grant": ["client_credentials"], "search.semantic_url": ["text", " "],
    "search.cloud_url": ["text", " "], "registry.url": ["text", "", " "],
    "oauth.client_metadata_url": ["text", " "], "servers.origins": [["text"]], "servers.openapi": ["", " "],
    "servers.auth.client_id": ["", " "], "servers.auth.client_secret": ["", " "],
}  # fmt: skip
GOOD = {"http.path": ["/mcp"]}
BESIDE: dict[str, dict[str, Any]] = {"search.semantic_url": {"semantic_model": "m"}}


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = msgspec.json.decode(SCHEMA.read_bytes())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_the_schema_is_made_from_the_tables_that_read_the_file(snapshot: Snapshot) -> None:
    snapshot.snapshot_dir = SCHEMA.parent
    snapshot.assert_match(docgen.schema_of_the_configuration(), SCHEMA.name)


def test_it_is_printed_as_it_is_shipped(mcpctl: Mcpctl) -> None:
    assert mcpctl("config", "schema").out == SCHEMA.read_text(encoding="utf-8")


def test_what_is_right_is_valid(validator: Any) -> None:
    texts = [TEXTS["config_example"], *(path.read_text(encoding="utf-8") for path in EXAMPLES), ""]
    for text in texts:
        validator.validate(tomllib.loads(text))
        assert not list(problems.problems(Path("config.toml"), text))


EXAMPLES = [path for path in sorted((ROOT / "examples").rglob("*.toml")) if "[servers" in path.read_text("utf-8")]


def settings() -> Iterator[tuple[str, type[Section], str]]:
    for title, struct in STRUCTS.items():
        place = ".".join(part for part in title.strip("[]").split(".") if part.strip('"') != "NAME")
        for field in msgspec.structs.fields(struct):
            yield place, struct, field.name


def document(place: str, key: str, value: Any) -> dict[str, Any]:
    """A configuration that is right but for this value."""
    table: dict[str, Any] = {**BESIDE.get(f"{place}.{key}", {}), key: value}
    section, _, inner = place.partition(".")
    if section == "servers":
        remote = inner or key in ("transport", "headers", "oauth", "url")
        base = {} if key in ("command", "url") else {"url": "https://a.example"} if remote else {"command": "run"}
        base = {"openapi": "a.json"} if key in ("openapi", *API_ONLY) or inner == "auth" else base
        table = {"client_id": "me", **table} if inner else table
        table = {"x": {"client_secret": "s", **table}} if inner == "auth" else table
        table = {**base, **({inner: table} if inner else table)}
    elif inner:
        table = {inner: table}
    whole = {section: {"x": table} if section in ("servers", "projects", "clients") else table}
    return {**whole, **({} if section == "policy" else {"policy": {}})}


def test_the_schema_and_the_reader_agree_on_each_setting(validator: Any) -> None:
    used: dict[str, set[bool]] = {}
    for place, struct, key in settings():
        name = f"{place}.{key}"
        allowed = [*struct.one_of.get(key, ()), *([[each] for each in struct.some_of.get(key, ())])]
        for value in (*VALUES, *allowed, *GOOD.get(name, ())):
            text = tomli_w.dumps(document(place, key, value))
            reads = not list(problems.problems(Path("config.toml"), text))
            is_stricter = value in STRICTER.get(name, ()) and not isinstance(value, bool)
            assert validator.is_valid(tomllib.loads(text)) is (reads or is_stricter), (name, value)
            used.setdefault(name, set()).add(reads)
    assert {name for name, outcomes in used.items() if len(outcomes) < 2} == set()


def test_the_schema_has_every_section_that_is_read(validator: Any) -> None:
    assert validator.schema["properties"].keys() == config.KNOWN
    assert not validator.is_valid({"serach": {}})


@for_each(
    ("text", "valid"),
    [
        ('[servers.a]\ncommand = "x"\nurl = "https://a.example"', False),
        ('[servers.a]\nargs = ["x"]', False),
        ('[servers.a]\ncommand = "x"\nheaders = {}', False),
        ('[servers.a]\nurl = "https://a.example"\ninherit_env = "all"', False),
        ('[servers."a b"]\ncommand = "x"', False),
        ('[servers.a]\ncommand = "x"\ntools = {rm = "maybe"}', False),
        ('[servers.a]\ncommand = "x"\ninherit_env = ["A", "B"]', True),
        ('[servers.a]\ncommand = "x"\ntools = {rm = false, ls = "ask"}\n[policy]', True),
        ('[servers.a]\nurl = "${ADDRESS}"\nheaders = {A = "b"}\noauth = {}', True),
        ('[policy]\ndeny = ["@mcpctl:read", "@destructive", "*", "a:b*"]', True),
        ('[policy]\ndeny = ["@bogus"]', False),
        ('[projects.a.policy]\non_change = "hold"', False),
    ],
)
def test_wrong_files_are_told_from_right_ones_by_both(validator: Any, text: str, valid: bool) -> None:
    assert validator.is_valid(tomllib.loads(text)) is valid
    assert (not list(problems.problems(Path("config.toml"), text))) is valid
