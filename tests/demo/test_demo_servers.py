"""The bundled example servers, as processes: both protocol eras, wrong arguments, and how they end."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.table import for_each

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 60
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
ENVELOPE: dict[str, Any] = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

pytestmark = pytest.mark.process

Json = dict[str, Any]


class Peer:
    """A demo server on two pipes; it is killed when it does not answer in time."""

    def __init__(self, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"mcpctl.demo.{name}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
        )
        self.watchdog = threading.Timer(TIMEOUT, self.process.kill)
        self.watchdog.start()
        self.modern = True
        self.number = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Json:
        assert self.process.stdout
        message = json.loads(self.process.stdout.readline())
        assert isinstance(message, dict)
        return message

    def ask(self, method: str, **params: Any) -> Json:
        """Send a request of the current era; the whole answer."""
        self.number += 1
        if self.modern:
            params.setdefault("_meta", ENVELOPE)
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.send(json.dumps(body).encode())
        answer = self.receive()
        assert answer["id"] == self.number
        return answer

    def shake_hands(self, version: str) -> Json:
        """Become a client of the older era; the result of `initialize`."""
        self.modern = False
        client = {"name": "test", "version": "1"}
        answer = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo=client)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return dict(answer["result"])

    def call(self, tool: str, **arguments: Any) -> Json:
        """The result of a tool call."""
        return dict(self.ask("tools/call", name=tool, arguments=arguments)["result"])

    def value(self, tool: str, **arguments: Any) -> Json:
        """The structured content of a call that worked; the text block must say the same."""
        result = self.call(tool, **arguments)
        assert "isError" not in result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return dict(result["structuredContent"])

    def refusal(self, tool: str, **arguments: Any) -> str:
        """The text of a call that did not work."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True
        return str(result["content"][0]["text"])

    def end(self) -> tuple[int, bytes]:
        """Close stdin; the exit status, and what was said on stderr."""
        _, words = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, words

    def close(self) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate(timeout=TIMEOUT)


@pytest.fixture
def start() -> Iterator[Callable[[str], Peer]]:
    peers: list[Peer] = []

    def start(name: str) -> Peer:
        peers.append(Peer(name))
        return peers[-1]

    yield start
    for peer in peers:
        peer.close()


@pytest.fixture
def notes(start: Callable[[str], Peer]) -> Peer:
    return start("notes")


@pytest.fixture
def weather(start: Callable[[str], Peer]) -> Peer:
    return start("weather")


@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_handshake_is_answered_with_the_version_asked_for(notes: Peer, version: str) -> None:
    assert notes.shake_hands(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", [MODERN, "1999-01-01", ""])
def test_a_handshake_with_any_other_version_is_answered_with_the_newest_that_has_one(notes: Peer, version: str) -> None:
    assert notes.shake_hands(version)["protocolVersion"] == HANDSHAKES[-1]


def test_results_of_the_older_era_carry_nothing_of_the_newer(notes: Peer) -> None:
    notes.shake_hands("2025-11-25")
    assert set(notes.ask("tools/list")["result"]) == {"tools"}
    assert set(notes.call("list_notes")) == {"content", "structuredContent"}


def test_results_of_the_newer_era_say_their_type_and_their_server(weather: Peer) -> None:
    found = weather.ask("server/discover")["result"]
    listed = weather.ask("tools/list")["result"]
    called = weather.call("get_forecast", city="Oslo")
    assert found["supportedVersions"] == [MODERN]
    for result in (found, listed, called):
        assert result["resultType"] == "complete"
        assert result["_meta"][META + "serverInfo"]["name"] == "weather"
    for result in (found, listed):
        assert result["ttlMs"] > 0
        assert result["cacheScope"] == "public"


def test_one_process_serves_both_eras_at_once(notes: Peer) -> None:
    notes.shake_hands("2025-06-18")
    added = notes.value("add_note", title="From the older era", text="…")
    notes.modern = True
    assert notes.value("list_notes")["notes"] == [added]


def test_a_request_before_any_handshake_needs_the_envelope(notes: Peer) -> None:
    notes.modern = False
    assert notes.ask("tools/list")["error"]["code"] == -32602
    assert notes.ask("ping")["result"] == {}


def test_an_unknown_version_in_the_envelope_is_refused_with_those_that_are_known(notes: Peer) -> None:
    error = notes.ask("tools/list", _meta={**ENVELOPE, META + "protocolVersion": "2099-01-01"})["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


def test_an_envelope_without_capabilities_is_refused(notes: Peer) -> None:
    assert notes.ask("tools/list", _meta={META + "protocolVersion": MODERN})["error"]["code"] == -32602


@pytest.mark.parametrize(
    "modern, method", [(True, "ping"), (False, "server/discover"), (True, "no/such"), (False, "x")]
)
def test_a_method_of_the_other_era_or_of_none_is_not_found(notes: Peer, modern: bool, method: str) -> None:
    notes.shake_hands("2025-11-25")
    notes.modern = modern
    assert notes.ask(method)["error"]["code"] == -32601


@pytest.mark.parametrize("modern", [True, False])
def test_an_unknown_tool_is_a_protocol_error(notes: Peer, modern: bool) -> None:
    notes.shake_hands("2025-11-25")
    notes.modern = modern
    assert notes.ask("tools/call", name="burn_notes", arguments={})["error"] == {
        "code": -32602,
        "message": "Unknown tool: burn_notes",
    }


@pytest.mark.parametrize("line, code", [(b"{", -32700), (b"\xff", -32700), (b"[" * 100_000, -32700), (b"[]", -32600)])
def test_a_line_that_is_no_request_is_answered_and_harms_nothing_after_it(notes: Peer, line: bytes, code: int) -> None:
    notes.send(line)
    error = notes.receive()
    assert (error["id"], error["error"]["code"]) == (None, code)
    assert notes.value("list_notes")["total"] == 0


@pytest.mark.parametrize(
    "line", [b"", b"  \r", b'{"jsonrpc":"2.0","method":"notifications/x"}', b'{"id":1,"result":{}}']
)
def test_blank_lines_notifications_and_answers_are_not_answered(notes: Peer, line: bytes) -> None:
    notes.send(line)
    assert notes.value("list_notes")["total"] == 0


def test_notes_are_added_listed_found_and_deleted(notes: Peer) -> None:
    milk = notes.value("add_note", title="Milk", text="Two bottles", tags=["Shop"])
    bread = notes.value("add_note", title="bread", text="Rye, two loaves")
    assert notes.value("list_notes") == {"notes": [bread, milk], "total": 2}
    assert notes.value("list_notes", sort="title") == {"notes": [bread, milk], "total": 2}
    assert notes.value("list_notes", sort="oldest", limit=1) == {"notes": [milk], "total": 2}
    assert notes.value("list_notes", tag="SHOP") == {"notes": [milk], "total": 1}
    assert notes.value("search_notes", query="BOTTLES two")["notes"] == [milk]
    assert notes.value("search_notes", query="two", field="title")["total"] == 0
    assert notes.value("delete_note", id=milk["id"]) == milk
    assert notes.value("search_notes", query="two")["notes"] == [bread]


def test_ids_are_not_used_again(notes: Peer) -> None:
    first = notes.value("add_note", title="a", text="b")["id"]
    notes.value("delete_note", id=first)
    assert notes.value("add_note", title="a", text="b")["id"] != first


def test_an_unknown_note_is_refused_with_those_that_exist(notes: Peer) -> None:
    assert "empty" in notes.refusal("delete_note", id="note-9")
    known = notes.value("add_note", title="a", text="b")["id"]
    assert known in notes.refusal("delete_note", id="note-9")


def test_everything_wrong_with_the_arguments_is_said_at_once(notes: Peer) -> None:
    words = notes.refusal("add_note", title=3, tags=["a", 1], colour="red")
    for part in ("text is required", "title must be a string", "each item is a string", "no argument 'colour'"):
        assert part in words


@pytest.mark.parametrize("text", ["naïve ☃ \U0001f600", "\ud800 alone", "\u2028\u2029\x00", '\\ " \n'])
def test_any_text_comes_back_as_it_was(notes: Peer, text: str) -> None:
    assert notes.value("add_note", title="t", text=text)["text"] == text


def test_a_forecast_follows_from_the_city_alone(start: Callable[[str], Peer]) -> None:
    one, other = start("weather"), start("weather")
    oslo = one.value("get_forecast", city="oslo", days=7)
    assert oslo == other.value("get_forecast", city=" Oslo", days=7)
    assert oslo["city"] == "Oslo"
    assert len(oslo["days"]) == 7
    assert oslo["days"] != one.value("get_forecast", city="Cairo", days=7)["days"]
    assert oslo["days"][:3] == one.value("get_forecast", city="Oslo")["days"]


def test_a_forecast_in_fahrenheit_is_the_same_weather(weather: Peer) -> None:
    celsius = weather.value("get_forecast", city="Lima")["days"][0]
    fahrenheit = weather.value("get_forecast", city="Lima", unit="fahrenheit")["days"][0]
    assert fahrenheit == {**celsius, "high": celsius["high"] * 1.8 + 32, "low": celsius["low"] * 1.8 + 32}


def test_an_unknown_city_is_refused_with_those_that_are_known(weather: Peer) -> None:
    for tool, more in (("get_forecast", {}), ("set_alert", {"condition": "frost"})):
        words = weather.refusal(tool, city="Atlantis", **more)
        assert "Atlantis" in words
        assert "Oslo" in words


@pytest.mark.parametrize(
    "value, unit, wanted, result",
    [(100, "celsius", "fahrenheit", 212), (32, "fahrenheit", "celsius", 0), (0, "kelvin", "celsius", -273.15)],
)
def test_temperatures_are_converted(weather: Peer, value: float, unit: str, wanted: str, result: float) -> None:
    given = {"value": value, "from": unit, "to": wanted}
    assert weather.value("convert_temperature", **given) == {"value": result, "unit": wanted}


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 10**400, True, "12", None])
def test_what_is_no_temperature_is_refused(weather: Peer, value: object) -> None:
    assert weather.refusal("convert_temperature", **{"value": value, "from": "kelvin", "to": "celsius"})


def test_a_second_alert_for_the_same_condition_replaces_the_first(weather: Peer) -> None:
    frost = {"city": "Tokyo", "condition": "frost"}
    assert weather.value("set_alert", **frost)["replaced"] is False
    assert weather.value("set_alert", **frost, days_ahead=3)["replaced"] is True
    assert weather.value("set_alert", city="Tokyo", condition="heat")["alerts"] == 2


def test_the_servers_together_show_hints_that_are_true_false_and_not_declared(notes: Peer, weather: Peer) -> None:
    tools = notes.ask("tools/list")["result"]["tools"] + weather.ask("tools/list")["result"]["tools"]
    hints = {tool["name"]: tool.get("annotations") for tool in tools}
    assert hints["delete_note"]["destructiveHint"] is True
    assert hints["search_notes"]["readOnlyHint"] is True
    assert hints["get_forecast"] == {"readOnlyHint": True, "openWorldHint": True}
    assert hints["convert_temperature"] is None
    assert "destructiveHint" not in hints["set_alert"]


@pytest.mark.parametrize("name", ["notes", "weather"])
def test_every_tool_and_parameter_is_described(start: Callable[[str], Peer], name: str) -> None:
    for tool in start(name).ask("tools/list")["result"]["tools"]:
        assert tool["description"]
        assert all(rule["description"] for rule in tool["inputSchema"]["properties"].values())


@pytest.mark.parametrize("name", ["notes", "weather"])
def test_closing_stdin_ends_a_server_with_success_and_no_words(start: Callable[[str], Peer], name: str) -> None:
    peer = start(name)
    peer.ask("tools/list")
    assert peer.end() == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_without_words(notes: Peer, number: signal.Signals) -> None:
    notes.ask("tools/list")
    notes.process.send_signal(number)
    assert notes.process.wait(TIMEOUT) == -number
    assert notes.end()[1] == b""


def test_a_client_that_stops_reading_and_leaves_causes_no_words(notes: Peer) -> None:
    notes.ask("tools/list")
    assert notes.process.stdout
    notes.process.stdout.close()
    notes.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert notes.process.wait(TIMEOUT) == 0
    assert notes.process.stderr
    assert notes.process.stderr.read() == b""


@for_each("mode, version", [("auto", MODERN), ("legacy", "2025-11-25")])
@for_each("name, tool, arguments", [("notes", "list_notes", {}), ("weather", "get_forecast", {"city": "Oslo"})])
def test_the_sdk_client_lists_and_calls(name: str, tool: str, arguments: Json, mode: str, version: str) -> None:
    from mcp import Client, StdioServerParameters

    async def talk() -> None:
        command = StdioServerParameters(command=sys.executable, args=["-m", f"mcpctl.demo.{name}"], env=ENVIRONMENT)
        with anyio.fail_after(TIMEOUT):
            async with Client(command, mode=mode) as client:
                assert client.protocol_version == version
                assert tool in [each.name for each in (await client.list_tools()).tools]
                assert not (await client.call_tool(tool, arguments)).is_error
                assert (await client.call_tool(tool, {"bogus": 1})).is_error

    anyio.run(talk)
