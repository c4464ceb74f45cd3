"""The sentences of a failure for a model and for a person: the only place where failures become sentences."""

import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from mcpctl.base.errors import McpctlError, NotFound, Refused, Unusable, UpstreamFailed, WrongUsage
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.feature_names import is_feature
from mcpctl.base.texts import escaped
from mcpctl.base.tool_keys import is_plain, split
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import ONLY
from mcpctl.policy.holding import NOT_LOCKED, SUSPICIOUS
from mcpctl.policy.rules import Ruling

HELD = {  # by `models.HOLDS`
    "changed": "it has changed since it was first seen",
    "new": "it is new on a server whose tools are known",
    "suspicious": "its definition looks like an attack on the model",
    "not_locked": "the lock file does not have it as it is",
}
MAY = {  # by `hints.RISKS`
    "read-only": "only reads",
    "changing": "changes things",
    "destructive": "may make changes that cannot be undone",
    "not-declared": "does not say what it does",
}
BUILT_IN = "built in"  # in place of the line of a rule that nobody has written
_EFFECT_UNKNOWN = ("server_died", "timed_out", "answer_unreadable", "server_removed")  # the call may have run
_MAX_SERVERS = 50
_LONGEST_KEY = 256

_NOT_IN_TIME = "was not called: server '{server}' has not listed its tools in time"
_WRONG_EXECUTE = "{tool} is not called with tool_execute_{used} but with tool_execute_{needed}"
_FOR_PAGES = "tool '{key}' is for the page of its server alone, not for models"
_DISABLED = "server '{server}' is disabled"
_UNUSABLE = "server '{server}' cannot be used: {reason}"
_WITHOUT_TOKEN = "tool '{key}' was not called: {why}"
_DENIED_BY = "tool '{key}' is denied by the policy ({by})"
_YOU_SAID_NO = "tool '{key}' was not run: you said no"
_NOBODY_ASKED = "tool '{key}' needs consent, which nobody is asked for ({by})"
_GIVE_A_TOKEN = "make one with: mcpctl tokens create; and give it in MCPCTL_TOKEN or with serve --token-file"
_EXPLAIN = "see why with: mcpctl policy explain {key}"
_ASK_FOR_A_TOKEN = "{why}; ask the user for one, and do not retry it without"
_STOPPED = "nothing is called, searched or read: {pause.told}"
_OF_TOOL = {  # by code, the sentence for a model, the one for a person, and that person's hint; `_values` fills them in
    "no_token": (_ASK_FOR_A_TOKEN, _WITHOUT_TOKEN, _GIVE_A_TOKEN),
    "token_not_valid": (_ASK_FOR_A_TOKEN, _WITHOUT_TOKEN, _GIVE_A_TOKEN),
    "token_read_only": ("{tool} is not permitted: {why}; do not retry it", _WITHOUT_TOKEN, _GIVE_A_TOKEN),
    "unknown_tool": (
        "there is no {near_or_end} {look}", "no tool '{key}'", "{near_or_list}",
    ),
    "server_unusable": (_UNUSABLE, _UNUSABLE, "fix it in {path}"),
    "server_disabled": (
        f"{_DISABLED} in the user's configuration", _DISABLED, "enable it with: mcpctl servers enable {server}"
    ),
    "not_permitted": (
        "{tool} is not permitted by the user's configuration; do not retry it",
        "tool '{key}' is not permitted{but_others}", "see {entry}",
    ),
    "not_in_toolset": (
        "{tool} is not in the toolset '{toolset}', whose tools alone may be called now{problem}; {near_or_stop}",
        "tool '{key}' is not in the toolset in force",
        "see what is in it with: mcpctl toolsets show{project}; or call it with --toolset none",
    ),
    "not_listed": (
        f"{{tool}} {_NOT_IN_TIME}, and the user's configuration permits only what can be checked;"
        " try again in a moment", f"tool '{{key}}' {_NOT_IN_TIME}", "see why with: mcpctl servers check {server}",
    ),
    "for_pages": (
        "{tool} is for the page of its server alone, which calls it as the user clicks; do not retry it", _FOR_PAGES,
        "see _meta.ui.visibility in its definition with: mcpctl tools show {key}",
    ),
    "wrong_execute": (_WRONG_EXECUTE, _WRONG_EXECUTE, "call it with that one"),
    "held": (
        "{tool} is held until the user has looked at it: {why}{look}; do not retry it",
        "tool '{key}' is held: {why}", "{look_and_approve}",
    ),
    "denied": ("{tool} is denied by the user's policy; do not retry it", _DENIED_BY, _EXPLAIN),
    "over_limit": (
        "{tool} was not called: the user's policy limits such calls to {most} in {time}; one is free at {free}. Do not"
        " retry it before, and do not do it in another way",
        "tool '{key}' was not called: that would be more than {calls} in {time} ({by}); one is free at {free}",
        _EXPLAIN,
    ),
    "rate_limited": (
        "{tool} was not called: calls are limited to {most} in {time} for each person; try again in {wait}",
        "tool '{key}' was not called: that would be more than {calls} in {time} of one token ({by}); try again in"
        " {wait}",
        _EXPLAIN,
    ),
    "own_login_needed": (
        "{tool} was not called: server '{server}' would act as the account of whoever runs this mcpctl, and not as the"
        " user's own; do not retry it, and tell the user to call it from an mcpctl of their own",
        "tool '{key}' was not called: require_own_login of server '{server}' wants each person's own login",
        "call it through an mcpctl of your own, on stdio",
    ),
    "not_counted": (
        "{tool} was not called: it cannot be told now how often it was, which the user's policy limits; try again in a"
        " moment", "tool '{key}' was not called: {reason}", "see what is wrong: mcpctl doctor",
    ),
    "paused": (
        f"{_STOPPED}. Do not retry it, and do not do it in another way: tell the user, who alone can end the pause, in"
        " a terminal of their own: mcpctl policy resume", _STOPPED, "go on with: mcpctl policy resume",
    ),
    "declined": ("{tool} was not run: the user said no; do not retry it", _YOU_SAID_NO, _EXPLAIN),
    "needs_consent": ("{pending}", _NOBODY_ASKED, _EXPLAIN),
    "never_asked": (
        "{tool} needs the user's consent, which the user's policy never asks for; do not retry it",
        _NOBODY_ASKED, _EXPLAIN,
    ),
}  # fmt: skip
_WITH_APPROVAL = (
    "{pending}", "tool '{key}' was not run: it needs your consent (approval {approval})",
    "answer with: mcpctl approvals allow {approval} (or deny; show has what it would do); then call it again",
)  # fmt: skip
_NO_PROMPT, _NO_RESOURCE = "there is no prompt '{name}'", "there is no resource '{uri}' of any server"
_SEVERAL = "several servers have this URI: {servers}; read mcpctl+{first}:URI"
_OF_FEATURE = {
    "unknown_prompt": (_NO_PROMPT, _NO_PROMPT, "see: mcpctl prompts ls"),
    "unknown_resource": (_NO_RESOURCE, _NO_RESOURCE, "see: mcpctl resources ls"),
    "ambiguous_resource": (_SEVERAL, _SEVERAL, "read one with: mcpctl resources read {of_first}"),
}
_KINDS: Mapping[str, type[McpctlError]] = {
    "unknown_tool": NotFound, "server_unusable": Unusable, "unknown_prompt": NotFound, "unknown_resource": NotFound,
    "ambiguous_resource": WrongUsage,
}  # fmt: skip
_WHY = {
    "no_token": "nothing can be found or called without a token",
    "token_not_valid": "the token in use is not valid; it may have expired, or have been revoked",
    "token_read_only": "the token in use only permits tools that read",
}

DENIED = frozenset(_OF_TOOL) - {"unknown_tool", "server_unusable"} | {"not_in_project"}
OF_CONSENT = frozenset(("needs_consent", "declined"))  # recorded when they are made
DECISIONS = DENIED - OF_CONSENT  # codes of refusals that are recorded when the call is refused
OF_FEATURE = frozenset(_OF_FEATURE)  # codes of prompts and resources that cannot be had, or that several servers have
OF_VIEW = frozenset((*_WHY, "paused"))  # the codes of refusals that are not about one server or tool


def for_model(failure: Failure, *, call: str = "") -> str:
    """The sentence for a model: our own words alone, and its next step; `call` is the start of the call's id."""
    if refusal := _refusal(failure):
        return refusal[0]
    if failure.code == "interrupted":
        effect = "the call may have taken effect" if failure.was_sent else "the call was not sent"
        return f"the session is ending before the tool has answered; {effect}"
    see = ""
    if failure.said:
        see = f"calls show {call}" if failure.was_sent and call else f"servers check {failure.facts.get('server')}"
        see = f". The user can see why with: mcpctl {see}"
    return f"{_outcome(failure)}{_sent(failure)}{see}"


def for_person(failure: Failure, see: str = "mcpctl calls show last") -> McpctlError:
    """The error for a person or the record, with the server's own words; `see` is the command to look with else."""
    facts = failure.facts
    if refusal := _refusal(failure):
        return refusal[1]
    if failure.code == "interrupted":
        return UpstreamFailed(for_model(failure), "call it again", failure.code)
    if failure.code == "needs_login" and "server" in facts:
        what, command = _login(facts)
        return UpstreamFailed(f"{what}{failure.said}", f"log in with: {command}", failure.code)
    has_more = failure.said and "logs_of" in facts
    hint = f"see all that it wrote with: mcpctl servers logs {facts['logs_of']}" if has_more else f"see: {see}"
    return UpstreamFailed(f"{_outcome(failure)}{failure.said}{_sent(failure)}", hint, failure.code)


def in_brief(failure: Failure) -> str:
    """Why a server failed, in one clause that is read later: it does not say when the server is tried again."""
    if failure.code == "needs_login" and "server" in failure.facts:
        return ": ".join(_login(failure.facts))
    return f"{_what(failure)}{failure.said}"


def why_unlisted(error: Exception) -> str:
    return in_brief(error.failure) if isinstance(error, Failed) else str(error)


def named(key: str) -> str:
    """A tool in our sentences: a name that is a sentence itself is left out."""
    return f"tool '{key}'" if is_plain(key) else "this resource" if is_feature(split(key)[1]) else "this tool"


def _refusal(failure: Failure) -> tuple[str, McpctlError] | None:
    code, facts = failure.code, failure.facts
    if code == "not_in_project":
        error: McpctlError = facts["view"].config.not_in_project(facts["server"])
        return f"{error.message}; do not retry it", error
    if code in _OF_FEATURE:
        templates, values = _OF_FEATURE[code], _feature_values(facts)
    elif code in _OF_TOOL:
        has_approval = code == "needs_consent" and facts.get("approval")
        templates, values = _WITH_APPROVAL if has_approval else _OF_TOOL[code], _values(failure)
    elif facts.get("of_arguments") and "key" in facts:
        from mcpctl.policy import argument_words  # most calls are not refused

        return argument_words.refusal(failure)
    else:
        return None
    model, person, hint = (template.format_map(values) for template in templates)
    return model, _KINDS.get(code, Refused)(person, hint, "tool_not_found" if code == "unknown_tool" else code)


def _feature_values(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    servers, uri = facts.get("servers", ("",)), facts.get("uri", "")
    return {
        "name": escaped(_shown(facts.get("name", ""))), "uri": escaped(_shown(uri)), "servers": ", ".join(servers),
        "first": servers[0], "of_first": shlex.quote(escaped(f"mcpctl+{servers[0]}:{uri}")),
    }  # fmt: skip


def _values(failure: Failure) -> Mapping[str, Any]:
    """The facts of a refused call, and the parts of sentences that depend on them."""
    facts = failure.facts
    more = _MORE[failure.code](facts) if failure.code in _MORE else {}
    return {
        "why": _WHY.get(failure.code), **facts, "tool": named(facts["key"]), "key": _shown(facts["key"]),
        "by": _rule_by(failure), "path": facts["view"].config.path, **more,
    }  # fmt: skip


def _of_unknown(facts: Mapping[str, Any]) -> Mapping[str, str]:
    near, tool = _near(facts), named(facts["key"]) if is_plain(facts["key"]) else "such tool"
    servers = ", ".join(list(facts["view"].config.enabled)[:_MAX_SERVERS]) or "none"
    look = f"Tool keys have the form server:tool; the servers are: {servers}. Search with tool_discovery"
    return {
        "look": "List the tools again" if facts.get("is_direct") else look,
        "near_or_end": f"{tool}: {near}" if near else f"{tool}.",
        "near_or_list": near or f"see: mcpctl tools ls --server {facts['server']}",
    }


def _of_barred(facts: Mapping[str, Any]) -> Mapping[str, str]:
    barring, server, config = facts["barring"], facts["server"], facts["view"].config
    if barring.is_of_one_tool:
        return {"but_others": "", "entry": f"[servers.{server}.tools] in {config.path}"}
    line = config.line_of(barring.table, barring.key)
    place = f"{config.path}, line {line}" if line else config.path
    return {"but_others": f": only others of server '{server}' are", "entry": f"only of [servers.{server}] in {place}"}


def _of_left_out(facts: Mapping[str, Any]) -> Mapping[str, str]:
    toolset, project = facts["view"].toolset, facts["view"].project
    return {
        "toolset": toolset.name, "problem": f" ({toolset.problem})" if toolset.problem else "",
        "near_or_stop": _near(facts) or "do not retry it", "project": f" --project {project}" if project else "",
    }  # fmt: skip


def _of_held(facts: Mapping[str, Any]) -> Mapping[str, str]:
    why, key = facts["held"], _shown(facts["key"])
    if why == NOT_LOCKED:
        look, approve = "", "see what differs with: mcpctl tools diff --lock FILE"
    else:
        look = "; the user can look with: mcpctl tools diff"
        approve = f"look at it with: mcpctl tools diff {key}; then: mcpctl tools approve {key}"
    return {"why": HELD[why], "look": look, "look_and_approve": approve}


def _of_waiting(facts: Mapping[str, Any]) -> Mapping[str, str]:
    key = facts["key"] if is_plain(facts["key"]) else named(facts["key"])
    what = f"not run yet: {key} {MAY[facts['risk']]} and needs the user's consent"
    if "approval" not in facts:
        return {"pending": what}
    id_, until = facts["approval"], facts["until"]
    where = f", or in the dashboard at {facts['dashboard']}approvals" if facts.get("dashboard") else ""
    pending = (
        f"{what} (approval {id_}, which can be answered until {until}).\n"
        f"Ask the user to answer in a terminal of their own: mcpctl approvals show {id_}{where}. Do not run that"
        " command yourself, and do not call another tool instead.\n"
        "When the user says it is approved, call the tool again with the same arguments."
    )
    return {"pending": pending}


_MORE: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, str]]] = {
    "unknown_tool": _of_unknown, "not_permitted": _of_barred, "not_in_toolset": _of_left_out, "held": _of_held,
    "needs_consent": _of_waiting,
}  # fmt: skip


def _near(facts: Mapping[str, Any]) -> str:
    names = " or ".join(facts.get("near", ()))
    return f"did you mean {names}?" if names else ""


def _outcome(failure: Failure) -> str:
    what, facts = _what(failure), failure.facts
    return f"{what}; it is tried again in {facts['retry_s']} s" if "retry_s" in facts else what


def _login(facts: Mapping[str, Any]) -> tuple[str, str]:
    more = " with more rights" if "scopes" in facts else ""
    scopes = "".join(f" --scope {scope}" for scope in facts.get("scopes", ()))
    return f"server '{facts['server']}' needs a login{more}", f"mcpctl servers login {facts['server']}{scopes}"


def _what(failure: Failure) -> str:
    facts = failure.facts
    if failure.code == "needs_login" and "server" in facts:
        return ": the user can log in with: ".join(_login(facts))
    parts = (f"server '{facts['server']}'" if "server" in facts else "", facts.get("did", ""))
    return ": ".join(filter(None, (" ".join(filter(None, parts)), facts.get("reason", ""))))


def _sent(failure: Failure) -> str:
    if failure.was_sent and failure.code in _EFFECT_UNKNOWN:
        return ". The call was sent and may have taken effect; it was not sent again"
    return ""


def _rule_by(failure: Failure) -> str:
    ruling, view = failure.facts.get("ruling"), failure.facts["view"]
    return ", ".join(filter(None, rule_of(ruling, view.config))) if ruling else failure.code


def hold_rule(why: str, config: Config) -> tuple[str, str]:
    """The setting by which a tool is held for this reason, one of `models.HOLDS`, and where it is written."""
    if why == NOT_LOCKED:
        return "locked", ""
    name = "checks" if why == SUSPICIOUS else "on_change"
    line = config.line_of(("policy",), name)
    return f"{name} {getattr(config.policy.table, name)}", f"{config.path.name}:{line}" if line else ""


@lru_cache(maxsize=256)
def rule_of(ruling: Ruling, config: Config) -> tuple[str, str]:
    """The rule and where it is written; one that nobody has written is built in."""
    rule = ruling.rule
    if rule is None:
        tables = (("projects", config.project or "", "policy"), ("policy",))
        line = next((line for table in tables if (line := config.line_of(table, "default"))), None)
        return f"default {ruling.effect}", f"{config.path.name}:{line}" if line else ""
    if rule.file:
        return rule.label, f"{rule.file}: {'.'.join(rule.table)}.{rule.key}[{rule.item}]"
    line = config.line_of(rule.table, rule.key, rule.item)
    is_written = line or rule.item is not None or rule.rate or rule.is_of_one_tool or rule.key == ONLY
    name = config.path.name
    return rule.label, f"{name}:{line}" if line else name if is_written else BUILT_IN


def _shown(key: str) -> str:
    """A key, cut if it is longer than any tool's."""
    return key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"
