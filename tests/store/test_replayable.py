"""What keeps a call on record from being called again."""

from typing import Any

from mcpctl.base.models import RawJson
from mcpctl.store import recordable
from tests.table import for_each

MARK = "[redacted:0a1b2c3d]"


def obstacle(arguments: str | None, **members: Any) -> str:
    row = {"server": "s", "tool": "t", "parent_id": None, "via": "client", **members}
    return recordable.obstacle({**row, "arguments": None if arguments is None else RawJson(arguments)})


@for_each(
    ("arguments", "why"),
    [
        (None, ""),
        ("{}", ""),
        ('{"n": 1.10e2, "text": "redacted", "m": "[redacted:xyz]"}', ""),
        (f'{{"token": "{MARK}"}}', "redacted at $.token"),
        (f'{{"a": [1, {{"b c": "Bearer {MARK}"}}]}}', 'redacted at $.a[1]["b c"]'),
        (f'{{"a": {{"{MARK}": 1}}}}', "redacted at $.a (a name in it)"),
        (f'{{"x": "{MARK}", "y": "{MARK}"}}', "redacted at $.x"),
        (r'{"a": "[redacted:0a1b2c3d]"}', "redacted at $.a"),
        ('"{\\"text\\": \\"a long"', "its arguments were cut, or are not a JSON object"),
        ("{broken", "its arguments cannot be read"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "its arguments cannot be read"),
    ],
)
def test_arguments_have_to_be_there_whole(arguments: str | None, why: str) -> None:
    assert obstacle(arguments) == why


def test_a_path_has_a_length() -> None:
    nested = '{"' + "x" * 90 + '":'
    assert len(obstacle(nested * 50 + f'"{MARK}"' + "}" * 50)) < 250


def test_a_later_round_is_a_call_no_one_made() -> None:
    assert "later round of the call abc" in obstacle("{}", parent_id="abc")
    assert obstacle("{}", parent_id="abc", via="replay") == ""


@for_each("name", [MARK, "x" * 512 + "… [cut: 9,000 characters]"])
def test_a_name_has_to_be_whole(name: str) -> None:
    assert obstacle("{}", tool=name) == obstacle("{}", server=name) == "its name was redacted or cut"
