"""config.toml, who can read it, and what it names."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.doctor import files
from mcpctl.doctor.findings import Case
from mcpctl.store.state import State
from tests.configured import configure, listed, stub
from tests.doctor.conftest import Found, told


def test_a_file_that_cannot_be_used_says_where(paths: Paths, found: Found) -> None:
    configure(paths)
    paths.config.write_text("[servers.a]\ncommand = ]\n", encoding="utf-8")
    ((code, subject, message),) = told(found("configuration"))
    assert (code, subject) == ("D101", str(paths.config))
    assert "line 2" in message
    paths.config.write_text("[serves]", encoding="utf-8")
    ((code, _, message),) = told(found("configuration"))
    assert (code, message) == ("D101", "unknown key 'serves'")


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({"command": "true", "argz": []}, "D102"),
        ({"command": "true", "args": ["${NO_SUCH_VARIABLE}"]}, "D103"),
        ({"command": "true", "env_file": "no-such-file"}, "D103"),
        ({"command": "true", "cwd": "/no/such/folder"}, "D103"),
        ({"url": "https://a.example", "headers": {"Authorization": "Bearer ${NO_SUCH_VARIABLE}"}}, "D103"),
        ({"url": "http://a.example", "headers": {"Authorization": "Bearer abc"}}, "D105"),
        ({"command": "true", "enabled": False}, "D107"),
        ({"command": "true"}, None),
    ],
)
def test_an_entry_is_named_with_what_is_wrong_with_it(
    paths: Paths, found: Found, server: dict[str, Any], expected: str | None
) -> None:
    configure(paths, {"s": server})
    assert [(each.code, each.subject) for each in found("configuration")] == ([(expected, "s")] if expected else [])


def test_a_variable_that_a_clients_entry_sets_is_there(paths: Paths, found: Found, user: Path) -> None:
    configure(paths, {"s": {"command": "true", "args": ["${OF_THE_CLIENT}"]}})
    assert [each.code for each in found("configuration")] == ["D103"]
    entry = {"command": "mcpctl", "args": ["serve"], "env": {"OF_THE_CLIENT": "x"}}
    (user / ".claude.json").write_text(json.dumps({"mcpServers": {"mcpctl": entry}}), encoding="utf-8")
    assert found("configuration") == []


def test_a_variable_of_the_shell_is_not_there_for_a_client_with_a_window(
    paths: Paths, found: Found, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "x")
    remote = {"url": "https://a.example", "headers": {"X-Key": "${SHOP_KEY}", "X-Home": "${HOME}${NONE:-}"}}
    configure(paths, {"shop": {"command": "true", "args": ["${SHOP_KEY}"]}, "far": remote})
    entry: dict[str, Any] = {"command": "mcpctl", "args": ["serve", "--config", str(paths.config)]}
    for place in (".claude.json", ".cursor/mcp.json"):
        (user / place).parent.mkdir(exist_ok=True)
        (user / place).write_text(json.dumps({"mcpServers": {"mcpctl": entry}}), encoding="utf-8")
    (finding,) = found("configuration")
    assert told([finding]) == [("D110", "Cursor", "it starts mcpctl without SHOP_KEY of far, SHOP_KEY of shop")]
    assert str(user / ".cursor/mcp.json") in finding.fix
    entry["env"] = {"SHOP_KEY": "y"}
    (user / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"mcpctl": entry}}), encoding="utf-8")
    assert found("configuration") == []


def test_a_toolset_or_project_that_is_not_there_is_named(
    paths: Paths, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(paths, {"s": stub()}, projects={"work": {"toolset": "no-such-toolset"}})
    ((code, subject, message),) = told(found("configuration"))
    assert (code, subject) == ("D104", "work")
    assert "no-such-toolset" in message
    monkeypatch.setenv("MCPCTL_PROJECT", "wrok")
    assert ("D104", "wrok") in [(each.code, each.subject) for each in found("configuration")]


def test_a_rule_that_matches_nothing_is_named_at_its_line(paths: Paths, found: Found) -> None:
    configure(paths, {"s": stub()}, policy={"deny": ["s:no_such_tool"]})
    listed(paths, "s", [{"name": "read"}])
    ((code, subject, message),) = told(found("configuration"))
    assert (code, message) == ("D106", "'deny s:no_such_tool' matches no tool")
    assert subject
    assert subject.startswith(str(paths.config))


def test_that_a_hook_may_say_yes_is_named(paths: Paths, found: Found) -> None:
    configure(paths, policy={"claude_hook": True})
    ((code, subject, message),) = told(found("configuration"))
    assert (code, message) == ("D112", "claude_hook = true: the hook of Claude Code may say yes")
    assert (subject or "").startswith(f"{paths.config}:")
    configure(paths, policy={"claude_hook": False})
    assert told(found("configuration")) == []


def test_a_rule_about_a_server_that_has_listed_nothing_may_match(paths: Paths, found: Found) -> None:
    configure(paths, {"s": stub(), "down": stub()}, policy={"deny": ["*:drop_*"]})
    listed(paths, "s", [{"name": "read"}])
    assert told(found("configuration")) == []


def test_tools_that_cannot_be_shown_directly_are_named(paths: Paths, found: Found) -> None:
    patterns = ["s:read", "s:gone", "down:*", "@nothing", "equipped"]
    configure(paths, {"s": stub(), "down": stub()}, serve={"direct": patterns})
    listed(paths, "s", [{"name": "read"}])
    assert told(found("configuration")) == [
        ("D113", ", ".join(patterns), "no toolset 'nothing'"),
        ("D113", ", ".join(patterns), "'s:gone' names no tool"),
    ]


def test_a_client_that_takes_fewer_tools_than_it_is_shown_is_named(paths: Paths, found: Found, user: Path) -> None:
    configure(paths, {"s": stub()})
    listed(paths, "s", [{"name": f"t{number}"} for number in range(81)])
    file = user / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    for words, codes in (((), []), (("--direct", "s:t1"), []), (("--direct", "all"), ["D114"])):
        entry = {"command": "mcpctl", "args": ["serve", *words]}
        file.write_text(json.dumps({"mcpServers": {"mcpctl": entry}}), encoding="utf-8")
        said = [each for each in told(found("configuration")) if each[0] != "D103"]
        assert [code for code, *_ in said] == codes
    assert said[0][1:] == ("Cursor", "Cursor takes 80 tools of all servers together, and 81 are shown")


def test_a_login_that_is_needed_is_told_with_the_command(paths: Paths, found: Found) -> None:
    wants = {"url": "https://a.example", "oauth": {"client_id": "me"}}
    configure(paths, {"off": {**wants, "enabled": False}, "s": wants, "open": {"url": "https://b.example"}})
    (finding,) = (each for each in found("configuration") if each.code != "D107")
    assert (finding.code, finding.subject, finding.fix) == ("D109", "s", "mcpctl servers login s")


def test_what_did_not_start_when_it_was_last_tried_is_named_until_it_does(paths: Paths, found: Found) -> None:
    configure(paths, {"off": {"command": "true", "enabled": False}, "s": {"command": "true"}})
    with State.connect(paths) as state:
        for name, server in config.load(paths.config).servers.items():
            state.remember_failure(name, server.fingerprint, f"server '{name}' did not start: it ended (exit 3)")
    (finding,) = (each for each in found("configuration") if each.code != "D107")
    assert (finding.code, finding.subject, finding.status) == ("D111", "s", "warning")
    assert re.fullmatch(r"when it was last tried, at \S+Z, it did not start: it ended \(exit 3\)", finding.message)
    assert finding.fix.endswith("mcpctl servers check s")
    with State.connect(paths) as state:
        state.remember_failure("s", config.load(paths.config).servers["s"].fingerprint, None)
    assert [each.code for each in found("configuration")] == ["D107"]


def test_no_server_is_worth_knowing(paths: Paths, found: Found) -> None:
    assert [each.code for each in found("configuration")] == ["D108"]


def test_a_file_that_others_can_change_or_read_secrets_in_is_closed(paths: Paths, found: Found) -> None:
    configure(paths, {"s": {"command": "true", "env": {"API_TOKEN": "abc"}}})
    for bits in (0o666, 0o644):
        paths.config.chmod(bits)
        (finding,) = found("permissions")
        assert (finding.code, finding.subject) == ("D121", str(paths.config))
        assert finding.repair
        assert "600" in finding.repair()
        assert paths.config.stat().st_mode & 0o777 == 0o600
        assert found("permissions") == []


def test_data_that_others_can_read_is_closed(paths: Paths, found: Found) -> None:
    configure(paths)
    paths.data.mkdir()
    paths.redaction_key.write_bytes(b"k" * 32)
    paths.redaction_key.chmod(0o644)
    paths.data.chmod(0o755)
    ((code, subject, message),) = told(findings := found("permissions"))
    assert (code, subject, message) == ("D122", str(paths.data), "others can read redaction.key")
    assert findings[0].repair
    findings[0].repair()
    assert found("permissions") == []
    assert paths.data.stat().st_mode & 0o777 == 0o700


def test_what_belongs_to_somebody_else_is_named(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    paths.data.mkdir(parents=True)
    other = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: other)
    ((code, subject, message),) = told(list(files.of_owners(Case.of(None, None))))
    assert (code, subject) == ("D123", str(paths.data))
    assert str(other) in message


def test_what_its_owner_cannot_use_is_opened_to_them(paths: Paths, found: Found) -> None:
    configure(paths)
    paths.data.mkdir()
    paths.config.chmod(0o000)
    paths.data.chmod(0o000)
    findings = found("permissions")
    assert [(each.code, each.subject) for each in findings] == [("D124", str(paths.config)), ("D124", str(paths.data))]
    assert [each.repair() for each in findings if each.repair] == [
        f"chmod u+r {paths.config}", f"chmod u+rwx {paths.data}",
    ]  # fmt: skip
    assert (paths.config.stat().st_mode & 0o777, paths.data.stat().st_mode & 0o777) == (0o400, 0o700)
    assert found("permissions") == []
