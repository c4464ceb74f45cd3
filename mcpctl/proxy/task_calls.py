"""Tools that run only as tasks (`execution.taskSupport: "required"`, 2025-11-25), called as any other tool is.

The server answers such a call with a task, and the task's result is asked for at once: that answer waits for its end.
"""

from collections.abc import Iterable, Sequence

import msgspec

from mcpctl.base.callers import Caller
from mcpctl.base.models import Tool
from mcpctl.upstreams.connection import TASKS_RESULT, TOOLS_CALL, Connection, Exchange, Reply
from mcpctl.wire import jsonrpc

PARAMS = {"task": b"{}"}
"""What the params of such a call have in addition."""


class _Execution(msgspec.Struct):
    taskSupport: str = ""


class _Runs(msgspec.Struct):
    execution: _Execution | None = None


class _Task(msgspec.Struct):
    taskId: str


class _Created(msgspec.Struct):
    task: _Task


def runs_as_task(tool: Tool | None) -> bool:
    """Whether a tool runs only as a task."""
    execution = tool.definition.get("execution") if tool else None
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def unrunnable(definitions: Iterable[bytes], connection: Connection) -> list[bytes]:
    """Those of the definitions that run only as tasks, on a connection to a server that does not say it runs any."""
    return [] if connection.runs_tasks else [each for each in definitions if b'"taskSupport"' in each and _only(each)]


def runnable(definitions: Sequence[bytes], connection: Connection) -> list[bytes]:
    """The definitions without those that are `unrunnable`."""
    left_out = frozenset(unrunnable(definitions, connection))
    return [each for each in definitions if each not in left_out]


def _only(definition: bytes) -> bool:
    try:
        execution = jsonrpc.value(definition, _Runs).execution
    except jsonrpc.Malformed:
        return False
    return execution is not None and execution.taskSupport == "required"


def awaited(result: memoryview, exchange: Exchange, caller: Caller, reply: Reply) -> Exchange | None:
    """The request for the result of the task that this answer to a call is about; None where it is about none."""
    if exchange.method != TOOLS_CALL:
        return None
    try:
        task = jsonrpc.value(bytes(result), _Created).task
    except jsonrpc.Malformed:
        return None
    return Exchange(TASKS_RESULT, {"taskId": msgspec.json.encode(task.taskId)}, {}, caller, reply, exchange.tool)
