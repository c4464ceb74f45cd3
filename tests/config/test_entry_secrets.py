"""What entries have for secrets is in nothing that is kept or said, whoever says it."""

import json
import sys
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import entry_secrets, server_environment
from mcpctl.config.server_settings import OAuth, Server
from mcpctl.secrets.redact import mask
from tests.configured import configure
from tests.conftest import Mcpctl

SECRET = "vK3-m9zQ-tulip"


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "env": {"DB_PASSWORD": SECRET}},
        {"command": "x", "env": {"ODD": SECRET}},
        {"command": "x", "env": {"DB_PASSWORD": "${OF_ENV}"}},
        {"command": "x", "env": {"PLACE": "postgres://me:${PG_PASSWORD}@db/x"}},
        {"command": "x", "env": {"A": "${NONE:-vK3-m9zQ-tulip}"}},
        {"command": "x", "env": {"A_TOKEN": "${cmd:print it}"}},
        {"command": "x", "args": ["--token", SECRET]},
        {"command": "x", "args": ["--token=" + SECRET]},
        {"url": "https://a.example", "headers": {"Authorization": "Bearer " + SECRET}},
        {"url": "https://a.example", "headers": {"X-Api-Key": SECRET}},
        {"url": f"https://a.example/mcp?api_key={SECRET}"},
        {"url": f"https://me:{SECRET}@a.example/mcp"},
        {"url": "https://a.example", "oauth": OAuth(client_id="a", client_secret=SECRET)},
    ],
)
def test_the_secrets_of_an_entry_are_known(entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_environment, "_outputs", {"print it": SECRET})
    assert SECRET in mask(f"it is {SECRET} here")
    env = {"OF_ENV": SECRET, "PG_PASSWORD": SECRET}
    entry_secrets.learn_all({"s": Server(**entry)}, env)
    assert mask(f"it is {SECRET} here") == "it is *** here"


def test_plain_values_of_entries_stay() -> None:
    plain = {"HOME_DIR": "/home/me/projects/2026", "REGION": "eu-central-1", "LEVEL": "information", "PORT": "8080",
             "DB_PASSWORD": "short", "HOST": "db.example.org:5432", "FLAG": "true", "VERSION": "1.20.3"}  # fmt: skip
    entry_secrets.learn_all(
        {"s": Server(command="python3", args=["-m", "server", "--name", "it_2026_is_a_name"], env=plain)}, {}
    )
    for value in (*plain.values(), "it_2026_is_a_name"):
        assert mask(f"it is {value} here") == f"it is {value} here"


def test_no_command_is_run_to_know_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_environment, "_printed", lambda *_: pytest.fail("a command was run"))
    entry_secrets.learn_all({"s": Server(command="x", env={"TOKEN": "${cmd:pass show it}"})}, {})


@pytest.mark.process
def test_what_a_server_writes_has_no_secret_of_another(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHERS", "9f-of-the-environment-9f")
    said = f"password is {SECRET}, or 9f-of-the-environment-9f, or its own 8a-its-own-8a-x"
    loud = [sys.executable, "-c", f"import sys; print({said!r}, file=sys.stderr); sys.exit(1)"]
    off = {"command": "x", "enabled": False, "env": {"ODD": SECRET, "B_KEY": "${OTHERS}"}}
    own = {"OWN": "${cmd:printf 8a-its-own-8a-x}"}
    configure(paths, {"loud": {"command": loud[0], "args": loud[1:], "env": own}, "other": off})
    ran = mcpctl("tools", "refresh", "loud")
    logged = mcpctl("servers", "logs", "loud", "--json")
    assert ran.code and json.loads(logged.out)
    for text in (ran.err, logged.out, paths.log("loud").read_text(encoding="utf-8")):
        assert "password is" in text
        assert SECRET not in text and "of-the-environment" not in text and "8a-its-own-8a-x" not in text
