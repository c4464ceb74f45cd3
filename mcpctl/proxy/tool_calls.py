"""Tool calls: how they are decided on, put on record, sent and answered. The only requests that run anything."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from mcpctl.base import definitions, hints
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.tool_keys import OWN
from mcpctl.metatools import own_tool
from mcpctl.policy import words
from mcpctl.policy.approvals import ALWAYS, SESSION
from mcpctl.policy.decide import ALLOW, ANEW, ASK, COUNT, CURRENT, KEPT, LIST, REFUSE, UNAVAILABLE, Verdict, decide
from mcpctl.policy.view import View
from mcpctl.proxy import translate
from mcpctl.proxy.feature_reads import Owners
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.request import Request
from mcpctl.proxy.shortening import Shortening
from mcpctl.proxy.spec import DIRECT, PAGE, ClientSide, Looked, Record, Spec
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import OpenCall, Recorder
from mcpctl.upstreams.connection import TOOLS_CALL, Connection, Exchange
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.proxy.read_tool import ReadTool


_RECORDED = {"held": "held", "needs_consent": "asked"}  # by a refusal's code, where the policy only records
_KNOWN = (KEPT, CURRENT)
_VERDICTS_KEPT = 1000
_LIST_WAIT_S = 2.0  # how long a call of an unknown tool waits for the list of a server that is connected


class Unreadable(ValueError):
    """Raised with what a model should fix in the arguments of `tool_execute`, and the key as far as there is one."""

    def __init__(self, message: str, key: object = "") -> None:
        super().__init__(message)
        self.key = key if isinstance(key, str) else ""


def taken_apart(arguments: bytes) -> tuple[str, bytes]:
    """The key and the arguments' JSON (empty where there are none); raises `Unreadable`."""
    example = 'Example: {"toolKey": "server:tool", "arguments": {}}. Find keys with tool_discovery.'
    try:
        members = jsonrpc.members(arguments or b"{}")
        key = jsonrpc.value(members.get("toolKey", b"null"), object)
    except jsonrpc.Malformed:
        raise Unreadable(f"the arguments of tool_execute are not a JSON object. {example}") from None
    if not isinstance(key, str) or not key:
        raise Unreadable(f"toolKey is missing. {example}")
    passed = members.get("arguments", b"")
    if passed.startswith(b'"'):
        # Some models send the object as a string of its JSON.
        try:
            passed = jsonrpc.value(passed, str).strip().encode()
            jsonrpc.members(passed)
            jsonrpc.value(passed, Raw)
        except (jsonrpc.Malformed, UnicodeEncodeError):
            raise Unreadable(f"arguments is a string that is not a JSON object. {example}", key) from None
        passed = passed.replace(b"\n", b" ").replace(b"\r", b" ")
    if passed == b"null":
        passed = b""
    if passed and not passed.startswith(b"{"):
        raise Unreadable(f"arguments must be an object with the tool's parameters. {example}", key)
    return key, passed


def _is_whole(call: Request) -> bool:
    """Whether its answer is never shortened: a client checks what it was told of the output of a tool that it is shown,
    and no page reads on."""
    tool = call.tool
    is_typed = tool is not None and bool("outputSchema" in tool.definition or tool.page)
    return call.incoming.via == PAGE or (call.incoming.via == DIRECT and is_typed)


class CallRecord(Record):
    """A tool call has two lines: one before it is sent, and one before it is answered."""

    def __init__(self, call: Request, recorder: Recorder) -> None:
        self.id = ""
        self._call = call
        self._recorder = recorder
        self._open: OpenCall | None = None
        self._has_noted = False

    def start(self) -> None:
        """The record has the hints that the tool declares at this moment."""
        call = self._call
        if self.id or not call.is_found:
            return
        if call.tool and call.tool.inferred is not None:
            self.http = call.tool.request
        self._open = self._recorder.call_started(
            call.server, call.name, call.passed or b"{}",
            request_id=call.incoming.id, annotations=hints.snapshot(call.tool), parent_id=call.parent_id,
            origin=call.view.origin, via=call.incoming.via and DIRECT, http=self.http,
            traceparent=call.incoming.meta.get("traceparent", b""),
        )  # fmt: skip
        self.id = self._open.id

    def end(
        self, status: str, *, response: Json = b"null", error: bytes = b"null", recorded: bytes | None = None,
        delivered: int | None = None,
    ) -> None:  # fmt: skip
        if self._open:
            self._recorder.call_finished(
                self._open, status, response=response, error=error, recorded=recorded, delivered=delivered,
                http_status=self.http_status,
            )  # fmt: skip
            self._open = None

    def note_exception(self) -> None:
        failure, ruling = self._call.verdict.failure, self._call.verdict.ruling
        if self._has_noted:
            return  # it is sent once more
        self._has_noted = True
        if failure:  # the policy only records
            self.note(_RECORDED.get(failure.code, "denied"), failure, enforced=False)
        elif ruling and ruling.effect == ASK and self._call.consent is None:
            scope = SESSION if self._call.subject.grant in self._call.view.standing.grants else ALWAYS
            self.note("allowed", Failure("granted", {"ruling": ruling}), channel="grant", scope=scope)

    def refuse(self, failure: Failure) -> None:
        self.start()
        if failure.code in words.DECISIONS:
            self.note("held" if failure.code == "held" else "denied", failure)
        if self.http and isinstance(answered := failure.facts.get("http_status"), int):
            self.http_status = answered
        status, error = translate.outcome(failure)
        self.end(status, error=error)

    def note(
        self, decision: str, failure: Failure, *, channel: str = "rule", scope: str = "", waited_ms: int | None = None,
        enforced: bool = True,
    ) -> None:  # fmt: skip
        call, ruling = self._call, failure.facts.get("ruling")
        rule, place = words.rule_of(ruling, call.view.config) if ruling else (failure.code, "")
        if held := failure.facts.get("held"):
            rule, place = words.hold_rule(held, call.view.config)
        decided = call.fetched or call
        pin = definitions.pin_of(decided.tool) if decided.tool else ""
        self._recorder.decision_made(
            decided.key, decision, rule, place=place, call_id=self.id, channel=channel, scope=scope,
            arguments_hash=call.arguments_digest, pin=pin, token_id=call.view.token_id, waited_ms=waited_ms,
            enforced=enforced, origin=call.view.origin,
        )  # fmt: skip


class ToolCalls(Spec[Request]):
    keeps_params = False

    def __init__(self, gateway: Gateway, recorder: Recorder, client: ClientSide, of: "ToolCalls | None" = None) -> None:
        self._gateway = gateway
        self._recorder = recorder
        self._client = client
        self._owners = Owners(gateway)
        self._shortening: Shortening = Shortening(
            gateway.paths, recorder, self.finish, of._shortening.calls if of else None
        )
        self._read_tool: ReadTool | None = None

    def record(self, call: Request) -> CallRecord:
        return CallRecord(call, self._recorder)

    def decide(self, call: Request, view: View) -> Verdict:
        """The verdict on the call; its view keeps it for calls that nobody is asked about."""
        call.view = view
        if call.server == OWN:
            call.verdict = self._decide_own(call)
            return call.verdict
        if call.listing in _KNOWN:
            upstream = self._gateway.held[call.caller.holder].get(call.server)
            connection = upstream and upstream.connection
            call.listing = CURRENT if connection and connection.has_listed else KEPT
        like = call.server, call.name, call.execute_class, call.listing, call.incoming.via, self._recorder.session_id
        is_plain = call.parked is None and call.consent is None and call.counts_for is None and call.listing in _KNOWN
        if is_plain and (kept := view.verdicts.get(like)):
            call.tool, call.verdict = kept
            return call.verdict
        call.tool = self._gateway.catalog(view).to_call(call.server, call.name)
        call.verdict = verdict = decide(call.subject)
        if is_plain and verdict.outcome == ALLOW and len(view.verdicts) < _VERDICTS_KEPT:
            view.verdicts[like] = call.tool, verdict
        return verdict

    def _decide_own(self, call: Request) -> Verdict:
        """The verdict on a call of our own tool, and on its resource: `list` until the owner is known."""
        call.tool, call.fetched = own_tool.TOOL if call.key == own_tool.TOOL.key else None, None
        verdict = decide(call.subject)
        is_first = verdict.outcome in (REFUSE, COUNT)
        if is_first or not own_tool.resource(call.arguments) or isinstance(call.owner, Failed):
            return verdict
        if call.owner is None:
            return Verdict(LIST)
        call.fetched = self._owners.fetching(call.owner, call.view)
        return decide(call.subject)

    async def learn(self, call: Request) -> None:
        """Get the list: the tool may be in the cache or new, and where hints decide only the current list applies."""
        gateway, caller = self._gateway, call.caller
        if call.server == OWN and (resource := own_tool.resource(call.arguments)):
            try:
                call.owner = await self._owners.owner(resource, caller)
            except Failed as error:
                call.owner = error
        await gateway.load(call.server, call.view)
        upstream = gateway.upstream(call.server, caller)
        if call.done or upstream is None or self.decide(call, gateway.view(caller)).outcome != LIST:
            return
        wait = (upstream.server.start_timeout_s or None) if call.execute_class else _LIST_WAIT_S
        try:
            await upstream.connected(caller)
        except Failed as error:
            call.failed(error.failure)
            return
        try:
            await upstream.refresh(caller, wait)
            call.listing = ANEW
        except Exception:
            call.listing = UNAVAILABLE  # it runs but its list cannot be had or kept, or not soon

    def exchange(self, call: Request) -> Exchange:
        params: dict[str, Json] = {"name": msgspec.json.encode(call.name), **call.extra}
        if call.passed:
            params["arguments"] = call.passed
        if call.tool and "execution" in call.tool.definition and translate.runs_as_task(call.tool.definition):
            params |= translate.PARAMS
        return Exchange(TOOLS_CALL, params, call.incoming.meta, call.caller, call, call.tool)

    def read(self, call: Request) -> None:
        if self._read_tool is None:
            from mcpctl.proxy.read_tool import ReadTool  # most sessions read nothing on

            self._read_tool = ReadTool(self._gateway.paths, self._shortening, self._client)
        self._read_tool.begin(call, partial(self._barring, call))

    def _barring(self, call: Request) -> Failure | None:
        verdict = self.decide(call, self._gateway.view(call.caller))
        return None if verdict.outcome == ALLOW else verdict.failure

    def look(self, call: Request, connection: Connection | None, result: memoryview) -> Looked:
        head, values = translate.head(result), self._recorder.values
        wants_input = translate.is_waiting(head)
        if call.view.config.policy.masks and not wants_input:  # what a round needs to go on stays as it is
            result = memoryview(values.masked(bytes(result)))
            head = translate.head(result)
        answer = result if wants_input else translate.for_client(result, head, call.caller, connection)
        is_error = bytes(head.is_error) == b"true"
        recorded: Json = result
        if call.record.http:
            call.record.http_status = translate.http_status(head)
            recorded = translate.without_headers(result) if len(result) <= values.limit else result
        return Looked(result, is_error, wants_input, answer, values.json(recorded))

    def deliver(self, call: Request, result: Looked) -> None:
        is_long = len(result.result) > call.view.config.least_limit
        if not (is_long and not _is_whole(call) and self._shortening.begin(call, result)):
            self.finish(call, result)

    def finish(self, call: Request, result: Looked, short: bytes | None = None) -> None:
        """Put a result on record, and answer with it, or with the `short` one in its place."""
        call.record.end(
            "tool_error" if result.is_error else "ok", response=result.result, recorded=result.recorded,
            delivered=None if short is None else len(short),
        )  # fmt: skip
        if result.is_error:
            self._answer_with_help(call, result.answer, translate.with_block, call.answer)
        else:
            call.answer(result.answer if short is None else short)

    def error(self, call: Request, error: bytes) -> None:
        if call.view.config.policy.masks:
            error = self._recorder.values.masked(error)
        call.record.end("failed", error=error)
        self._answer_with_help(call, error, translate.with_data, call.answer_error)

    def _answer_with_help(
        self, call: Request, answer: Json, add: Callable[[bytes, str], Json], then: Callable[[Any], None]
    ) -> None:
        if call.tool is None or call.incoming.as_sent or call.server == OWN:
            then(answer)
        else:
            from mcpctl.metatools import argument_help  # most calls are not refused

            argument_help.give(call.tool, call.arguments, answer, add, then)

    def refuse(self, call: Request, failure: Failure) -> None:
        told = failure.about(is_direct=True) if call.incoming.via else failure
        if call.tool and failure.facts.get("of_arguments"):
            from mcpctl.metatools import argument_help

            told = argument_help.about(told, call.tool)
        self._client.refused(call.incoming, told, call.record.id)
        call.end()

    def reject(self, call: Request, message: str, code: int) -> None:
        error = jsonrpc.error_object(code, f"mcpctl: {message}")
        call.record.start()
        call.record.end("failed", error=error)
        call.answer_error(error)
