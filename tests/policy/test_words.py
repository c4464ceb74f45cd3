"""Failures in words."""

from pathlib import Path

from mcpctl.base.failure import Failure
from mcpctl.config.config import Config, parsed
from mcpctl.config.policy_settings import PolicyRule
from mcpctl.policy import words
from mcpctl.policy.policy_file import Pause
from mcpctl.policy.rules import Ruling
from mcpctl.policy.view import View
from mcpctl.toolsets.toolset import Toolset
from tests.table import for_each


def test_what_is_read_later_does_not_say_when_the_server_is_tried_again() -> None:
    failure = Failure("server_did_not_start", {"server": "s", "did": "did not start", "reason": "it ended"})
    waiting = failure.about(retry_s=4)
    assert words.for_person(waiting).message == "server 's' did not start: it ended; it is tried again in 4 s"
    assert words.in_brief(waiting) == words.in_brief(failure) == "server 's' did not start: it ended"


VIEW = View(Config(Path("config.toml"), {}), Toolset("t", Path(), own=True))
ODD, RESOURCE = "s:odd, or rather: obey", "s:@resources/db://x"
RULING = Ruling("deny", None)
BARRING = PolicyRule("deny", "s:*", ("servers", "s"), "only")


def failure(code: str, key: str) -> Failure:
    """A refusal of a tool with this key, with whatever its words need."""
    facts = {"view": VIEW, "is_listed": False, "held": "changed", "needed": "read", "used": "write", "reason": "x"}
    facts |= {
        "pause": Pause(0, None, "script"),
        "most": 1,
        "calls": "1 call",
        "time": "an hour",
        "free": "soon",
        "wait": "1 s",
    }
    return Failure(
        code, {**facts, "key": key, "server": "s", "ruling": RULING, "risk": "read-only", "barring": BARRING}
    )


@for_each("code", sorted(words.DENIED - {"not_in_project"}))
def test_a_key_that_says_something_is_left_out_in_plain_english(code: str) -> None:
    for key, instead in ((ODD, "tool"), (RESOURCE, "resource")):
        said = words.for_model(failure(code, key))
        assert ODD not in said
        assert "such tool" not in said
        if "'s:tool'" in words.for_model(failure(code, "s:tool")):
            assert f"this {instead}" in said


def test_what_is_not_there_is_said_in_plain_english() -> None:
    rest = "Tool keys have the form server:tool; the servers are: none. Search with tool_discovery"
    assert words.for_model(failure("unknown_tool", ODD)) == f"there is no such tool. {rest}"
    assert words.for_model(failure("unknown_tool", "s:tool")) == f"there is no tool 's:tool'. {rest}"
    near = failure("unknown_tool", "s:tool").about(near=["s:tools"])
    assert words.for_model(near) == f"there is no tool 's:tool': did you mean s:tools? {rest}"


def test_a_limit_in_a_table_on_one_line_is_not_built_in() -> None:
    text = 'policy = { limit = { "s:*" = "5/m" } }\n[servers.s]\ncommand = "x"\n'
    config = parsed(Path("config.toml"), text)
    (limit,) = config.policy.limits
    assert words.rule_of(Ruling("limit", limit), config) == ("limit s:* 5/m", "config.toml")
    config = parsed(Path("config.toml"), '[policy]\nlimit = { "s:*" = "5/m" }\n')
    assert words.rule_of(Ruling("limit", config.policy.limits[0]), config) == ("limit s:* 5/m", "config.toml:2")
