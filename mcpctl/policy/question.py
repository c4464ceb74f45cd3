"""A call that waits for consent, described once: for a client's form, for a terminal and for a page.

Texts of models and servers are never a line of it by themselves: lines of arguments begin with a bar, and ours do not.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from unicodedata import category, east_asian_width

from mcpctl.base.hints import Hint
from mcpctl.base.texts import counted, escaped
from mcpctl.base.tool_keys import is_plain
from mcpctl.policy.approvals import ALLOWED, ALWAYS, DENIED, ONCE, PENDING, SESSION, USED, CallApproval
from mcpctl.policy.consent import NOT_ALL, WHOLE, hidden_words
from mcpctl.policy.shown_arguments import CUT, Block, Room, shown
from mcpctl.store import clock

LITTLE, PAGE = Room(36, 16, 140), Room(48, 24, 400)
_BAR = "  | "
IN_FORM = 80  # columns, which nearly all clients have
_LONGEST_NAME = 100
_LONGEST_KEY = 256
_SHORT = 8  # of an id
_WHERE = {
    "terminal": "in a terminal", "command": "by a command", "client": "in its client", "dashboard": "in the dashboard",
    "hook": "in Claude Code",
}  # fmt: skip
_HOW = {SESSION: "until its session ends", ALWAYS: "always"}
_SOURCES = {
    "declared": ", as its server declares", "inferred": ", by its HTTP method", "override": ", as a toolset says",
}  # fmt: skip


class ConsentQuestion(NamedTuple):
    wants: str
    effect: str
    blocks: Sequence[Block]  # of the arguments
    is_cut: bool
    found: str  # what the checks find in all of the arguments; may be empty, as may be the next
    missing: str
    rule: str

    def lines_of(self, approval: CallApproval, width: int) -> Iterator[str]:
        """The lines, and where the rest is, if not all is shown."""
        yield from self.folded(width)
        if self.is_cut:
            yield from (NOT_ALL, f"  {WHOLE} {approval.id}")

    def folded(self, width: int = IN_FORM) -> Iterator[str]:
        """The lines, so that no line of a stranger goes on where ours begin; 0: as long as they are."""
        for line in self.lines:
            yield from _folded(line, width) if width else (line,)

    @property
    def lines(self) -> Iterator[str]:
        yield from (f"{self.wants}.", self.effect)
        yield "Its arguments:" if self.blocks else "It has no arguments."
        for block in self.blocks:
            for line in block.text.split("\n"):
                yield f"  … {line} …" if block.kind == CUT else f"{_BAR}{line}"
        if self.found:
            yield f"Warning: the checks find in them: {self.found}."
        if self.missing:
            yield f"Warning: in them, {self.missing}."
        yield f"Asked by the rule: {self.rule}"


def _folded(line: str, width: int) -> Iterator[str]:
    if len(line) <= width and line.isascii():
        yield line
        return
    is_foreign = line.startswith(_BAR)
    start, begin = 0, ""
    while start < len(line):
        end = _end_of(line, start, width - len(begin))
        space = -1 if is_foreign or end == len(line) else line.rfind(" ", start, end + 1)
        if line[start : max(space, start)].strip(" "):
            end = space
        yield begin + (line[start:end] if is_foreign else line[start:end].rstrip(" "))
        start, begin = end, f"{_BAR}  " if is_foreign else "    "
        while not is_foreign and line[start : start + 1] == " ":
            start += 1


def _end_of(line: str, start: int, room: int) -> int:
    """The end of what a terminal shows in so many columns; at least one character. A mark on another character counts,
    as not every terminal puts it there, and the halves of a flag count as two."""
    end = start
    while end < len(line) and room > 0:
        is_wide = east_asian_width(line[end]) in "WF" or "\U0001f1e6" <= line[end] <= "\U0001f1ff"
        room -= 2 if is_wide else 1
        end += room >= 0 or end == start
    whole = end
    while start < whole < len(line) and category(line[whole]).startswith("M"):  # a mark belongs to what it is on
        whole -= 1
    return whole if whole > start else max(end, start + 1)


def question_of(approval: CallApproval, arguments: str = "", room: Room | None = LITTLE) -> ConsentQuestion:
    """All of it without `room`. The `arguments` are as the client that sent them shows them, and nothing is hidden;
    else they are those that were kept."""
    title = f", {_in_quotes(approval.title, _LONGEST_NAME)}" if approval.title else ""
    known = {"project": approval.project, "session": approval.session[:_SHORT]}
    where = ", ".join(f"{name} {_named(value)}" for name, value in known.items() if value)
    client = _named(approval.client) if approval.client else "A client"
    blocks, is_cut = shown(arguments or approval.whole or approval.arguments, room)
    looks = "looks" if approval.hidden == 1 else "look"
    secrets = f"{counted(approval.hidden, 'value')} {looks} like a secret" if approval.hidden else ""
    return ConsentQuestion(
        f"{client}{f' ({where})' if where else ''} wants to call {_named(approval.key, _LONGEST_KEY)}{title}",
        escaped(approval.effect or f"It is {approval.risk}."),
        blocks, is_cut, escaped(approval.found),
        secrets if arguments else hidden_words(approval.hidden, approval.left_out),
        escaped(", ".join(filter(None, (approval.rule, approval.rule_place)))),
    )  # fmt: skip


def became(approval: CallApproval, now: float) -> str:
    """The state of it, for a person."""
    state, ends = approval.state_at(now), clock.local(approval.expires)
    if state == PENDING:
        return f"It can be answered until {ends}."
    if approval.answered is None:
        return f"Nobody answered until {ends}."
    who = f" by {escaped(approval.person)}" if approval.person else ""
    where = f"{_WHERE.get(approval.channel or '', 'elsewhere')} at {clock.local(approval.answered)}{who}"
    if state == DENIED:
        return f"It was denied {where}."
    how = _HOW.get(approval.scope or "", "once")
    after = {ALLOWED: f", until {ends}" if approval.scope == ONCE else "", USED: ", and has been called"}
    return f"It was allowed {how}, {where}{after.get(state, f'; it was not called until {ends}')}."


def _named(name: str, longest: int = _LONGEST_NAME) -> str:
    return name if is_plain(name) else _in_quotes(name, longest)


def _in_quotes(text: str, longest: int) -> str:
    inside = escaped(text[:longest]).replace("”", "''")
    end = _end_of(inside, 0, longest)
    return f"“{inside[:end]}{'…' if end < len(inside) or len(text) > longest else ''}”"


def effect_of(risk: str, hints: Mapping[str, Hint] | None) -> str:
    """One sentence on a tool, with its class, and where that comes from: no more than anybody has said."""
    if hints is None:
        return "Nobody says what it does: no list of its server has it (not declared)."
    source = _SOURCES.get(hints["readOnlyHint" if risk == "read-only" else "destructiveHint"].source, "")
    if risk == "read-only":
        return f"It only reads (read-only{source})."
    if risk == "changing":
        return f"It changes things, and destroys nothing (changing{source})."
    if risk == "not-declared":
        return "It does not say what it does: it may change or delete things (not declared)."
    if not source:
        return "It changes things, and does not say whether that can be undone (counts as destructive)."
    return f"It may make changes that cannot be undone (destructive{source})."
