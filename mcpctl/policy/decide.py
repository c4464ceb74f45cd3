"""The one place that decides whether a tool may be found, shown, called, resumed, annotated or completed, and a prompt
or resource read. Pure: nothing is read, asked or waited for here. A caller that needs to know more gets it, and asks
again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mcpctl.base import definitions, feature_names, hints
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import OWN, READ_TOOL
from mcpctl.config.policy_settings import ASK as ASK_RULE
from mcpctl.config.policy_settings import DENY, PolicyRule
from mcpctl.policy.approvals import Grant, binding_of
from mcpctl.policy.holding import NOT_LOCKED
from mcpctl.policy.rules import Ruling
from mcpctl.policy.view import View

FIND, SHOW, CALL, RESUME, ANNOTATE, COMPLETE = "find", "show", "call", "resume", "annotate", "complete"
READ = "read"  # a prompt, resource or template is listed, got or read; `feature_names.join` gives its name
FETCH = "fetch"  # a model reads a resource by itself, as if it called a tool. `READ` says whether it is there at all.
KEPT, CURRENT, ANEW, UNAVAILABLE = "kept", "current", "anew", "unavailable"  # how fresh a list is
ALLOW, REFUSE, LIST, ASK, COUNT = "allow", "refuse", "list", "ask", "count"
_CALLS = (CALL, RESUME)
_ASKED = (*_CALLS, FETCH)
_WHATEVER_IS_BARRED = (SHOW, READ, FETCH)  # tools are barred by name: to look at one, and features, are not
_PAUSED = (*_ASKED, ANNOTATE, COMPLETE)  # lists stay as they are, so that no client takes them for changed


class Subject(NamedTuple):
    verb: str
    server: str
    name: str
    tool: Tool | None  # None where the server has not listed it
    view: View
    execute_class: str | None = None  # the only class, of `hints.PERMISSIONS`, that the meta-tool calls; None for any
    arguments_digest: str = ""  # a `consent.digest_of`; empty where nobody was asked
    listing: str = KEPT
    session: str = ""
    consent: str | None = None  # the `approvals.binding_of` that the user said yes to
    tools: Sequence[Tool] = ()
    is_direct: bool = False  # by a name of the tool's own: its client knows what is for models, and what for pages
    is_counted: bool = False  # whether the call has its place within the limits on calls like it

    @property
    def key(self) -> str:
        return f"{self.server}:{self.name}" if self.name else self.server

    @property
    def pin(self) -> str:
        """Changes whenever the tool's contract does; empty where that is not known."""
        return definitions.pin_of(self.tool) if self.tool else ""

    @property
    def grant(self) -> Grant:
        """The yes that would apply to this call, and to others of the tool, in this session."""
        return Grant(self.key, self.pin, self.view.project or "", self.view.token_id, self.session)

    @property
    def binding(self) -> str:
        return binding_of(self.grant, self.arguments_digest)


class Verdict(NamedTuple):
    """`list`: the server's own list decides, so get it first; `ask`: the user's consent decides; `count`: it may be
    called, within `limits` that have to be asked first."""

    outcome: str
    failure: Failure | None = None  # where a policy only records, why it would be refused
    ruling: Ruling | None = None
    limits: Sequence[PolicyRule] = ()


_ALLOWED = Verdict(ALLOW)
_LIST_FIRST = Verdict(LIST)


def decide(subject: Subject) -> Verdict:
    """The verdict on one subject. A refusal's code is one of `no_token`, `token_not_valid`, `token_read_only`,
    `unknown_tool`, `not_in_project`, `server_unusable`, `server_disabled`, `not_permitted`, `not_in_toolset`,
    `not_listed`, `for_pages` (a model calls what is for the page of an MCP App alone), `wrong_execute`, `held`,
    `denied`, `own_login_needed`, `not_exposed` (of features), `never_asked` (a call that needs a yes where nobody is to
    be asked), and `paused`."""
    view = subject.view
    # First: nothing else is revealed then.
    if (view.access.is_barred or view.standing.pause) and (failure := _of_view(subject)):
        return Verdict(REFUSE, failure)
    if subject.server == OWN:
        return _of_own(subject)
    if failure := _of_server(subject) or (None if subject.verb in _WHATEVER_IS_BARRED else _of_name(subject)):
        return Verdict(REFUSE, failure)
    if subject.verb in (READ, FETCH):
        return _of_feature(subject) if subject.verb == READ else _of_policy(subject)
    if subject.verb in _CALLS:
        return _of_call(subject)
    if subject.tool is None and not _is_named(subject):
        return Verdict(REFUSE, refusal_of(subject, "unknown_tool"))
    if subject.verb == SHOW:
        return _ALLOWED
    if _is_left_out(subject):
        return Verdict(REFUSE, refusal_of(subject, "not_in_toolset"))
    if subject.verb == FIND and subject.tool and "_meta" in subject.tool.definition and _is_for_pages_alone(subject):
        return Verdict(REFUSE, refusal_of(subject, "for_pages"))
    return _of_policy(subject)


def _acts_for_many(subject: Subject) -> bool:
    """Whether it would be done as the one account of a process with many clients."""
    caller = subject.view.caller
    return caller is not None and bool(caller.holder) and subject.verb in (*_ASKED, READ, COMPLETE)


def _of_view(subject: Subject) -> Failure | None:
    access, pause = subject.view.access, subject.view.standing.pause
    if access.is_barred:
        return refusal_of(subject, access.problem)
    return refusal_of(subject, "paused", pause=pause) if pause and subject.verb in _PAUSED else None


def admitted(view: View) -> View:
    """Raises `Failed` for a view in which nothing can be had."""
    if (view.access.problem or view.standing.pause) and (failure := _of_view(Subject(CALL, "", "", None, view))):
        raise Failed(failure)
    return view


def _of_server(subject: Subject) -> Failure | None:
    config, server, token = subject.view.config, subject.server, subject.view.access.token
    if server in config.enabled:
        is_barred = config.servers[server].require_own_login and _acts_for_many(subject)
        return refusal_of(subject, "own_login_needed") if is_barred else None
    # A server that a token does not reach looks like one that is not there.
    is_there = server in config.servers or server in config.problems
    if server in config.elsewhere or (token and (token.projects or token.servers) and not is_there):
        return refusal_of(subject, "not_in_project")
    if server in config.problems:
        return refusal_of(subject, "server_unusable", reason=config.problems[server])
    return refusal_of(subject, "server_disabled" if server in config.servers else "unknown_tool")


def _of_own(subject: Subject) -> Verdict:
    """The tool of our own is in every project and toolset, and nowhere found."""
    if subject.tool is None or subject.verb not in _CALLS:
        return Verdict(REFUSE, refusal_of(subject, "unknown_tool"))
    return _of_class(subject) or _of_policy(subject)


def _of_name(subject: Subject) -> Failure | None:
    if not subject.view.config.servers[subject.server].bars_tools:
        return None
    barring = subject.view.rules.barring(subject.server, subject.name)
    return refusal_of(subject, "not_permitted", barring=barring) if barring else None


def _is_named(subject: Subject) -> bool:
    """Whether notes may be added to a tool that is not listed: the toolset names it, and its server refuses no tool."""
    toolset = subject.view.toolset
    is_named = toolset is not None and toolset.holds(_unlisted(subject))
    return subject.verb == ANNOTATE and is_named and not subject.view.config.servers[subject.server].bars_tools


def _unlisted(subject: Subject) -> Tool:
    return Tool(subject.server, subject.name, {}, "{}")


def _of_call(subject: Subject) -> Verdict:
    view, toolset = subject.view, subject.view.toolset
    if toolset and not toolset.may_hold(subject.server, subject.name):
        return Verdict(REFUSE, refusal_of(subject, "not_in_toolset"))
    if subject.tool is None and (ruling := _denied_by_name(subject)):
        return Verdict(REFUSE, refusal_of(subject, "denied", ruling=ruling), ruling)
    # Where hints decide, they are those of the connection that the call goes to.
    hints_decide = subject.execute_class or view.config.policy.is_on or view.access.only_reads
    if subject.listing == KEPT and (hints_decide or view.is_locked):
        return _LIST_FIRST
    if subject.tool is None and subject.listing in (KEPT, CURRENT):
        return _LIST_FIRST  # it may be new
    if subject.tool is None and subject.listing == ANEW:
        return Verdict(REFUSE, refusal_of(subject, "unknown_tool"))
    must_be_listed = subject.execute_class or view.config.policy.enforces or view.is_locked
    has_refused = subject.tool is None and view.config.servers[subject.server].bars_tools
    if subject.listing == UNAVAILABLE and (must_be_listed or has_refused):
        # Its server runs but does not say what it has: what cannot be told from a refused tool is refused.
        return Verdict(REFUSE, refusal_of(subject, "not_listed"))
    if _is_left_out(subject):
        return Verdict(REFUSE, refusal_of(subject, "not_in_toolset"))
    if subject.tool and "_meta" in subject.tool.definition and _is_for_pages_alone(subject):
        return Verdict(REFUSE, refusal_of(subject, "for_pages"))
    return _of_class(subject) or _of_policy(subject)


def _is_for_pages_alone(subject: Subject) -> bool:
    """Whether a model would find or call what only the page of an MCP App may."""
    caller = subject.view.caller
    is_model = caller is not None and not caller.claims.of_person and not subject.is_direct
    return is_model and subject.tool is not None and not subject.tool.is_for_models


def _denied_by_name(subject: Subject) -> Ruling | None:
    """A rule that names a tool needs no list to deny it."""
    if not subject.view.config.policy.enforces:
        return None
    ruling = subject.view.rules.ruling(subject.server, subject.name, None)
    is_named = ruling.rule is not None and not ruling.rule.pattern.startswith("@")
    return ruling if is_named and ruling.effect == DENY else None


def _of_policy(subject: Subject) -> Verdict:
    """A policy that is only recorded refuses and asks nothing."""
    policy, tool = subject.view.config.policy, subject.tool
    if tool and tool.held == NOT_LOCKED:
        return Verdict(REFUSE, refusal_of(subject, "held", held=tool.held))
    if failure := _of_token(subject):
        return Verdict(REFUSE if subject.view.access.binds else ALLOW, failure)
    if not policy.is_on:
        return _ALLOWED
    verdict = _of_rules(subject)
    if not policy.enforces:
        verdict = verdict._replace(outcome=ALLOW)
    return _limited(subject, verdict) if policy.limits and not subject.is_counted else verdict


def _limited(subject: Subject, verdict: Verdict) -> Verdict:
    """A verdict by which it may be called, now or after a yes, with the limits on that."""
    if subject.verb not in _CALLS or verdict.outcome not in (ALLOW, ASK):
        return verdict
    limits = subject.view.rules.limits(subject.server, subject.name, subject.tool)
    return verdict._replace(outcome=COUNT if limits and verdict.outcome == ALLOW else verdict.outcome, limits=limits)


def _of_token(subject: Subject) -> Failure | None:
    access = subject.view.access
    if access.problem:
        return refusal_of(subject, access.problem)
    if not access.only_reads:
        return None
    only_reads = subject.verb != ANNOTATE and subject.view.rules.risk(subject.server, subject.tool) == hints.RISKS[0]
    return None if only_reads else refusal_of(subject, "token_read_only")


def _of_rules(subject: Subject) -> Verdict:
    view, tool = subject.view, subject.tool
    if tool and tool.held:
        return Verdict(REFUSE, refusal_of(subject, "held", held=tool.held))
    is_fetched = subject.verb == FETCH
    ruling = _ruling_of_fetched(subject) if is_fetched else view.rules.ruling(subject.server, subject.name, tool)
    if subject.verb == COMPLETE and ruling.rule and ruling.rule.pattern.startswith("@"):
        return _ALLOWED  # nothing is known there of what a tool declares
    if ruling.effect == DENY:
        return Verdict(REFUSE, refusal_of(subject, "denied", ruling=ruling), ruling)
    if ruling.effect != ASK_RULE or subject.verb not in _ASKED or _has_consent(subject):
        return Verdict(ALLOW, None, ruling)
    code = "never_asked" if view.config.policy.table.confirm == "never" else "needs_consent"
    failure = refusal_of(subject, code, ruling=ruling, risk=view.rules.risk(subject.server, tool))
    return Verdict(REFUSE if code == "never_asked" else ASK, failure, ruling)


def _ruling_of_fetched(subject: Subject) -> Ruling:
    """The strictest of the rulings on the tool that a model reads with, and on a tool like the resource. Where each
    tool of the server needs a yes, so does the resource, unless a rule names it."""
    view, rules = subject.view, subject.view.rules
    own = rules.ruling(subject.server, subject.name, subject.tool)
    rulings = [rules.ruling(OWN, READ_TOOL, None), own]
    if own.rule is None or own.rule.pattern.startswith("@"):
        seen = (replace(tool, held="") for tool in subject.tools)
        tools = (tool for tool in seen if decide(Subject(FIND, tool.server, tool.name, tool, view)).outcome == ALLOW)
        of_tools = [rules.ruling(tool.server, tool.name, tool) for tool in tools]
        rulings += of_tools[:1] if all(ruling.effect == ASK_RULE for ruling in of_tools) else []
    strict = (ruling for effect in (DENY, ASK_RULE) for ruling in rulings if ruling.effect == effect)
    return next(strict, own)


def _has_consent(subject: Subject) -> bool:
    """A yes to this call, or to all calls of its tool as it is now."""
    grants = subject.view.standing.grants
    may_hold = subject.view.config.policy.table.confirm == "session"
    if grants and may_hold and (subject.grant in grants or subject.grant._replace(session="") in grants):
        return True
    return subject.consent is not None and subject.consent == subject.binding


def _of_feature(subject: Subject) -> Verdict:
    view, tool = subject.view, subject.tool
    kind, _ = feature_names.split(subject.name)
    if feature_names.EXPOSED_AS.get(kind) not in view.config.exposes(subject.server):
        return Verdict(REFUSE, refusal_of(subject, "not_exposed"))
    if view.is_locked:
        return Verdict(REFUSE, refusal_of(subject, "held", held=NOT_LOCKED))
    if tool and tool.held and view.config.policy.enforces:
        return Verdict(REFUSE, refusal_of(subject, "held", held=tool.held))
    return _ALLOWED if tool else _of_its_tools(subject)


def _of_its_tools(subject: Subject) -> Verdict:
    """Features are there where any tool of their server may be found; held tools do not count against them."""
    view, server, refused = subject.view, subject.server, None
    for tool in subject.tools:
        let_go = replace(tool, held="") if tool.held else tool
        verdict = decide(Subject(FIND, server, tool.name, let_go, view, is_direct=True))
        if verdict.outcome == ALLOW:
            return _ALLOWED
        refused = refused or verdict
    if refused:
        return refused
    if view.toolset and not view.toolset.names_server(server):
        return Verdict(REFUSE, refusal_of(subject, "not_in_toolset"))
    if view.config.servers[server].only == []:
        return Verdict(REFUSE, refusal_of(subject, "not_permitted", barring=view.rules.barring(server, "")))
    return _of_all_rules(subject) if view.config.policy.enforces else _ALLOWED


def _of_all_rules(subject: Subject) -> Verdict:
    """The verdict of the rules on all that a server has: those that match a tool without a name."""
    view = subject.view
    rule = view.rules.first_by_name(subject.server, "")
    ruling = Ruling(rule.effect if rule else view.config.policy.table.default, rule)
    is_denied = ruling.effect == DENY
    return Verdict(REFUSE, refusal_of(subject, "denied", ruling=ruling), ruling) if is_denied else _ALLOWED


def _is_left_out(subject: Subject) -> bool:
    toolset = subject.view.toolset
    return toolset is not None and not toolset.holds(subject.tool or _unlisted(subject))


def _of_class(subject: Subject) -> Verdict | None:
    if subject.execute_class and subject.tool:
        needed = subject.view.rules.permission(subject.tool)
        if needed != subject.execute_class:
            return Verdict(REFUSE, refusal_of(subject, "wrong_execute", needed=needed, used=subject.execute_class))
    return None


def refusal_of(subject: Subject, code: str, **facts: Any) -> Failure:
    about = {"key": subject.key, "server": subject.server, "view": subject.view, "is_listed": subject.tool is not None}
    return Failure(code, {**about, **facts})


def may_read_on(server: str, name: str, view: View) -> bool:
    """Whether an earlier answer may still be read: not once a rule names the tool. Rules for classes do not matter."""
    is_there = server in view.config.enabled and not view.rules.barring(server, name)
    return is_there and not (view.config.policy.enforces and view.rules.denies_by_name(server, name))


def may_introduce(server: str, held: str, view: View) -> bool:
    """Whether a model may be told a server's instructions, which are `held` or not as its tools are."""
    if view.access.is_barred or server not in view.config.enabled or held == NOT_LOCKED:
        return False
    return not (view.config.policy.enforces and (held or view.rules.denies_by_name(server, "*")))  # of all its tools
