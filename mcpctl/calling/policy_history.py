"""The policy as it is now, replayed over the calls and reads on record: decided once for each tool and project."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from mcpctl.base import feature_names
from mcpctl.base.callers import Claims
from mcpctl.base.errors import NotFound
from mcpctl.base.feature_names import PROMPTS, RESOURCES
from mcpctl.base.models import HISTORY_FIELDS, Row, Tool
from mcpctl.base.texts import counted
from mcpctl.base.tool_keys import OWN, join
from mcpctl.catalog import explained
from mcpctl.catalog.cache import Catalog
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import ASK as ASK_RULE
from mcpctl.config.policy_settings import LIMIT, PolicyRule
from mcpctl.config.server_settings import is_of_api
from mcpctl.metatools import own_tool
from mcpctl.policy import words
from mcpctl.policy.decide import CURRENT, READ, Subject, Verdict, decide
from mcpctl.policy.rules import Ruling
from mcpctl.policy.view import Standing, View, seen_by
from mcpctl.store.history import Called, History

RUN, ASK, REFUSE = "run", "ask", "refuse"
_DECISIONS = {"allow": RUN, "ask": ASK}
_KINDS = {"prompt": PROMPTS, "resource": RESOURCES}
_NAMED = 5
_YES = "you have said yes, always"
Opened = Callable[[str | None], AbstractContextManager[Catalog]]  # gives the catalog of a project, or of all servers
_Of = tuple[str, str, str | None, bool]  # as `History.moments` has it


class _Outcome(NamedTuple):
    key: str
    decision: str
    rule: str
    place: str
    listed: bool | None


@dataclass
class PolicyReplay:
    """How often each outcome would have come about, and in how many sessions."""

    times: Counter[_Outcome] = field(default_factory=Counter)
    sessions: Counter[_Outcome] = field(default_factory=Counter)
    calls: int = 0
    reads: int = 0
    gone: set[str] = field(default_factory=set)  # projects that are not in the configuration any more
    strange: Counter[str] = field(default_factory=Counter)  # what there never was: no rule decided on it

    def add(self, outcome: _Outcome, times: int, sessions: int = 0) -> None:
        if times:
            self.times[outcome] += times
            self.sessions[outcome] += sessions

    @property
    def rows(self) -> Sequence[Row]:
        """Questions first, then refusals, each with the most first."""
        order = (ASK, REFUSE, RUN)
        ordered = sorted(self.times.items(), key=lambda each: (order.index(each[0].decision), -each[1], each[0][:3]))
        values = (
            (it.key, it.decision, times, self.sessions[it] or None, it.rule, it.place or None, it.listed)
            for it, times in ordered
        )
        return [dict(zip(HISTORY_FIELDS, row, strict=True)) for row in values]

    def count(self, decision: str) -> int:
        return sum(times for outcome, times in self.times.items() if outcome.decision == decision)

    @property
    def unlisted(self) -> str:
        """The tools that no server lists now, with the calls that were of them."""
        calls = Counter[str]()
        for outcome, times in self.times.items():
            if outcome.listed is False:
                calls[outcome.key] += times
        return _most(calls)

    @property
    def left_out(self) -> str:
        """The names of what never was there, with how often each was asked for."""
        return _most(self.strange)

    @property
    def told(self) -> str:
        asked = Counter[str]()
        for outcome, times in self.times.items():
            asked[outcome.key] += times if outcome.decision == ASK else 0
        (most, number), *_ = asked.most_common(1) or [("", 0)]
        of_most = f", {number:,} of them {most}" if number else ""
        sessions = sum(number for outcome, number in self.sessions.items() if outcome.decision == ASK)
        fewer = f" ({sessions:,} with a yes for the session each time)" if number else ""
        rest = f"refused {self.count(REFUSE):,}, and run {self.count(RUN):,}"
        reads = f" and {counted(self.reads, 'read')}" if self.reads else ""
        asks = counted(self.count(ASK), "time")
        return f"would have asked {asks}{of_most}{fewer}; {rest}: {counted(self.calls, 'call')}{reads}"


def _most(counts: Counter[str]) -> str:
    shown = [f"{key} ({number:,})" for key, number in counts.most_common(_NAMED)]
    more = [f"{len(counts) - _NAMED:,} more"] if len(counts) > _NAMED else []
    return ", ".join([*shown, *more])


class _Deciding:
    """Decisions by what is in force for each project, which is opened once."""

    def __init__(self, opened: Opened, standing: Standing, stack: ExitStack) -> None:
        self._opened = opened
        self._standing = Standing(standing.grants)
        self._stack = stack
        self._catalogs: dict[str | None, Catalog | None] = {}
        self._views: dict[tuple[str | None, bool], View] = {}
        self.gone: set[str] = set()

    def catalog(self, project: str | None) -> Catalog:
        """The catalog of a project; of none, where that is gone."""
        if project not in self._catalogs:
            try:
                self._catalogs[project] = self._stack.enter_context(self._opened(project))
            except NotFound:
                if project is None:
                    raise
                self.gone.add(project)
                self._catalogs[project] = None
        return self._catalogs[project] or self.catalog(None)

    def view(self, project: str | None, *, is_command: bool) -> View:
        if (project, is_command) not in self._views:
            view = self.catalog(project).view
            config = seen_by(view.config, Claims(of_person=is_command))
            self._views[project, is_command] = replace(view, config=config, standing=self._standing)
        return self._views[project, is_command]

    def of_call(self, called: Called) -> Verdict:
        view = self.view(called.project, is_command=called.is_command)
        return decide(explained.subject_of(view, called.server, called.tool, self.tool(called)))

    def is_listed(self, called: Called) -> bool:
        return called.server == OWN or self.catalog(called.project).find(called.server, called.tool) is not None

    def tool(self, called: Called) -> Tool:
        """The tool as it is listed; of one that is not, as it was when it was called."""
        if called.server == OWN:
            return own_tool.TOOL
        if tool := self.catalog(called.project).find(called.server, called.tool):
            return tool
        if is_of_api(self.catalog(called.project).config.fingerprints.get(called.server, "")):
            return Tool(called.server, called.tool, {"name": called.tool}, "{}", inferred=dict(called.hints))
        definition = {"name": called.tool, "annotations": dict(called.hints)}
        return Tool(called.server, called.tool, definition, msgspec.json.encode(definition).decode())

    def of_read(self, server: str, name: str, project: str | None, *, is_command: bool) -> Verdict:
        listed, view = self.catalog(project).listed(server), self.view(project, is_command=is_command)
        tools = listed.tools if listed else ()
        shown = [view.toolset.shown(tool) for tool in tools] if view.toolset else tools
        return decide(Subject(READ, server, name, None, view, listing=CURRENT, tools=shown))


def replayed(history: History, opened: Opened, standing: Standing) -> PolicyReplay:
    replay = PolicyReplay()
    with ExitStack() as stack:
        deciding = _Deciding(opened, standing, stack)
        groups = list(history.calls())
        limited = _Limited(history, deciding, groups)
        for called in groups:
            _add(replay, deciding, called, limited.over(called))
        for server, kind, name, project, is_command, times in history.reads():
            feature = feature_names.join(_KINDS.get(kind, kind), name)
            if server is None:
                replay.strange[feature] += times
                continue
            replay.reads += times
            verdict = deciding.of_read(server, feature, project, is_command=is_command)
            config = deciding.view(project, is_command=is_command).config
            replay.add(_outcome(join(server, feature), verdict, config, listed=None), times)
        replay.gone = deciding.gone
    return replay


def _add(replay: PolicyReplay, deciding: _Deciding, called: Called, over: Mapping[PolicyRule, int]) -> None:
    key, is_listed = join(called.server, called.tool), deciding.is_listed(called)
    unknown = 0 if is_listed else called.unknown  # it never was there
    replay.strange += Counter({key: unknown})
    replay.calls += called.calls - unknown
    config = deciding.view(called.project, is_command=called.is_command).config
    outcome = _outcome(key, deciding.of_call(called), config, listed=is_listed)
    for rule, times in over.items():
        place = words.rule_of(Ruling(LIMIT, rule), config)
        replay.add(_Outcome(key, REFUSE, *place, is_listed), times)
    left = called.calls - unknown - sum(over.values())
    replay.add(outcome, left, called.sessions if outcome.decision == ASK else 0)


def _outcome(key: str, verdict: Verdict, config: Config, *, listed: bool | None) -> _Outcome:
    decision = _DECISIONS.get(explained.decision_of(verdict), REFUSE)
    ruling = verdict.ruling or (verdict.failure.facts.get("ruling") if verdict.failure else None)
    if ruling is None:
        rule = verdict.failure.code if verdict.failure else "" if config.policy.is_on else "the policy is off"
        return _Outcome(key, decision, rule, "", listed)
    rule, place = words.rule_of(ruling, config)
    if ruling.effect == ASK_RULE and decision == RUN:
        rule = f"{rule}: {_YES}"
    return _Outcome(key, decision, rule, place, listed)


class _Limited:
    """The calls that limits would have refused: in their order, as if each other had been sent at once."""

    def __init__(self, history: History, deciding: _Deciding, groups: Iterable[Called]) -> None:
        self._over: dict[_Of, Counter[PolicyRule]] = defaultdict(Counter)
        limits = {_of(called): found for called in groups if (found := deciding.of_call(called).limits)}
        if not limits:
            return
        sent: dict[tuple[str, str], deque[float]] = defaultdict(deque)
        for at, of in history.moments({of[:2] for of in limits}):
            if rules := limits.get(of, ()):
                full = [rule for rule in rules if _is_full(rule, sent[rule.scope, rule.pattern], at)]
                if full:
                    self._over[of][full[0]] += 1
                for rule in rules if not full else ():
                    sent[rule.scope, rule.pattern].append(at)

    def over(self, called: Called) -> Mapping[PolicyRule, int]:
        return self._over.get(_of(called), {})


def _of(called: Called) -> _Of:
    return called.server, called.tool, called.project, called.is_command


def _is_full(rule: PolicyRule, sent: deque[float], at: float) -> bool:
    if rule.rate is None:
        return False
    while sent and sent[0] <= at - rule.rate.window_s:
        sent.popleft()
    return len(sent) >= rule.rate.most
