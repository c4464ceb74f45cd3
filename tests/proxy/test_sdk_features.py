"""The SDK's client uses prompts and resources of a server behind `mcpctl serve`, in both eras of each."""

import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpctl.base.callers import MODERN_REVISION
from tests.over_http.test_balancers import Processes, answers, free_ports
from tests.proxy.client import ROOT, SERVE, until, write_config
from tests.proxy.conftest import BOTH

pytestmark = [BOTH, pytest.mark.process, pytest.mark.slow]
WATCHED, TEMPLATE = "test://watched-resource", "test://template/{id}/data"
PROMPT = "suite_test_simple_prompt"
Begin = Callable[[str], Any]
Changed = Callable[[], Awaitable[object]]
"""Returns once the client is told that a list has changed."""


@pytest.fixture
def begin(home: Path, transport: str) -> Iterator[Begin]:
    """Begins `mcpctl serve`, with the suite's server behind it which speaks only one era: the transport to it."""
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    processes: list[Processes] = []

    def begun(era: str) -> Any:
        suite = {"suite": [sys.executable, "-m", "tests.conformance.server", era]}
        write_config(home, suite, http={"require_token": False})
        if transport == "stdio":
            env = {"MCPCTL_HOME": str(home), "PYTHONPATH": str(ROOT)}
            return stdio_client(StdioServerParameters(command=SERVE[0], args=list(SERVE[1:]), env=env))
        (port,) = free_ports(1)
        processes.append(Processes(home, [port]))
        until("it listens", lambda: answers(port))
        return streamable_http_client(f"http://127.0.0.1:{port}/mcp")

    yield begun
    for each in processes:
        each.end()


async def known(client: Any) -> list[str]:
    """The names of the prompts, as far as they are known."""
    return [prompt.name for prompt in (await client.list_prompts(cache_mode="refresh")).prompts]


async def called(client: Any, tool: str) -> None:
    result = await client.call_tool("tool_execute", {"toolKey": f"suite:{tool}"})
    assert not result.is_error


async def used(client: Any, changed: Changed) -> dict[str, Any]:
    """The client finds, gets, reads and completes: of a server that nobody has seen nothing is listed at first."""
    from mcp_types import PromptReference, ResourceTemplateReference

    await client.list_tools()
    while not (names := await known(client)):
        await changed()
    while not (templates := (await client.list_resource_templates(cache_mode="refresh")).resource_templates):
        await changed()
    resources = (await client.list_resources(cache_mode="refresh")).resources
    got = await client.get_prompt("suite_test_prompt_with_arguments", {"arg1": "a b", "arg2": "é"})
    of = TEMPLATE.replace("{id}", "7")
    refs = PromptReference(type="ref/prompt", name=PROMPT), ResourceTemplateReference(type="ref/resource", uri=TEMPLATE)
    return {
        "prompt": PROMPT in names,
        "resources": [str(resource.uri) for resource in resources],
        "templates": [template.uri_template for template in templates],
        "got": got.messages[0].content.text,
        "read": [(await client.read_resource(uri)).contents[0].text for uri in (WATCHED, of)],
        "completed": [(await client.complete(ref, {"name": "arg1", "value": "par"})).completion.values for ref in refs],
    }


USED = {
    "prompt": True,
    "resources": ["test://static-text", "test://static-binary", WATCHED],
    "templates": [TEMPLATE],
    "got": "Prompt with arguments: arg1='a b', arg2='é'",
    "read": ["Watched resource content", '{"id": "7", "templateTest": true, "data": "Data for ID: 7"}'],
    "completed": [["paris", "parma"]] * 2,
}
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
@ERAS
def test_an_older_client_has_all_of_it_and_is_told(era: str, begin: Begin) -> None:
    from mcp.client import Client

    async def drive() -> None:
        told, heard = anyio.create_memory_object_stream[str](100)

        async def message_handler(message: object) -> None:
            await told.send(getattr(message, "method", ""))

        async def hear(method: str) -> None:
            while not (await heard.receive()).endswith(method):
                pass

        with anyio.fail_after(60):
            async with told, heard, Client(begin(era), mode="legacy", message_handler=message_handler) as client:
                assert client.server_capabilities.prompts
                assert client.server_capabilities.prompts.list_changed
                assert await used(client, partial(hear, "/list_changed")) == USED
                await client.session.subscribe_resource(WATCHED)
                await called(client, "test_trigger_resource_change")
                await hear("notifications/resources/updated")
                await called(client, "test_trigger_prompt_change")
                names: list[str] = []
                while "suite_test_added_prompt" not in names:
                    await hear("notifications/prompts/list_changed")  # the first may be of those that came to be known
                    names = await known(client)
                await client.session.unsubscribe_resource(WATCHED)

    anyio.run(drive)


@ERAS
def test_a_newer_client_has_all_of_it_and_is_told(era: str, begin: Begin) -> None:
    from mcp.client import Client
    from mcp.client.subscriptions import PromptsListChanged, ResourceUpdated

    async def drive() -> None:
        with anyio.fail_after(60):
            async with Client(begin(era)) as client:
                assert client.protocol_version == MODERN_REVISION
                async with client.listen(prompts_list_changed=True, resources_list_changed=True) as lists:
                    assert await used(client, partial(anext, lists)) == USED
                listening = client.listen(
                    tools_list_changed=True, prompts_list_changed=True, resource_subscriptions=[WATCHED]
                )
                async with listening as subscription:
                    honoured = subscription.honored
                    assert not honoured.tools_list_changed
                    assert honoured.prompts_list_changed
                    assert honoured.resource_subscriptions == [WATCHED]
                    await called(client, "test_trigger_resource_change")
                    assert await anext(subscription) == ResourceUpdated(uri=WATCHED)
                    await called(client, "test_trigger_prompt_change")
                    assert await anext(subscription) == PromptsListChanged()
                assert "suite_test_added_prompt" in await known(client)

    anyio.run(drive)
