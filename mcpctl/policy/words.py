"""The sentences of a failure for a model and for a person: the only place where failures become sentences."""

import shlex
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from mcpctl.base.errors import McpctlError, NotFound, Refused, Unusable, UpstreamFailed, WrongUsage
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.feature_names import is_feature
from mcpctl.base.hints import Hint
from mcpctl.base.texts import escaped
from mcpctl.base.tool_keys import is_plain, split
from mcpctl.config.config import Config
from mcpctl.policy.approvals import Approval
from mcpctl.policy.holding import NOT_LOCKED, SUSPICIOUS
from mcpctl.policy.rules import Ruling

EXECUTE = "tool_execute"
DENIED = frozenset((
    "not_permitted", "not_in_project", "not_in_toolset", "server_disabled", "wrong_execute", "not_listed",
    "held", "denied", "needs_consent", "never_asked", "declined", "no_token", "token_not_valid", "token_read_only",
))  # fmt: skip
"""The codes of refusals that are decisions; the record calls them `denied`, and other failures `failed`."""
HELD = {
    "changed": "it has changed since it was first seen",
    "new": "it is new on a server whose tools are known",
    "suspicious": "its definition looks like an attack on the model",
    "not_locked": "the lock file does not have it as it is",
}
"""By `models.HOLDS`."""
MAY = {
    "read-only": "only reads",
    "changing": "changes things",
    "destructive": "may delete data",
    "not-declared": "does not say what it may do",
}
"""By `hints.RISKS`."""
_EFFECT_UNKNOWN = ("server_died", "timed_out", "answer_unreadable", "server_removed")
"""After these a call that was sent may have taken effect."""
_MAX_SERVERS = 50
_LONGEST_KEY = 256


def for_model(failure: Failure, *, call: str = "") -> str:
    """The sentence for a model: our own words alone, and its next step; `call` is the start of the call's id."""
    facts = failure.facts
    if failure.code in _OF_TOOL:
        return _of_tool(failure)[0]
    if failure.code in OF_FEATURE:
        return _of_feature(failure)
    if failure.code == "interrupted":
        return f"the session is ending before the tool has answered; {_effect(failure)}"
    see = ""
    if failure.said:
        see = f"calls show {call}" if failure.was_sent and call else f"servers check {facts.get('server')}"
        see = f". The user can see why with: mcpctl {see}"
    return f"{_outcome(failure)}{_sent(failure)}{see}"


def for_person(failure: Failure, see: str = "mcpctl calls show last") -> McpctlError:
    """The error for a person, a command or the record, with the server's own words where it had some; `see` is the
    command to look with where nothing else helps."""
    facts = failure.facts
    if failure.code in _OF_TOOL:
        return _of_tool(failure)[1]
    if failure.code in OF_FEATURE:
        if failure.code == "ambiguous_resource":
            uri = shlex.quote(escaped(f"mcpctl+{facts['servers'][0]}:{facts['uri']}"))
            return WrongUsage(_of_feature(failure), f"read one with: mcpctl resources read {uri}", failure.code)
        return NotFound(_of_feature(failure), _OF_FEATURE_HINT[failure.code], failure.code)
    if failure.code == "interrupted":
        return UpstreamFailed(for_model(failure), "call it again", failure.code)
    if failure.code == "needs_login" and "server" in facts:
        what, command = _login(facts)
        return UpstreamFailed(f"{what}{failure.said}", f"log in with: {command}", failure.code)
    has_more = failure.said and "logs_of" in facts
    hint = f"see all that it wrote with: mcpctl servers logs {facts['logs_of']}" if has_more else ""
    return UpstreamFailed(f"{_outcome(failure)}{failure.said}{_sent(failure)}", hint or f"see: {see}", failure.code)


def in_brief(failure: Failure) -> str:
    """Why a server failed, in one clause that is read later: it does not say when the server is tried again."""
    if failure.code == "needs_login" and "server" in failure.facts:
        return ": ".join(_login(failure.facts))
    return f"{_what(failure)}{failure.said}"


def why_unlisted(error: Exception) -> str:
    return in_brief(error.failure) if isinstance(error, Failed) else str(error)


def named(key: str) -> str:
    """A tool in our sentences: a name that is a sentence itself is left out."""
    if is_plain(key):
        return f"tool '{key}'"
    return "this resource" if is_feature(split(key)[1]) else "this tool"


def _outcome(failure: Failure) -> str:
    what, facts = _what(failure), failure.facts
    return f"{what}; it is tried again in {facts['retry_s']} s" if "retry_s" in facts else what


def _login(facts: Mapping[str, Any]) -> tuple[str, str]:
    """The login that a server needs, and the command for it."""
    more = " with more rights" if "scopes" in facts else ""
    scopes = "".join(f" --scope {scope}" for scope in facts.get("scopes", ()))
    return f"server '{facts['server']}' needs a login{more}", f"mcpctl servers login {facts['server']}{scopes}"


def _what(failure: Failure) -> str:
    facts = failure.facts
    if failure.code == "needs_login" and "server" in facts:
        return ": the user can log in with: ".join(_login(facts))
    parts = (f"server '{facts['server']}'" if "server" in facts else "", facts.get("did", ""))
    what = " ".join(part for part in parts if part)
    reason = facts.get("reason", "")
    return f"{what}: {reason}" if what and reason else what or reason


def _sent(failure: Failure) -> str:
    if failure.was_sent and failure.code in _EFFECT_UNKNOWN:
        return ". The call was sent and may have taken effect; it was not sent again"
    return ""


def _effect(failure: Failure) -> str:
    return "the call may have taken effect" if failure.was_sent else "the call was not sent"


def _of_feature(failure: Failure) -> str:
    facts = failure.facts
    if failure.code == "ambiguous_resource":
        servers = facts["servers"]
        return f"several servers have this URI: {', '.join(servers)}; read mcpctl+{servers[0]}:URI"
    if failure.code == "unknown_prompt":
        return f"there is no prompt '{escaped(_shown(facts['name']))}'"
    return f"there is no resource '{escaped(_shown(facts['uri']))}' of any server"


def _of_tool(failure: Failure) -> tuple[str, McpctlError]:
    """The sentences for a model and for a person on a tool that is not called."""
    facts, code, view = failure.facts, failure.code, failure.facts["view"]
    tool, key, server, path = named(facts["key"]), _shown(facts["key"]), facts["server"], view.config.path
    if code in _OF_POLICY:
        return _of_policy(failure, tool, key)
    if code == "unknown_tool":
        what = tool if is_plain(facts["key"]) else "such tool"
        no = f"there is no {what}{_near(facts, ': did you mean ', '?') or '.'}"
        servers = ", ".join(list(view.config.enabled)[:_MAX_SERVERS]) or "none"
        hint = _near(facts, "did you mean ", "?") or f"see: mcpctl tools ls --server {server}"
        return (
            f"{no} Tool keys have the form server:tool; the servers are: {servers}. Search with tool_discovery",
            NotFound(f"no tool '{key}'", hint, "tool_not_found"),
        )
    if code == "not_in_toolset":
        name, problem = view.toolset.name, f" ({view.toolset.problem})" if view.toolset.problem else ""
        which = f" --project {view.project}" if view.project else ""
        hint = f"see what is in it with: mcpctl toolsets show{which}; or call it with --toolset none"
        return (
            f"{tool} is not in the toolset '{name}', whose tools alone may be called now{problem}"
            f"{_near(facts, '; did you mean ', '?') or '; do not retry it'}",
            Refused(f"tool '{key}' is not in the toolset in force", hint, code),
        )
    if code == "not_listed":
        was = f"was not called: server '{server}' has not listed its tools in time"
        return (
            f"{tool} {was}, and the user's configuration permits only what can be checked; try again in a moment",
            Refused(f"tool '{key}' {was}", f"see why with: mcpctl servers check {server}", code),
        )
    if code == "wrong_execute":
        refusal = f"{tool} is not called with {EXECUTE}_{facts['used']} but with {EXECUTE}_{facts['needed']}"
        return refusal, Refused(refusal, "call it with that one", code)
    if code == "not_in_project":
        stranger = view.config.not_in_project(server)
        return f"{stranger.message}; do not retry it", stranger
    if code == "server_unusable":
        refusal = f"server '{server}' cannot be used: {facts['reason']}"
        return refusal, Unusable(refusal, f"fix it in {path}", code)
    if code == "server_disabled":
        is_disabled = f"server '{server}' is disabled"
        hint = f"enable it with: mcpctl servers enable {server}"
        return f"{is_disabled} in the user's configuration", Refused(is_disabled, hint, code)
    barring, refusal = facts["barring"], f"tool '{key}' is not permitted"
    if barring.is_of_one_tool:
        hint = f"see [servers.{server}.tools] in {path}"
    else:
        line = view.config.line_of(barring.table, barring.key)
        hint = f"see only of [servers.{server}] in {path}{f', line {line}' if line else ''}"
        refusal += f": only others of server '{server}' are"
    return f"{tool} is not permitted by the user's configuration; do not retry it", Refused(refusal, hint, code)


def _of_policy(failure: Failure, tool: str, key: str) -> tuple[str, McpctlError]:
    """The same for a call that the user's policy keeps back."""
    code, facts = failure.code, failure.facts
    explain = f"see why with: mcpctl policy explain {key}"
    if why := _WITHOUT_TOKEN.get(code):
        refused = Refused(f"tool '{key}' was not called: {why}", _GIVE_A_TOKEN, code)
        return f"{why}; ask the user for one, and do not retry it without", refused
    if code == "token_read_only":
        why = "the token in use only permits tools that read"
        refused = Refused(f"tool '{key}' was not called: {why}", _GIVE_A_TOKEN, code)
        return f"{tool} is not permitted: {why}; do not retry it", refused
    if code == "held":
        why, look = HELD[facts["held"]], "; the user can look with: mcpctl tools diff"
        hint = f"look at it with: mcpctl tools diff {key}; then: mcpctl tools approve {key}"
        if facts["held"] == NOT_LOCKED:
            look, hint = "", "see what differs with: mcpctl tools diff --lock FILE"
        refused = Refused(f"tool '{key}' is held: {why}", hint, code)
        return f"{tool} is held until the user has looked at it: {why}{look}; do not retry it", refused
    if code == "denied":
        refused = Refused(f"tool '{key}' is denied by the policy ({by(failure)})", explain, code)
        return f"{tool} is denied by the user's policy; do not retry it", refused
    if code == "declined":
        refused = Refused(f"tool '{key}' was not run: you said no", explain, code)
        return f"{tool} was not run: the user said no; do not retry it", refused
    if id_ := facts.get("approval") if code == "needs_consent" else None:
        hint = f"answer with: mcpctl approvals allow {id_} (or deny; show has what it would do); then call it again"
        return pending(failure), Refused(
            f"tool '{key}' was not run: it needs your consent (approval {id_})", hint, code
        )
    refused = Refused(f"tool '{key}' needs consent, which nobody is asked for ({by(failure)})", explain, code)
    if code == "needs_consent":
        return pending(failure), refused
    return f"{tool} needs the user's consent, which the user's policy never asks for; do not retry it", refused


def pending(failure: Failure) -> str:
    """The sentence for a model on a call that waits for the user's consent."""
    facts = failure.facts
    key = facts["key"] if is_plain(facts["key"]) else named(facts["key"])
    what = f"not run yet: {key} {MAY[facts['risk']]} and needs the user's consent"
    if "approval" not in facts:
        return what
    id_, until = facts["approval"], facts["until"]
    where = f", or in the dashboard at {facts['dashboard']}approvals" if facts.get("dashboard") else ""
    return (
        f"{what} (approval {id_}, open until {until}).\n"
        f"Ask the user to answer in a terminal of their own: mcpctl approvals show {id_}{where}. Do not run that"
        " command yourself, and do not call another tool instead.\n"
        "When the user says it is approved, call the tool again with the same arguments."
    )


def question_of(approval: Approval, arguments: str) -> str:
    """The question whether a call may be made; `arguments` are as `consent.in_form` shows them."""
    lines = [
        f"May {escaped(approval.key)} be called? It {MAY[approval.risk]}.",
        f"Its hints: {approval.hints}.",
        f"Asked by: {escaped(', '.join(filter(None, (approval.rule, approval.rule_place))))}",
        arguments,
    ]
    if approval.risk in ("destructive", "not-declared"):
        lines.append("Warning: what it deletes or overwrites may be gone for good. Say yes only if you want that.")
    lines.append(f"Approval {approval.id}. You can also answer in a terminal: mcpctl approvals show {approval.id}")
    return "\n".join(lines)


def hints_of(effective: Mapping[str, Hint]) -> str:
    """Hints in one line, with their sources: "not declared" is not a no."""
    said = {
        "declared": "{} (declared by its server)", "override": "{} (set by a toolset)",
        "default": "not declared (counts as {})",
    }  # fmt: skip
    hints = [
        f"{name.removesuffix('Hint')} {said[hint.source].format(str(hint.value).lower())}"
        for name, hint in effective.items()
    ]
    return ", ".join(hints)


def by(failure: Failure) -> str:
    """The rule that kept a call back, and where it is written."""
    ruling, view = failure.facts.get("ruling"), failure.facts["view"]
    return ", ".join(part for part in rule_of(ruling, view.config) if part) if ruling else failure.code


def hold_rule(why: str, config: Config) -> tuple[str, str]:
    """The setting by which a tool is held for this reason, one of `models.HOLDS`, and where it is written."""
    if why == NOT_LOCKED:
        return "locked", ""
    name = "checks" if why == SUSPICIOUS else "on_change"
    line = config.line_of(("policy",), name)
    return f"{name} {getattr(config.policy.table, name)}", f"{config.path.name}:{line}" if line else ""


@lru_cache(maxsize=256)
def rule_of(ruling: Ruling, config: Config) -> tuple[str, str]:
    """A rule as people are shown it, and where it is written, as `config.toml:14`."""
    if ruling.rule is None:
        return f"default {ruling.effect}", ""
    rule = ruling.rule
    if rule.file:
        return rule.label, f"{rule.file}: {'.'.join(rule.table)}.{rule.key}[{rule.item}]"
    line = config.line_of(rule.table, rule.key, rule.item)
    name = config.path.name
    return rule.label, f"{name}:{line}" if line else name


def _shown(key: str) -> str:
    """No tool can have a longer key."""
    return key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"


def _near(facts: Mapping[str, Any], before: str, after: str) -> str:
    near: Iterable[str] = facts.get("near", ())
    names = " or ".join(near)
    return f"{before}{names}{after}" if names else ""


OF_CONSENT = frozenset(("needs_consent", "declined"))
"""The codes of calls that wait for a yes, or had a no: those decisions are recorded when they are made."""
DECISIONS = DENIED - OF_CONSENT | {"unknown_tool"}
"""The codes of refusals that are recorded as decisions where the call is refused."""
OF_FEATURE = frozenset(("unknown_prompt", "unknown_resource", "ambiguous_resource"))
"""The codes of prompts and resources that cannot be had, or that several servers have."""
_OF_FEATURE_HINT = {
    "unknown_prompt": "see: mcpctl prompts ls",
    "unknown_resource": "see: mcpctl resources ls",
}
_WITHOUT_TOKEN = {
    "no_token": "nothing can be found or called without a token",
    "token_not_valid": "the token in use is not valid; it may have expired, or have been revoked",
}
_GIVE_A_TOKEN = "make one with: mcpctl tokens create; and give it in MCPCTL_TOKEN or with serve --token-file"
OF_TOKEN = frozenset(("token_read_only", *_WITHOUT_TOKEN))
"""The codes of refusals for want of a token that permits more."""
_OF_POLICY = frozenset(("held", "denied", "never_asked")) | OF_CONSENT | OF_TOKEN
_OF_TOOL = DENIED | {"unknown_tool", "server_unusable"}
