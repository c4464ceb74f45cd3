"""A server's own refusal is kept, and gets help beside it where the arguments do not match; nothing else does."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.client import MODERN, Client
from tests.proxy.conftest import BOTH, Serve, starter
from tests.servers import command

pytestmark = [pytest.mark.process, BOTH]

GOOD = {"title": "a", "priority": 1}
BAD = {"title": "", "priority": "high", "colour": "red"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, transport: str) -> Iterator[Serve]:
    """Starts `mcpctl serve` for all tests of this module, on a home of its own."""
    folder = tmp_path_factory.mktemp("help")
    yield from starter(folder, folder / "home", transport=transport)


@pytest.fixture(scope="module")
def strict(shared: Serve) -> Client:
    """One in front of a server that refuses what does not match."""
    return shared({"strict": command("strict")})


def blocks(client: Client, key: str, arguments: dict[str, Any]) -> list[str]:
    """The text blocks of a result."""
    return [block["text"] for block in client.call(key, arguments).json["result"]["content"]]


def test_a_refusal_for_wrong_arguments_gets_help_as_its_last_block(strict: Client) -> None:
    own, help = blocks(strict, "strict:strict_result", BAD)
    assert own == "Invalid input"
    assert "do not match the schema of strict:strict_result" in help
    assert "priority: " in help
    assert "title: " in help
    assert "colour" in help


def test_the_help_has_the_whole_schema(strict: Client) -> None:
    help = blocks(strict, "strict:strict_result", BAD)[-1]
    schema = json.loads(help.partition("Its inputSchema: ")[2])
    assert schema["properties"]["state"] == {"type": "string", "enum": ["open", "closed"], "default": "open"}


def test_a_refusal_is_still_one(strict: Client) -> None:
    assert strict.call("strict:strict_result", BAD).is_error


def test_an_error_for_wrong_arguments_gets_help_as_its_data(strict: Client) -> None:
    found = strict.call("strict:strict_error", BAD).json["error"]
    assert (found["code"], found["message"]) == (-32602, "Invalid params")
    assert "do not match the schema of strict:strict_error" in found["data"]["help"]


def test_arguments_that_are_missing_altogether_get_help(strict: Client) -> None:
    found = strict.tool("tool_execute", {"toolKey": "strict:strict_result"}).json["result"]
    assert "'title' is a required property" in found["content"][-1]["text"]


def test_an_accepted_call_gets_no_help(strict: Client) -> None:
    assert blocks(strict, "strict:strict_result", GOOD) == ["a, 1, open"]


def test_the_help_reaches_a_modern_client(strict: Client, shared: Serve) -> None:
    found = shared(revision=MODERN).call("strict:strict_result", BAD).json["result"]
    assert found["resultType"] == "complete"
    assert len(found["content"]) == 2


def test_a_refusal_of_arguments_that_match_is_as_it_was(tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "answer").write_bytes(b'{"content":[ {"type":"text","text":"no"} ],"isError":true,"f":1.0}')
    client = serve({"raw": command("raw")})
    answer = client.call("raw:raw", {"file": str(tmp_path / "answer")})
    assert answer.result == (tmp_path / "answer").read_bytes()


def test_an_error_with_data_of_its_own_is_as_it_was(tmp_path: Path, serve: Serve) -> None:
    error = b'{"code":-32602,"message":"no","data":{"f":1.0}}'
    (tmp_path / "answer").write_bytes(error)
    client = serve({"raw": schema_server(tmp_path / "answer", {"required": ["x"]})})
    assert client.call("raw:it").error == error


def test_everything_else_of_a_refusal_with_help_is_as_it_was(tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "answer").write_bytes(b'{"content":[{"type":"text","text":"no","x":1E400}],"isError":true,"f":1.0}')
    client = serve({"raw": schema_server(tmp_path / "answer", {"required": ["x"]}, "result")})
    result = client.call("raw:it").result
    assert result.startswith(b'{"content":[{"type":"text","text":"no","x":1E400},{"type":"text","text":"mcpctl: these')
    assert result.endswith(b'}],"isError":true,"f":1.0}')


@pytest.mark.parametrize("content", [b"", b'"content":[],', b'"content":null,', b'"content":"text",'])
def test_a_refusal_with_odd_content_is_answered(content: bytes, tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "answer").write_bytes(b"{%b" % content + b'"isError":true}')
    client = serve({"raw": schema_server(tmp_path / "answer", {"required": ["x"]}, "result")})
    assert client.call("raw:it").is_error


def schema_server(answer: Path, schema: Any, member: str = "error") -> list[str]:
    """A server with one tool, of that schema, that answers with the bytes of a file."""
    script = (
        "import json, sys\n"
        "schema, member, path = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if 'id' not in message: continue\n"
        '    head = \'{"jsonrpc":"2.0","id":%d,\' % message[\'id\']\n'
        "    info = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {}}\n"
        "    listed = {'tools': [{'name': 'it', 'inputSchema': schema}]}\n"
        "    fixed = {'initialize': info, 'tools/list': listed}.get(message['method'])\n"
        "    text = json.dumps(fixed) if fixed else open(path, encoding='utf-8').read()\n"
        "    print(head + '\"%s\":%s}' % ('result' if fixed else member, text), flush=True)\n"
    )
    return [sys.executable, "-S", "-c", script, json.dumps(schema), member, str(answer)]


def chain(length: int) -> dict[str, Any]:
    """A schema whose references double at each step."""
    steps = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(length)}
    return {"$ref": "#/$defs/a0", "$defs": {**steps, f"a{length}": {"required": ["x"]}}}


def nested(depth: int) -> dict[str, Any]:
    """Arguments that go deep."""
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"x": found}
    return found


TWICE = {"properties": {"x": {"$ref": "#"}}}
HOSTILE: dict[str, tuple[Any, dict[str, Any]]] = {
    "itself": ({"$ref": "#"}, {}),
    "a loop": ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, {}),
    "doubled": (chain(9), {}),
    "doubled often": (chain(40), {}),
    "doubled at every depth": ({"allOf": [TWICE, TWICE]}, nested(60)),
    "a loop of alternatives": ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {}),
    "a pattern": ({"properties": {"x": {"pattern": "^(a+)+$"}}, "required": ["y"]}, {"x": "a" * 40 + "!"}),
    "pattern properties": ({"patternProperties": {"^(a+)+$": {}}, "required": ["y"]}, {"a" * 40 + "!": 1}),
    "many parts": (
        {"properties": {"x": {"items": {"allOf": [{"type": "integer"}] * 2000}}}},
        {"x": [1] * 20_000},
    ),
    "elsewhere": ({"$ref": "http://127.0.0.1:9/schema.json"}, {}),
    "a name elsewhere": ({"$id": "http://127.0.0.1:9/", "$ref": "other.json", "required": ["x"]}, {}),
    "nowhere": ({"$ref": "#/$defs/none"}, {}),
    "a number": (7, {}),
    "a list": ([], {}),
    "wrong kinds": ({"type": 7, "properties": [], "required": "x", "enum": 3}, {}),
    "deep": (json.loads('{"properties":{"x":' * 200 + "{}" + "}}" * 200), nested(200)),
}


def in_front_of_hostile(folder: Path) -> Iterator[Client]:
    """One in front of a server for each hostile schema, and of another."""
    (folder / "answer").write_bytes(b'{"code":-32602,"message":"no"}')
    schemas = [schema for schema, _ in HOSTILE.values()]
    servers = {f"hostile-{n}": schema_server(folder / "answer", schema) for n, schema in enumerate(schemas)}
    # A check that never ends ends with its process.
    for serve in starter(folder, folder / "home", transport="stdio", process=True):
        yield serve({**servers, "strict": command("strict")})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    yield from in_front_of_hostile(tmp_path_factory.mktemp("hostile"))


@pytest.mark.stdio("a check that never ends needs a process that ends")
@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_holds_up_nothing(name: str, hostile: Client) -> None:
    id = hostile.start_call(f"hostile-{list(HOSTILE).index(name)}:it", HOSTILE[name][1])
    assert hostile.call("strict:strict_result", GOOD).text == "a, 1, open"
    assert hostile.answer(id).json["error"]["message"] == "no"


@pytest.mark.stdio("a check that never ends needs a process that ends")
@pytest.mark.slow
def test_a_check_that_never_ends_does_not_hold_up_the_end(tmp_path: Path) -> None:
    number = list(HOSTILE).index("doubled at every depth")
    for client in in_front_of_hostile(tmp_path):
        client.call(f"hostile-{number}:it")
        client.start_call(f"hostile-{number}:it", nested(60))
        client.end_input()
        assert client.wait(1.8) == 0
