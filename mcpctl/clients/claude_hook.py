"""The PreToolUse hook of Claude Code: the policy decides on the tool inside of a `tool_execute`, and on a tool that is
shown directly, before it is called.

Its input and output are at https://code.claude.com/docs/en/hooks#pretooluse. Nothing is started: the decision is made
on the tools as they were last listed, and `mcpctl serve` makes it again when the call comes.
"""

import json
import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from mcpctl.base import posix
from mcpctl.base.errors import McpctlError
from mcpctl.base.hints import PERMISSIONS, RISKS, hint_line
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import is_plain, split
from mcpctl.catalog import explained, rows
from mcpctl.clients import client_config
from mcpctl.config.policy_settings import ASK, DENY
from mcpctl.metatools import direct_tools, own_tool
from mcpctl.output.text import line_of
from mcpctl.policy import approvals, words
from mcpctl.policy.approvals import CallApproval
from mcpctl.policy.consent import digest_of
from mcpctl.policy.decide import ALLOW, CALL, CURRENT, LIST, Subject, Verdict, decide
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.question import effect_of
from mcpctl.policy.rules import Ruling
from mcpctl.store.recordable import Recordable

EVENT = "PreToolUse"
_EXECUTE = re.compile(rf"tool_execute(?:_({'|'.join(PERMISSIONS)}))?")
_DIRECT = "__"  # between server and tool in the name of a tool that is shown directly
_CALLS = f"(tool_execute.*|.+{_DIRECT}.+)"
# Other modes let calls through, or may: anthropics/claude-code issues 89561 and 77212.
_PROMPTING = ("default", "manual", "acceptEdits", "plan")
_LONGEST_REASON = 1000
_TIMEOUT_S = 10
_PLAIN_RULE = re.compile(r"[A-Za-z0-9_@*?:./-]{1,200}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


class HookAnswer(NamedTuple):
    """The hook's decision, `allow`, `ask` or `deny`, and why."""

    decision: str
    reason: str

    @property
    def json(self) -> str:
        output = {
            "hookEventName": EVENT,
            "permissionDecision": self.decision,
            "permissionDecisionReason": line_of(f"mcpctl: {self.reason}"[:_LONGEST_REASON]),
        }
        return msgspec.json.encode({"hookSpecificOutput": output}).decode()


class _Input(msgspec.Struct):
    tool_name: str
    tool_input: msgspec.Raw = msgspec.Raw(b"{}")
    hook_event_name: str = EVENT
    permission_mode: str = "default"


class _Execute(msgspec.Struct):
    toolKey: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


def prefix(entry: str) -> str:
    return f"mcp__{_NOT_IN_NAMES.sub('_', entry)}__"


def answer(
    read: Callable[[], str], find_paths: Callable[[], Paths], project: str | None, toolset: str | None, entry: str
) -> HookAnswer | None:
    """The answer to the call that `read` gets, or None; if anything fails, a person is asked."""
    try:
        call = msgspec.json.decode(read(), type=_Input)
        name = call.tool_name.removeprefix(prefix(entry))
        if call.hook_event_name != EVENT or name == call.tool_name:
            return None
        is_call = _EXECUTE.fullmatch(name) or _DIRECT in name
        return _decided(call, name, find_paths(), project, toolset) if is_call else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return HookAnswer(ASK, "this is not a call that mcpctl understands")
    except McpctlError as error:
        return HookAnswer(ASK, f"it could not decide: {error.message}")
    except Exception as error:
        return HookAnswer(ASK, f"it could not decide: {error!r}")


def settings(entry: str, options: client_config.ServeOptions) -> str:
    """The part of Claude Code's settings, as JSON, that runs the hook with these options for this entry's tools."""
    variables = [f"{name}={value}" for name, value in client_config.environment().items()]
    start = [*(["env", *variables] if variables else []), *client_config.command()]
    words = [*start, "policy", "hook", "claude-code", *client_config.option_words(options)]
    runs = {"type": "command", "command": shlex.join(words), "timeout": _TIMEOUT_S}
    block = {"hooks": {EVENT: [{"matcher": f"{prefix(entry)}{_CALLS}", "hooks": [runs]}]}}
    return json.dumps(block, indent=2, ensure_ascii=False)


def _decided(call: _Input, called: str, paths: Paths, project: str | None, toolset: str | None) -> HookAnswer | None:
    with rows.catalog(paths, toolset, project, quiet=True) as catalog:
        if through := _EXECUTE.fullmatch(called):
            permission, execute = through[1], msgspec.json.decode(call.tool_input, type=_Execute)
        else:
            permission, execute = None, _Execute(direct_tools.key_named(catalog, called), call.tool_input)
        server, name = split(execute.toolKey)
        view = replace(catalog.view, standing=explained.standing(paths))
        tool = own_tool.TOOL if execute.toolKey == own_tool.TOOL.key else catalog.find(server, name)
        subject = Subject(CALL, server, name, tool, view, permission, listing=CURRENT)
        verdict = decide(subject)
        counts = view.config.policy.table.claude_hook
        if counts and verdict.outcome == ASK and call.permission_mode in _PROMPTING:
            _expect(paths, subject._replace(arguments_digest=digest_of(bytes(execute.arguments))), verdict, execute)
        return _answer(subject, verdict, is_planning=call.permission_mode == "plan")


def _expect(paths: Paths, subject: Subject, verdict: Verdict, execute: _Execute) -> None:
    """Keep that Claude Code asks now: if its user says yes, `serve` of the same process gets this call unasked."""
    assert verdict.failure
    claude_code, *_ = posix.parents() or (0,)
    if not claude_code:
        return
    shown = Recordable(paths, subject.view.config.records).shown(bytes(execute.arguments)).beginning
    hints = subject.view.rules.hints(subject.server, subject.tool) if subject.tool else None
    risk = verdict.failure.facts["risk"]
    asked_call = CallApproval(
        subject.binding, *subject.grant, risk, hint_line(hints) if hints else "", shown,
        subject.arguments_digest, *words.rule_of(verdict.failure.facts["ruling"], subject.view.config),
        client=approvals.CLAUDE_CODE, title=(subject.tool.title if subject.tool else None) or "",
        effect=effect_of(risk, hints),
    )  # fmt: skip
    with PolicyFile.connect(paths) as file:
        approvals.expect(file, asked_call, approvals.CLAUDE_CODE, claude_code)


def _answer(subject: Subject, verdict: Verdict, *, is_planning: bool) -> HookAnswer | None:
    policy = subject.view.config.policy
    counts = policy.enforces
    failure, decision = verdict.failure, explained.decision_of(verdict)
    named = subject.key if is_plain(subject.key) else "this tool"  # models and people get plain names only
    if verdict.outcome == LIST or (failure and failure.code == "unknown_tool"):
        return HookAnswer(ASK, f"{named} is not known: no server has listed it") if policy.is_on else None
    risk, rule = subject.view.rules.risk(subject.server, subject.tool), _rule(subject, verdict)
    does = f"{named} {words.MAY[risk]}{rule}"
    if counts and decision == ASK:
        return HookAnswer(ASK, does)
    if failure is None:
        may = counts and _is_allowed(subject, verdict.ruling) and (risk == RISKS[0] or not is_planning)
        return HookAnswer(ALLOW, does) if may else None
    if verdict.outcome == ALLOW and not counts:
        return None
    return HookAnswer(DENY, f"{words.for_model(failure)}{rule}")


def _is_allowed(subject: Subject, ruling: Ruling | None) -> bool:
    """Whether Claude Code is to ask nobody: its user has written so, and more than a default of ours allows it."""
    rule = ruling.rule if ruling else None
    is_written = rule is not None and rule.key == ALLOW and not rule.is_of_one_tool
    return is_written and subject.view.config.policy.table.claude_hook


def _rule(subject: Subject, verdict: Verdict) -> str:
    """The rule that decides, and its place; a toolset's may come from a stranger, and a model reads this."""
    ruling = verdict.ruling or Ruling("", None)
    if not ruling.effect:
        return ""
    if ruling.rule and (ruling.rule.file or not _PLAIN_RULE.fullmatch(ruling.rule.pattern)):
        return f" ({ruling.effect}, by a rule of {'the toolset in force' if ruling.rule.file else 'config.toml'})"
    return f" ({', '.join(part for part in words.rule_of(ruling, subject.view.config) if part)})"
