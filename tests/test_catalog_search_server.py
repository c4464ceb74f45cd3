"""The reference server for cloud search, as a process that is spoken to over HTTP."""

import asyncio
import importlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.demo import notes, weather
from mcpctl.search.providers import build
from tests.configured import demo_tools
from tests.conftest import Mcpctl

pytestmark = pytest.mark.process

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "catalog_search_server"
COMMAND = [sys.executable, str(FOLDER / "server.py")]
TOKEN = "a-token-of-tests"
AT_ONCE = 32
MAX_BODY = 32 * 1024 * 1024

DEFINED = [
    Tool(server, str(definition["name"]), definition, "")
    for server, module in (("notes", notes.server), ("weather", weather.server))
    for definition, _ in module.tools.values()
]
TOOLS = [
    {"toolKey": tool.key, "toolName": tool.name, "serverName": tool.server, "description": tool.description}
    for tool in DEFINED
]

Module = Callable[[str], Any]
"""One of the server's modules, by its name."""


def environment(token: str) -> dict[str, str]:
    """What the server starts in: no path to the checkout, which it finds by itself."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, "MCPCTL_CLOUD_TOKEN": token}


class Running:
    """A server that listens."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        self.address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))

    def post(self, body: Any, token: str | None = TOKEN) -> httpx2.Response:
        """The answer to a search; bytes are sent as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        return httpx2.post(f"{self.url}/catalog/search", content=content, headers=headers, timeout=30, verify=False)

    def results(self, **members: Any) -> list[Any]:
        """The results of a search over `TOOLS`, or those given."""
        answer = self.post({"query": ["weather forecast"], "tools": TOOLS, "maxResults": 10, **members})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["results"])

    def stopped(self) -> str:
        """What its log has, once it has ended."""
        self.process.terminate()
        return self.process.communicate(timeout=60)[1]


@contextmanager
def serving(token: str = TOKEN, *options: str) -> Iterator[Running]:
    """A server on a free port."""
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *options],
        env=environment(token), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
    )  # fmt: skip
    try:
        assert process.stdout
        line = process.stdout.readline()
        printed = re.fullmatch(r"listening on (http://127\.0\.0\.1:[1-9]\d*)/catalog/search\n", line)
        assert printed, (line, process.poll())
        yield Running(process, printed[1])
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving() as running:
        yield running


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Module:
    """The server in this process, for what cannot be waited for over HTTP."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


def made_up(count: int, seed: str, description: str = "Does it.") -> list[dict[str, str]]:
    return [
        {"toolKey": f"s:{seed}_{n}", "toolName": f"{seed}_{n}", "serverName": "s", "description": description}
        for n in range(count)
    ]


# -- What a search answers


def test_the_right_tool_comes_first_and_relevance_never_rises(server: Running) -> None:
    results = server.results(query=["delete a note", "what will the weather be"])
    assert [result["toolKey"] for result in results[:2]] == ["notes:delete_note", "weather:get_forecast"]
    relevance = [result["relevance"] for result in results]
    assert all(0 < value <= 1 for value in relevance)
    assert relevance == sorted(relevance, reverse=True)


def test_results_are_the_tools_that_were_sent_and_say_why(server: Running) -> None:
    results = server.results()
    assert "'forecast' in name" in results[0]["explanation"]
    for result in results:
        assert {name: result[name] for name in TOOLS[0]} in TOOLS
        assert set(result) == {*TOOLS[0], "relevance", "explanation"}


def test_the_ranking_is_that_of_mcpctl_for_what_is_sent(server: Running) -> None:
    told = [Tool(tool.server, tool.name, {"description": tool.description}, "") for tool in DEFINED]
    for query, context in ((["find text in notes"], None), (["city"], "convert celsius"), (["city"], "frost alert")):
        hits = build(told).search(query, context=context, limit=4).hits
        results = server.results(query=query, context=context, maxResults=4)
        assert [(result["toolKey"], result["relevance"]) for result in results] == [
            (hit.key, hit.relevance) for hit in hits
        ]
        assert len(hits) > 1


def test_no_more_results_than_asked_for_and_ten_unless_asked(server: Running) -> None:
    tools = made_up(60, "thing")
    assert len(server.results(query=["thing"], tools=tools, maxResults=50)) == 50
    assert len(server.results(query=["thing"], tools=tools, maxResults=1)) == 1
    body = {"query": ["thing"], "tools": tools}
    assert len(server.post(body).json()["results"]) == 10


@pytest.mark.parametrize("members", [{"tools": []}, {"query": [""]}, {"query": ["xylophone"]}])
def test_nothing_found_is_an_empty_list(server: Running, members: Any) -> None:
    assert server.results(**members) == []


def test_of_two_tools_with_one_key_the_first_counts(server: Running) -> None:
    first, second = ({**TOOLS[0], "description": f"{word} of all."} for word in ("First", "Second"))
    assert [result["description"] for result in server.results(query=["all"], tools=[first, second])] == [
        "First of all."
    ]
    assert server.results(query=["second"], tools=[first, second]) == []


def test_keys_come_back_whatever_they_are_made_of(server: Running) -> None:
    tools = [{**TOOLS[0], "toolKey": key} for key in ("no colon", "another:of:the same", "\x1b[31m ‮", "notes:add_note")]
    results = server.results(query=["add a note"], tools=tools)
    assert {result["toolKey"] for result in results} == {tool["toolKey"] for tool in tools}


@pytest.mark.slow
def test_the_same_tools_in_another_order_are_the_same_catalog() -> None:
    with serving() as running:
        assert running.results(tools=TOOLS[::-1]) == running.results(tools=TOOLS)
        assert running.stopped().count(" indexed ") == 1


def test_unknown_members_are_ignored_and_hostile_text_is_text(server: Running) -> None:
    hostile = "'; drop table tools; -- {{7*7}} ${HOME} <script>\x00\x1b]0;x\x07 ‮ forecast"
    tools = [{**TOOLS[0], "description": hostile, "inputSchema": {"a": [1]}}]
    (result,) = server.results(query=[hostile], tools=tools, context=hostile, later={"deep": [[]]})
    assert result["description"] == hostile


# -- Who may search


@pytest.mark.parametrize("header", [None, "", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", TOKEN])
def test_who_has_no_token_or_a_wrong_one_is_refused(server: Running, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = httpx2.post(f"{server.url}/catalog/search", content=b"{}", headers=headers, verify=False)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    assert answer.json()["error"]["code"] == "unauthorized"
    assert TOKEN not in answer.text


def test_the_token_is_wanted_before_the_body_is(server: Running) -> None:
    assert b" 401 " in spoken(server, b"Content-Length: 5\r\n").splitlines()[0]


@pytest.mark.slow
def test_each_of_several_tokens_is_good(server: Running) -> None:
    with serving(f"{TOKEN}, another-token ,") as running:
        body = {"query": ["note"], "tools": TOOLS}
        answers = [running.post(body, token) for token in (TOKEN, "another-token")]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert [running.post(body, token).status_code for token in (",", f"{TOKEN}, another-token")] == [401] * 2


@pytest.mark.slow
@pytest.mark.parametrize("token", ["", " , "])
def test_without_a_token_anyone_on_the_machine_may_search_and_is_told_so(token: str) -> None:
    with serving(token) as running:
        assert running.post({"query": ["note"], "tools": TOOLS}, None).status_code == 200
        assert "MCPCTL_CLOUD_TOKEN is not set" in running.stopped()


@pytest.mark.slow
@pytest.mark.parametrize("token", ["", " , "])
def test_the_command_of_the_container_refuses_to_start_without_a_token(token: str) -> None:
    file = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    program, *options = json.loads(file.partition("\nCMD ")[2])[1:]
    assert options[:2] == ["--host", "0.0.0.0"]
    command = [sys.executable, str(FOLDER / program), *options]
    ran = subprocess.run(command, env=environment(token), capture_output=True, text=True, timeout=30)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "set MCPCTL_CLOUD_TOKEN" in ran.stderr
    for copied in re.findall(r"(?<=examples/catalog_search_server/)\w+\.py", file):
        assert (FOLDER / copied).is_file()
    assert re.search(r"^USER [1-9]\d*", file, re.MULTILINE)


# -- What is not a search

TOOL = TOOLS[0]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "truncated"),
        (b"{nonsense", "JSON is malformed"),
        (b'{"query": ["\xff"], "tools": []}', "utf-8"),
        (b"[" * 1_000_000, "`object`"),
        (b'{"x":' + b"[" * 1_000_000, "recursion"),
        ([], "Expected `object`"),
        ({"query": ["a"]}, "`tools`"),
        ({"tools": [TOOL]}, "`query`"),
        ({"query": "a", "tools": [TOOL]}, "Expected `array`, got `str` - at `$.query`"),
        ({"query": [], "tools": [TOOL]}, "length >= 1 - at `$.query`"),
        ({"query": ["a"] * 33, "tools": [TOOL]}, "length <= 32 - at `$.query`"),
        ({"query": ["a", 7], "tools": [TOOL]}, "`$.query[1]`"),
        ({"query": ["a" * 100_001], "tools": [TOOL]}, "length <= 100000 - at `$.query[0]`"),
        ({"query": ["a"], "tools": [TOOL, {**TOOL, "toolKey": None}]}, "Expected `str`, got `null` - at `$.tools[1]."),
        ({"query": ["a"], "tools": [{**TOOL, "toolKey": ""}]}, "`$.tools[0].toolKey`"),
        ({"query": ["a"], "tools": [{**TOOL, "toolName": "a" * 2_001}]}, "`$.tools[0].toolName`"),
        ({"query": ["a"], "tools": [{"toolKey": "a", "toolName": "b"}]}, "`serverName` - at `$.tools[0]`"),
        ({"query": ["a"], "tools": [{**TOOL, "description": "a" * 100_001}]}, "`$.tools[0].description`"),
        ({"query": ["a"], "tools": [TOOL] * 50_001}, "length <= 50000 - at `$.tools`"),
        ({"query": ["a"], "tools": [TOOL], "context": 7}, "`$.context`"),
        ({"query": ["a"], "tools": [TOOL], "maxResults": 0}, ">= 1 - at `$.maxResults`"),
        ({"query": ["a"], "tools": [TOOL], "maxResults": 51}, "<= 50 - at `$.maxResults`"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_body_is_refused_with_what_is_wrong(server: Running, body: Any, told: str) -> None:
    answer = server.post(body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "bad_request"
    assert told in error["message"]


def spoken(server: Running, head: bytes, method: bytes = b"POST /catalog/search") -> bytes:
    """What the server answers to a head alone, however long it said that the body is."""
    with socket.create_connection(server.address, timeout=60) as peer:
        peer.sendall(b"%b HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % (method, head))
        with peer.makefile("rb") as answer:
            found = b"".join(iter(answer.readline, b"\r\n"))
            return found + answer.read(int(re.findall(rb"content-length: (\d+)", found)[0]))


def test_a_body_that_says_it_is_too_large_is_refused_unread(server: Running) -> None:
    answer = spoken(server, b"Authorization: Bearer %b\r\nContent-Length: %d\r\n" % (TOKEN.encode(), MAX_BODY + 1))
    assert answer.splitlines()[0].split()[1] == b"413"
    assert json.loads(answer.splitlines()[-1])["error"]["code"] == "too_large"


def test_a_body_in_chunks_is_counted(server: Running) -> None:
    def chunks(count: int) -> Iterator[bytes]:
        yield json.dumps({"query": ["note"], "tools": TOOLS}).encode()
        yield from (b" " * 1024 * 1024 for _ in range(count))

    def post(count: int) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx2.post(
            f"{server.url}/catalog/search", content=chunks(count), headers=headers, timeout=30, verify=False
        )

    assert post(31).status_code == 200
    answer = post(32)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_a_body_that_never_comes_is_given_up(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    server = module("server")
    monkeypatch.setattr(server, "READ_S", 0.01)
    sent: list[Any] = []

    async def silent() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {"type": "http", "method": "POST", "path": "/catalog/search", "headers": [], "client": None}
    asyncio.run(asyncio.wait_for(server.application([])(scope, silent, send), 60))
    assert sent[0]["status"] == 408


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/catalog/search", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("POST", "/catalog/search/", 404, "not_found"),
        ("GET", "/", 404, "not_found"),
    ],
)
def test_what_is_not_there_is_an_error_in_json(server: Running, method: str, path: str, status: int, code: str) -> None:
    answer = httpx2.request(method, server.url + path, verify=False)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert status != 405 or answer.headers["Allow"]


def test_health_needs_no_token(server: Running) -> None:
    answer = httpx2.get(f"{server.url}/healthz", verify=False)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


# -- Many at once


@pytest.mark.slow
def test_searches_of_one_catalog_at_once_build_one_index() -> None:
    tools = [*TOOLS, *made_up(2_000, "other")]
    start = threading.Barrier(10)
    with serving() as running:

        def search(_: int) -> list[Any]:
            start.wait(60)
            return running.results(tools=tools)

        with ThreadPoolExecutor(10) as threads:
            answers = list(threads.map(search, range(10)))
        assert answers[0][0]["toolKey"] == "weather:get_forecast"
        assert all(answer == answers[0] for answer in answers)
        assert running.stopped().count(" indexed ") == 1


def test_a_search_of_a_known_catalog_does_not_wait_for_the_index_of_another(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranking = module("ranking")
    known, new = (json.dumps({"query": ["note"], "tools": tools}).encode() for tools in (TOOLS, TOOLS[1:]))
    building, may_finish = threading.Event(), threading.Event()

    def built(tools: Any) -> Any:
        building.set()
        assert may_finish.wait(60)
        return build([])

    async def story() -> None:
        searches = ranking.Searches()
        before = await searches.answer(known)
        monkeypatch.setattr(ranking, "build_index", built)
        slow = asyncio.create_task(searches.answer(new))
        assert await asyncio.to_thread(building.wait, 60)
        try:
            assert await asyncio.wait_for(searches.answer(known), 20) == before
            assert not slow.done()
        finally:
            may_finish.set()
        await slow

    asyncio.run(story())


def test_indexes_are_kept_while_they_are_few_and_light(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    ranking = module("ranking")
    indexed: list[str] = []

    def built(tools: Any) -> Any:
        indexed.append(min(tools))
        return build([])

    monkeypatch.setattr(ranking, "build_index", built)
    monkeypatch.setattr(ranking, "rank", lambda provider, search, tools: b"")
    monkeypatch.setattr(ranking, "CATALOGS", 3)
    monkeypatch.setattr(ranking, "WEIGHT", 10)

    async def ask(searches: Any, *names: str, description: str = "") -> list[str]:
        indexed.clear()
        for name in names:
            tools = [{**tool, "toolKey": name + tool["toolName"]} for tool in made_up(2, "t", description)]
            await searches.answer(json.dumps({"query": ["a"], "tools": tools}).encode())
        return [key[0] for key in indexed]

    async def story() -> None:
        searches = ranking.Searches()
        assert await ask(searches, *"abcabc") == ["a", "b", "c"]
        # The one that was asked for longest ago gives way, not the one that came first.
        assert await ask(searches, *"ada") == ["d"]
        assert await ask(searches, "b") == ["b"]
        # Of these, two have the weight that may be, where three would be few enough.
        assert await ask(searches, *"efg", description="x" * 1_500) == ["e", "f", "g"]
        assert await ask(searches, "g", "e", description="x" * 1_500) == ["e"]

    asyncio.run(story())


def test_an_index_that_could_not_be_built_is_tried_again(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    ranking = module("ranking")
    body = json.dumps({"query": ["note"], "tools": TOOLS}).encode()

    def broken(tools: Any) -> Any:
        raise MemoryError

    async def story() -> None:
        searches = ranking.Searches()
        with monkeypatch.context() as patch:
            patch.setattr(ranking, "build_index", broken)
            with pytest.raises(MemoryError):
                await searches.answer(body)
        assert b"notes:add_note" in await searches.answer(body)

    asyncio.run(story())


def test_too_many_at_once_are_asked_to_come_back(server: Running) -> None:
    body = json.dumps({"query": ["note"], "tools": TOOLS}).encode()
    # The server says 100 when it begins to read: each of these then has its place, and keeps it.
    head = b"POST /catalog/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\nExpect: 100-continue\r\n"
    with ExitStack() as stack:
        peers = [stack.enter_context(socket.create_connection(server.address, timeout=60)) for _ in range(AT_ONCE)]
        for peer in peers:
            peer.sendall(head % TOKEN.encode() + b"Content-Length: %d\r\n\r\n" % len(body))
            assert b" 100 " in peer.recv(1_000)
        answer = server.post(body)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert answer.json()["error"]["code"] == "busy"
        assert httpx2.get(f"{server.url}/healthz", verify=False).status_code == 200
        for peer in peers:
            peer.sendall(body)
            assert b" 200 " in peer.recv(1_000)
    assert server.post(body).status_code == 200


# -- The process


@pytest.mark.slow
def test_the_log_has_a_line_for_each_request_and_nothing_that_is_private() -> None:
    with serving() as running:
        running.results(query=["a private query"], context="a private context")
        httpx2.get(f"{running.url}/healthz?token=private", verify=False)
        httpx2.get(f"{running.url}/forged%0a2026-01-01%20line%1b%5b31m", verify=False)
        running.post({"query": ["private"], "tools": [{**TOOL, "toolName": 7}]}, "a-private-token")
        log = running.stopped()
    assert "private" not in log
    assert TOKEN not in log
    lines = [re.sub(r"^[\d-]+ [\d:,]+ (.*) \d+ ms$", r"\1", line) for line in log.splitlines() if "indexed" not in line]
    assert lines == [
        "127.0.0.1 POST /catalog/search 200",
        "127.0.0.1 GET /healthz 200",
        "127.0.0.1 GET /forged%0A2026-01-01%20line%1B%5B31m 404",
        "127.0.0.1 POST /catalog/search 401",
    ]


def test_a_failure_of_the_server_is_told_in_json(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    server = module("server")
    monkeypatch.setattr(server.Searches, "answer", lambda self, body: 1 / 0)
    transport = httpx2.ASGITransport(server.application([]), raise_app_exceptions=False)

    async def ask() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=transport) as client:
            return await client.post("http://localhost/catalog/search", content=b"{}")

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")


@pytest.mark.slow
def test_sigterm_ends_it_cleanly() -> None:
    with serving() as running, httpx2.Client(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        # With a connection that is kept open.
        assert client.post(f"{running.url}/catalog/search", json={"query": ["a"], "tools": TOOLS}).status_code == 200
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0


@pytest.mark.slow
def test_an_index_that_is_being_built_does_not_hold_it() -> None:
    # Words that are all different take long to index.
    told = [" ".join(f"w{number}x{n}" for n in range(90)) for number in range(25_000)]
    tools = [{**TOOL, "toolKey": f"s:{number}", "description": text} for number, text in enumerate(told)]
    body = json.dumps({"query": ["a"], "tools": tools}).encode()
    assert len(body) < MAX_BODY
    with serving() as running, socket.create_connection(running.address, timeout=60) as peer:
        head = b"POST /catalog/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n" % TOKEN.encode()
        peer.sendall(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body))
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0
        assert peer.recv(1) == b""  # it has not gone on until there was an answer


def test_a_port_that_is_taken_is_a_message(server: Running) -> None:
    command = [*COMMAND, "--port", str(server.address[1])]
    ran = subprocess.run(command, env=environment(TOKEN), capture_output=True, text=True, timeout=30)
    assert ran.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {server.address[1]}" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_help_names_the_variable_of_the_tokens() -> None:
    ran = subprocess.run([*COMMAND, "--help"], env=environment(""), capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0
    assert "MCPCTL_CLOUD_TOKEN" in ran.stdout


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("curl"), reason="the README tries it with curl")
def test_what_the_readme_tries_answers_what_it_shows(server: Running) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    ((line, shown),) = re.findall(r"```sh\n(curl .*?)```\n\n```json\n(.*?)```", readme, re.DOTALL)
    line = line.replace("http://127.0.0.1:8765", server.url)
    ran = subprocess.run(line, shell=True, env=environment(TOKEN), capture_output=True, text=True, timeout=30)
    assert json.loads(ran.stdout) == json.loads(shown)


@pytest.mark.slow
def test_mcpctl_searches_with_it(
    server: Running, mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_tools(paths, search={"optimization": "cloud", "cloud_url": f"{server.url}/catalog/search"})
    monkeypatch.setenv("MCPCTL_CLOUD_TOKEN", TOKEN)
    ran = mcpctl("tools", "search", "forecast", "--explain", "--json")
    assert ran.json[0]["key"] == "weather:get_forecast"
    assert ran.json[0]["explanation"]["said"].startswith("'forecast' in name")
    assert ran.err == ""
    monkeypatch.setenv("MCPCTL_CLOUD_TOKEN", "another")
    assert "ranked by bm25; cloud: HTTP 401 Unauthorized: send" in mcpctl("tools", "search", "forecast", "--json").err
