"""The server that the official suite asks for, on the MCP SDK over stdio: `python -m tests.conformance.server [ERA]`

It speaks both protocol eras, or with `legacy` or `modern` only that one; with `short` its prompts have no `test_` in
front. Its tools, resources and prompts have the names and answers that the suite's scenarios require. What a tool asks
of the client it asks in the way of the client's era: by a request of its own, or by a result that requires input.
"""

import base64
import hashlib
import hmac
import json
import sys
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata, SessionMessage

Json = dict[str, Any]
Context = ServerRequestContext[Any, Any]

MODERN = "2026-07-28"
MISSING_CAPABILITY = -32021
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"
).decode()
_KEY = b"only for tests"
_STEP_S = 0.05

warnings.simplefilter("ignore", MCPDeprecationWarning)
bus = InMemorySubscriptionBus()


class InputNeeded(Exception):
    """A request cannot be answered before the client has answered these, in 2026-07-28."""

    def __init__(self, requests: Json, state: str) -> None:
        super().__init__(requests)
        self.result = types.InputRequiredResult.model_validate({"inputRequests": requests, "requestState": state})


@dataclass
class Asked:
    """One `tools/call` or `prompts/get`."""

    context: Context
    arguments: Json
    params: types.InputResponseRequestParams

    @property
    def modern(self) -> bool:
        """Whether the client speaks 2026-07-28."""
        return self.context.protocol_version == MODERN

    def can(self, method: str) -> bool:
        """Whether the client said that it can be asked this."""
        return getattr(self.context.session.client_capabilities, _ASKABLE[method][2], None) is not None

    async def log(self, text: str) -> None:
        """Say something in passing."""
        await self.context.session.send_log_message("info", text, related_request_id=self.context.request_id)

    async def answers(self, requests: Json) -> Json:
        """What the client answers to these requests, by their names, with all that it answered before."""
        if not self.modern:
            return {name: await self._push(request) for name, request in requests.items()}
        given = self.params.input_responses or {}
        known = _opened(self.params.request_state) | {name: _plain(answer) for name, answer in given.items()}
        if missing := {name: request for name, request in requests.items() if name not in known}:
            raise InputNeeded(missing, _sealed(known))
        return known

    async def _push(self, request: Json) -> Json:
        kind, answer, _ = _ASKABLE[request["method"]]
        related = ServerMessageMetadata(related_request_id=self.context.request_id)
        return _plain(
            await self.context.session.send_request(kind.model_validate(request), answer, metadata=related),
        )


_ASKABLE: dict[str, tuple[Any, Any, str]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult, "elicitation"),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult, "sampling"),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult, "roots"),
}


def _plain(model: Any) -> Json:
    found: Json = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return found


def _sealed(known: Json) -> str:
    """What was answered so far, so that a client can carry it but not change it."""
    body = json.dumps(known)
    return f"{hmac.new(_KEY, body.encode(), hashlib.sha256).hexdigest()}.{body}"


def _opened(state: str | None) -> Json:
    if state is None:
        return {}
    seal, _, body = state.partition(".")
    if not hmac.compare_digest(seal, hmac.new(_KEY, body.encode(), hashlib.sha256).hexdigest()):
        raise MCPError(types.INVALID_PARAMS, "requestState is not what this server gave")
    known: Json = json.loads(body)
    return known


# ---- tools

Tool = Callable[[Asked], Awaitable[list[Json]]]
TOOLS: dict[str, tuple[types.Tool, Tool]] = {}


def tool(name: str, schema: Json | None = None) -> Callable[[Tool], Tool]:
    """Offer a function as the tool of this name; it returns content blocks."""

    def register(function: Tool) -> Tool:
        wanted = {"type": "object"} | (schema or {})
        described = {"name": name, "description": function.__doc__ or name, "inputSchema": wanted}
        TOOLS[name] = types.Tool.model_validate(described), function
        return function

    return register


def text(value: str) -> list[Json]:
    """One block of text."""
    return [{"type": "text", "text": value}]


def embedded(uri: str, mime: str, value: str) -> Json:
    """One resource within a result."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": value}}


def form(message: str, properties: Json) -> Json:
    """A question to the user, every field required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def prompted(value: str) -> Json:
    """A question to the client's model."""
    messages = [{"role": "user", "content": {"type": "text", "text": value}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


ROOTS: Json = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", {"name": {"type": "string"}})


@tool("test_simple_text")
async def simple_text(asked: Asked) -> list[Json]:
    """Returns a text."""
    return text("This is a simple text response for testing.")


@tool("test_param_header", {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
async def param_header(asked: Asked) -> list[Json]:
    """Has an argument that a header repeats."""
    return text(f"Region: {asked.arguments.get('region')}")


@tool("test_image_content")
async def image(asked: Asked) -> list[Json]:
    """Returns an image."""
    return [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]


@tool("test_audio_content")
async def audio(asked: Asked) -> list[Json]:
    """Returns a sound."""
    return [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]


@tool("test_embedded_resource")
async def resource(asked: Asked) -> list[Json]:
    """Returns a resource."""
    return [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


@tool("test_multiple_content_types")
async def mixed(asked: Asked) -> list[Json]:
    """Returns a text, an image and a resource."""
    data = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return [*text("Multiple content types test:"), *await image(asked), data]


@tool("test_error_handling")
async def error(asked: Asked) -> list[Json]:
    """Always fails."""
    raise ValueError("This tool intentionally returns an error for testing")


@tool("test_tool_with_logging")
@tool("test_logging_tool")
async def logging(asked: Asked) -> list[Json]:
    """Logs three messages."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await asked.log(message)
        await anyio.sleep(_STEP_S)
    return text("Logged three messages.")


@tool("test_tool_with_progress")
async def progress(asked: Asked) -> list[Json]:
    """Reports its progress three times."""
    for done in (0, 50, 100):
        await asked.context.session.report_progress(done, 100, f"{done} of 100")
        await anyio.sleep(_STEP_S)
    return text("Reported progress three times.")


@tool("test_sampling", {"properties": {"prompt": {"type": "string"}}, "required": ["prompt"]})
async def sampling(asked: Asked) -> list[Json]:
    """Asks the client's model."""
    answers = await asked.answers({"prompt": prompted(asked.arguments["prompt"])})
    return text(f"LLM response: {answers['prompt']['content']}")


@tool("test_elicitation", {"properties": {"message": {"type": "string"}}, "required": ["message"]})
async def elicitation(asked: Asked) -> list[Json]:
    """Asks the user for two texts."""
    wanted = {"username": {"type": "string"}, "email": {"type": "string"}}
    return text(f"User response: {await asked.answers({'user': form(asked.arguments['message'], wanted)})}")


@tool("test_elicitation_sep1034_defaults")
async def defaults(asked: Asked) -> list[Json]:
    """Asks the user for values that have defaults."""
    wanted = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return text(f"Elicitation completed: {await asked.answers({'user': form('Who are you?', wanted)})}")


@tool("test_elicitation_sep1330_enums")
async def enums(asked: Asked) -> list[Json]:
    """Asks the user to choose, in each way that a choice can be written."""
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
    wanted = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return text(f"Elicitation completed: {await asked.answers({'user': form('Choose.', wanted)})}")


@tool(
    "json_schema_2020_12_tool",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def schema_2020_12(asked: Asked) -> list[Json]:
    """Has a schema with keywords of JSON Schema 2020-12."""
    return text(json.dumps(asked.arguments))


@tool("test_missing_capability")
async def missing_capability(asked: Asked) -> list[Json]:
    """Works only for clients that can sample."""
    if not asked.can("sampling/createMessage"):
        raise MCPError(MISSING_CAPABILITY, "The client cannot sample", {"requiredCapabilities": {"sampling": {}}})
    return text("The client can sample.")


@tool("test_streaming_elicitation")
@tool("test_input_required_result_elicitation")
async def input_elicitation(asked: Asked) -> list[Json]:
    """Asks the user for a name, and greets."""
    answers = await asked.answers({"user_name": NAME})
    return text(f"Hello, {answers['user_name']['content']['name']}!")


@tool("test_input_required_result_sampling")
async def input_sampling(asked: Asked) -> list[Json]:
    """Asks the client's model for a capital."""
    answers = await asked.answers({"capital_question": prompted("What is the capital of France?")})
    return text(answers["capital_question"]["content"]["text"])


@tool("test_input_required_result_list_roots")
async def input_roots(asked: Asked) -> list[Json]:
    """Asks the client for its roots."""
    return text(json.dumps((await asked.answers({"client_roots": ROOTS}))["client_roots"]["roots"]))


@tool("test_input_required_result_request_state")
@tool("test_input_required_result_tampered_state")
async def input_state(asked: Asked) -> list[Json]:
    """Asks for a confirmation, and wants its state back as it was."""
    await asked.answers({"confirm": form("Please confirm", {"ok": {"type": "boolean"}})})
    return text("state-ok")


@tool("test_input_required_result_multiple_inputs")
async def input_multiple(asked: Asked) -> list[Json]:
    """Asks three things at once."""
    answers = await asked.answers(
        {"user_name": NAME, "greeting": prompted("Generate a greeting"), "client_roots": ROOTS}
    )
    return text(json.dumps(answers))


@tool("test_input_required_result_multi_round")
async def input_rounds(asked: Asked) -> list[Json]:
    """Asks one thing, then another."""
    await asked.answers({"step1": form("Step 1: What is your name?", {"name": {"type": "string"}})})
    colour = form("Step 2: What is your favorite color?", {"color": {"type": "string"}})
    return text(json.dumps(await asked.answers({"step2": colour})))


@tool("test_input_required_result_capabilities")
async def input_capabilities(asked: Asked) -> list[Json]:
    """Asks what the client says it can be asked, and nothing else."""
    requests = {"user_name": NAME, "greeting": prompted("Generate a greeting"), "client_roots": ROOTS}
    able = {name: request for name, request in requests.items() if asked.can(request["method"])}
    return text(json.dumps(await asked.answers(able)))


@tool("test_trigger_tool_change")
async def tools_changed(asked: Asked) -> list[Json]:
    """Adds a tool, or takes it away again, and says so."""
    if TOOLS.pop("test_added_tool", None) is None:
        tool("test_added_tool")(simple_text)
    await bus.publish(ToolsListChanged())
    if not asked.modern:
        await asked.context.session.send_tool_list_changed()
    return text("told")


@tool("test_trigger_prompt_change")
async def prompts_changed(asked: Asked) -> list[Json]:
    """Adds a prompt, or takes it away again, and says so."""
    if _PROMPTS.pop("test_added_prompt", None) is None:
        _PROMPTS["test_added_prompt"] = []
    await bus.publish(PromptsListChanged())
    if not asked.modern:
        await asked.context.session.send_prompt_list_changed()
    return text("told")


@tool("test_trigger_resource_change")
async def resource_changed(asked: Asked) -> list[Json]:
    """Says that the watched resource has changed, to who has subscribed to it."""
    await bus.publish(ResourceUpdated(_WATCHED["uri"]))
    if _WATCHED["uri"] in _subscribed:
        await asked.context.session.send_resource_updated(_WATCHED["uri"])
    return text("told")


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Every tool, on one page."""
    return types.ListToolsResult(tools=[definition for definition, _ in TOOLS.values()])


async def call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """Run a tool; what it raises is its error."""
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        content = await TOOLS[params.name][1](Asked(context, params.arguments or {}, params))
    except InputNeeded as needed:
        return needed.result
    except MCPError:
        raise
    except Exception as failure:
        return types.CallToolResult.model_validate({"content": text(str(failure)), "isError": True})
    return types.CallToolResult.model_validate({"content": content})


# ---- resources, prompts and the rest

_WORDS = {"uri": "test://static-text", "mimeType": "text/plain"}
_IMAGE = {"uri": "test://static-binary", "mimeType": "image/png"}
_WATCHED = {"uri": "test://watched-resource", "mimeType": "text/plain"}
_TEMPLATE = "test://template/{id}/data"
_CONTENTS: dict[str, Json] = {
    _WORDS["uri"]: _WORDS | {"text": "This is the content of the static text resource."},
    _IMAGE["uri"]: _IMAGE | {"blob": PIXEL},
    _WATCHED["uri"]: _WATCHED | {"text": "Watched resource content"},
}


async def list_resources(context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    """The three resources."""
    found = [{**about, "name": about["uri"].split("/")[-1]} for about in (_WORDS, _IMAGE, _WATCHED)]
    return types.ListResourcesResult.model_validate({"resources": found})


async def list_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    """The one template."""
    found = [{"uriTemplate": _TEMPLATE, "name": "template", "mimeType": "application/json"}]
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": found})


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """One resource, by its own URI or one that the template makes."""
    uri = str(params.uri)
    before, after = _TEMPLATE.split("{id}")
    if uri in _CONTENTS:
        found = _CONTENTS[uri]
    elif uri.startswith(before) and uri.endswith(after):
        number = uri.removeprefix(before).removesuffix(after)
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        found = {"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}
    else:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult.model_validate({"contents": [found]})


_subscribed: set[str] = set()
"""What the client of the initialize handshake wants to be told of."""


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    """Tell of this resource from now on."""
    _subscribed.add(str(params.uri))
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    """Tell of it no more."""
    _subscribed.discard(str(params.uri))
    return types.EmptyResult()


async def nothing(context: Context, params: Any) -> types.EmptyResult:
    """Agree to a log level, of which nothing follows here."""
    return types.EmptyResult()


SHORT = "short"
_PREFIX = "test_"
_PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


_cut = 0
"""How much of the names of prompts is left out at their beginning."""


async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    """Every prompt, on one page."""
    found = [
        {"name": name[_cut:], "description": name, "arguments": [{"name": n, "required": True} for n in arguments]}
        for name, arguments in _PROMPTS.items()
    ]
    return types.ListPromptsResult.model_validate({"prompts": found})


async def _blocks(asked: Asked, name: str) -> list[Json]:
    given = asked.arguments
    if name == "test_prompt_with_arguments":
        return text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
    if name == "test_prompt_with_embedded_resource":
        found = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
        return [found, *text("Please process the embedded resource above.")]
    if name == "test_prompt_with_image":
        return [*await image(asked), *text("Please analyze the image above.")]
    if name == "test_input_required_result_prompt":
        question = form("What context should the prompt use?", {"context": {"type": "string"}})
        return text(json.dumps(await asked.answers({"user_context": question})))
    return text("This is a simple prompt for testing.")


async def get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    """One prompt, made of content blocks."""
    name = _PREFIX[:_cut] + params.name
    if name not in _PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    try:
        blocks = await _blocks(Asked(context, dict(params.arguments or {}), params), name)
    except InputNeeded as needed:
        return needed.result
    messages = [{"role": "user", "content": block} for block in blocks]
    return types.GetPromptResult.model_validate({"messages": messages})


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """The words that begin with what is typed."""
    values = [word for word in ("paris", "parma", "oslo") if word.startswith(params.argument.value)]
    return types.CompleteResult.model_validate(
        {"completion": {"values": values, "total": len(values), "hasMore": False}}
    )


def server() -> Server[Any]:
    """All of it."""
    return Server(
        "conformance",
        version="1",
        cache_hints=dict.fromkeys(
            ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"),
            CacheHint(ttl_ms=1000),
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=ListenHandler(bus),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=nothing,
    )


_UNKNOWN = {
    "legacy": ("server/discover", types.METHOD_NOT_FOUND, None),
    "modern": ("initialize", types.UNSUPPORTED_PROTOCOL_VERSION, {"supported": [MODERN]}),
}
"""What a server of one era makes of the other's first request."""


async def hear(read: Any, heard: Any, write: Any, era: str) -> None:
    """Pass on what comes in, and refuse what a server of this era does not know."""
    method, code, data = _UNKNOWN[era]
    async with heard:
        async for line in read:
            message = getattr(line, "message", None)
            if isinstance(message, types.JSONRPCRequest) and message.method == method:
                error = types.ErrorData(code=code, message=f"This server is {era}", data=data)
                await write.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)))
            else:
                await heard.send(line)


async def main(era: str) -> None:
    """Serve until stdin is closed."""
    offered = server()
    options = offered.create_initialization_options(NotificationOptions(tools_changed=True, prompts_changed=True))
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        if era:
            heard, taken = anyio.create_memory_object_stream[Any]()
            tasks.start_soon(hear, read, heard, write, era)
            await offered.run(taken, write, options)
        else:
            await offered.run(read, write, options)


if __name__ == "__main__":
    words = sys.argv[1:]
    _cut = len(_PREFIX) if SHORT in words else 0
    anyio.run(main, "".join(word for word in words if word != SHORT))
