"""The table `[policy]` as it is written, with its rules: checked here, while nothing is decided."""

import itertools
import re
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec import Struct

from mcpctl.base.near_names import did_you_mean
from mcpctl.base.tool_keys import OWN
from mcpctl.config.toml import Section

MODES = ("enforce", "record", "off")
DENY, ASK, ALLOW = "deny", "ask", "allow"
LIMIT = "limit"  # the table of how often tools may be called
RATE_KEY = "rate"  # how often one token may call them, counted in memory
HOLD, WARN = "hold", "warn"
ONLY = "only"  # the key of a server's entry that lists the only tools of it that are offered
CLASSES = ("@read-only", "@changing", "@destructive", "@not-declared", "@open-world")  # in place of keys
_ONE_OF = {
    "mode": MODES,
    "default": (ALLOW, ASK, DENY),
    "confirm": ("session", "always", "never"),
}
TRUSTS = ("yes", "pinned", "no")  # declared hints that may loosen: all, those of approved definitions, or none
_BRACES = re.compile(r"(\{[^{}]*,[^{}]*\})")
_BRACKETS = re.compile(r"\[[^\[\]]+\]")
_ARGUMENTS = re.compile(r"([^()]+:[^()]+)\([^()]*\)\Z")
_FLAT = re.compile(r"mcp__(.+?)(?:__(.+))?\Z", re.DOTALL)  # a rule as Claude Code and others write it
RATE = re.compile(r"([1-9]\d{0,8}) ?/ ?([1-9]\d{0,4})?(min|[smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_MOST_CALLS, _LONGEST_S = 10_000, 366 * 86_400  # each call within that time is kept
_NAMED = 4
GLOB = re.compile(rf"(?:[A-Za-z0-9_*?-]+|{OWN}):.+|\*\Z", re.DOTALL)


class Rate(NamedTuple):
    """So many calls in any stretch of that time."""

    most: int
    window_s: int
    text: str  # as it is written


class PolicyRule(NamedTuple):
    effect: str
    pattern: str  # a glob over keys, or one of `CLASSES`
    table: tuple[str, ...]  # the table of config.toml that has it, or the members of a toolset's file
    key: str
    item: int | None = None  # its place in the list, where the key has one
    file: str = ""
    of_repository: bool = False
    rate: Rate | None = None  # of a limit

    @property
    def is_of_one_tool(self) -> bool:
        """Whether it is an entry of `[servers.X.tools]`, which names a tool and is not a glob."""
        return self.table[0] == "servers" and len(self.table) == 3

    @property
    def label(self) -> str:
        is_setting = not self.is_of_one_tool and self.key in ("auto_approve_read_only", "confirm_destructive", ONLY)
        name = self.key if is_setting else self.effect
        return f"{name} {self.pattern}{f' {self.rate.text}' if self.rate else ''}"

    @property
    def scope(self) -> str:
        """The project in whose table it is written, and whose calls alone count for it; empty for all."""
        return self.table[1] if self.table[0] == "projects" else ""


class _Lists(Section, frozen=True, kw_only=True):
    allow: list[str] = msgspec.field(default_factory=list)
    ask: list[str] = msgspec.field(default_factory=list)
    deny: list[str] = msgspec.field(default_factory=list)
    limit: dict[str, str] = msgspec.field(default_factory=dict)

    def check(self, name: str, where: str = "") -> None:
        for effect in (DENY, ASK, ALLOW):
            for index, pattern in enumerate(getattr(self, effect)):
                if problem := problem_of(pattern):
                    raise ValueError(f".{where}{effect}[{index}]: {problem}")
        for pattern, text in self.limit.items():
            if problem := problem_of(pattern) or _problem_of_rate(pattern, text):
                raise ValueError(f".{where}{LIMIT}: {problem}")


class PolicyTable(_Lists, frozen=True, kw_only=True):
    mode: str = MODES[0]
    default: str = ALLOW
    confirm: str = "session"
    auto_approve_read_only: bool = True
    confirm_destructive: bool = True
    confirm_wait_s: float = 50
    require_token: bool = False
    on_change: str = HOLD
    checks: str = HOLD
    redact_responses: str = "off"
    claude_hook: bool = False
    notify: list[str] = msgspec.field(default_factory=list)
    rate: str | dict[str, str] = ""
    one_of = {
        **_ONE_OF,
        "on_change": (HOLD, WARN, ALLOW),
        "checks": (HOLD, WARN, "off"),
        "redact_responses": ("off", "secrets"),
    }

    def check(self, name: str, where: str = "") -> None:
        super().check(name, where)
        if self.notify and (not self.notify[0].strip() or any("\0" in word for word in self.notify)):
            raise ValueError(f'.{where}notify: must be a command and its arguments, such as ["notify-send", "mcpctl"]')
        for pattern, text in self.rates.items():
            if problem := problem_of(pattern) or _problem_of_rate(pattern, text):
                raise ValueError(f".{where}{RATE_KEY}: {problem}")

    @property
    def rates(self) -> dict[str, str]:
        return {"*": self.rate} if isinstance(self.rate, str) and self.rate else dict(self.rate or {})


class ProjectPolicyTable(_Lists, frozen=True, kw_only=True):
    """The rules are added, and the values go before those of `[policy]`."""

    mode: str | None = None
    default: str | None = None
    confirm: str | None = None
    auto_approve_read_only: bool | None = None
    confirm_destructive: bool | None = None
    one_of = _ONE_OF


class Policy(Struct, frozen=True, dict=True):
    """The policy in force, with the rules of config.toml in the order in which they apply."""

    table: PolicyTable
    rules: tuple[PolicyRule, ...] = ()
    limits: tuple[PolicyRule, ...] = ()
    is_written: bool = False

    @cached_property
    def is_on(self) -> bool:
        return self.table.mode != "off"

    @cached_property
    def masks(self) -> bool:
        return self.enforces and self.table.redact_responses == "secrets"

    @cached_property
    def enforces(self) -> bool:
        return self.table.mode == "enforce"


OFF = Policy(PolicyTable(mode="off"))


_STRICTEST_FIRST: dict[str, tuple[str | bool, ...]] = {
    "mode": MODES,
    "default": (DENY, ASK, ALLOW),
    "confirm": ("never", "always", "session"),
    "auto_approve_read_only": (False, True),
    "confirm_destructive": (True, False),
}


def in_force(
    table: PolicyTable | None,
    project: str | None,
    of_project: ProjectPolicyTable | None,
    *,
    only_tightens: bool = False,
) -> Policy:
    """The policy of both tables; off where neither is written. `only_tightens`: the project's loosens nothing."""
    if table is None and of_project is None:
        return OFF
    values = table or PolicyTable()
    common, own = ("policy",), ("projects", project or "", "policy")
    sources: list[tuple[tuple[str, ...], PolicyTable | ProjectPolicyTable | None]] = [(common, table)]
    given: dict[str, str | bool] = {}
    if of_project:
        only_tightens = only_tightens and table is not None and table.mode != "off"
        written = {name: getattr(of_project, name) for name in _STRICTEST_FIRST}
        given = {name: value for name, value in written.items() if value is not None}
        if only_tightens:
            given = {name: min(value, getattr(values, name), key=_STRICTEST_FIRST[name].index)
                     for name, value in given.items()}  # fmt: skip
        values = msgspec.structs.replace(values, **given)
        sources.append((own, of_project))
    rules = [
        PolicyRule(effect, pattern, place, effect, index)
        for effect in (DENY, ASK, ALLOW)
        for place, lists in sources
        if lists and not (only_tightens and effect == ALLOW and lists is of_project)
        for index, pattern in enumerate(getattr(lists, effect))
    ]
    if values.confirm_destructive:
        place = own if "confirm_destructive" in given else common
        rules += [PolicyRule(ASK, pattern, place, "confirm_destructive") for pattern in CLASSES[2:4]]
    if values.auto_approve_read_only:
        place = own if "auto_approve_read_only" in given else common
        rules.append(PolicyRule(ALLOW, CLASSES[0], place, "auto_approve_read_only"))
    limits = tuple(
        PolicyRule(LIMIT, pattern, (*place, LIMIT), pattern, rate=rate)
        for place, lists in sources
        for pattern, text in (lists.limit if lists else {}).items()
        if (rate := rate_of(text))
    )
    table_of = common if isinstance(values.rate, str) else (*common, RATE_KEY)
    rates = tuple(
        PolicyRule(RATE_KEY, pattern, table_of, RATE_KEY if isinstance(values.rate, str) else pattern, rate=rate)
        for pattern, text in values.rates.items()
        if (rate := rate_of(text))
    )
    return Policy(values, tuple(rules), (*rates, *limits), is_written=True)


def rate_of(text: str) -> Rate | None:
    match = RATE.fullmatch(text)
    return Rate(int(match[1]), int(match[2] or 1) * _SECONDS[match[3]], text) if match else None


def _problem_of_rate(pattern: str, text: str) -> str:
    rate = rate_of(text)
    if rate is None:
        never = "; to have it never called, write it in deny" if re.match(r"0+ ?/", text) else ""
        return f"'{text}' for '{pattern}' must be a number of calls in a time, such as 10/h, 100/d or 5/30m{never}"
    if rate.most > _MOST_CALLS or rate.window_s > _LONGEST_S:
        return f"'{text}' for '{pattern}' is too much to count: at most {_MOST_CALLS:,} calls in a year"
    return ""


def problem_of(pattern: str, otherwise: str = f"a class such as {CLASSES[2]}") -> str:
    """The problem of a pattern over keys; empty where there is none. `otherwise` is what it may be else."""
    if _BRACES.search(pattern):
        parts = [part[1:-1].split(",") if part[:1] == "{" else [part] for part in _BRACES.split(pattern)]
        each = ", ".join(map("".join, itertools.islice(itertools.product(*parts), _NAMED)))
        return f"'{pattern}' has braces, which stand for nothing here; write a rule for each, such as {each}"
    if pattern in CLASSES:
        return ""
    if problem := _not_as_meant(pattern):
        return problem
    if GLOB.match(pattern):
        return ""
    if pattern.startswith("@"):
        classes = f"classes: {', '.join(CLASSES)}"
        return f"'{pattern}' is not a class; {did_you_mean(pattern, CLASSES, classes)}"
    form = f"'{pattern}' must be server:tool, where * stands for any text, or {otherwise}"
    if set(pattern) == {"*"}:
        return f"{form}; did you mean '*'?"
    meant = f"{flat[1]}:{flat[2] or '*'}" if (flat := _FLAT.match(pattern)) else f"{pattern}:*"
    return f"{form}; did you mean '{meant}'?" if GLOB.match(meant) else form


def _not_as_meant(pattern: str) -> str:
    """The problem of a pattern that means something else elsewhere; here it would match no tool at all."""
    rules = [rule.strip() for rule in pattern.split(",")]
    if len(rules) > 1 and all(rule in CLASSES or GLOB.match(rule) for rule in rules):
        each = ", ".join(f'"{rule}"' for rule in rules[:_NAMED])
        return f"'{pattern}' has several rules in one text; write each by itself, such as [{each}]"
    if arguments := _ARGUMENTS.match(pattern):
        return f"'{pattern}' names arguments, which no rule can; write the tool alone: {arguments[1]}"
    if _BRACKETS.search(pattern):
        question = _BRACKETS.sub("?", pattern)
        return (
            f"'{pattern}' has brackets, which stand for nothing here; write a rule for each tool, or ? for any one "
            f"character, such as {question}"
        )
    return ""
