"""The rules of `annotate check`, and the checks of a toolset that need no list of tools."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcpctl.base import near_names
from mcpctl.base.models import HINTS
from mcpctl.base.rules import Rule
from mcpctl.jsonc import Place
from mcpctl.toolsets.schema import MEMBERS, SCHEMA
from mcpctl.toolsets.toolset import HIDDEN, MAX_NOTE, NAME, Note, ToolReference, first
from mcpctl.toolsets.toolset_files import NONE, hints_of, items, notes_of, policy_problems, reference_of

_ALL = (
    Rule("E101", "The file is not strict JSON, or cannot be read.", "Its tools are ignored.",
         "Fix the file at this place."),
    Rule("E102", "A member has the wrong type.", "A member of another type is ignored without a word.",
         "Write the type that the message names; see mcpctl annotate schema."),
    Rule("E103", "A member is missing.", "An entry without it is ignored without a word.", "Add the member."),
    Rule("E104", "The file is not a toolset.", "It has neither tools nor toolsets, so it has no effect.",
         "Give it tools, or check another file."),
    Rule("E105", "A namespacedName is not server.tool.",
         "It names no tool: the part before the first dot is the server.",
         "Write server.tool, as mcpctl toolsets add does."),
    Rule("E106", "A toolset has a bad name.", "Commands and clients cannot name it.",
         "Use 2 to 50 of a to z, 0 to 9 and -; not 'none'."),
    Rule("E107", "A note has a bad name.", "It is left out, and no command adds a note of that name.",
         "Use 2 to 50 of a to z, 0 to 9 and -."),
    Rule("E108", "A tool has two notes of one name.", "Only the first one is ever shown.",
         "Rename the second, or remove it."),
    Rule("E109", "A note is too long.", "It is ignored: every model would pay for it on every search.",
         "Shorten it, or write several."),
    Rule("E110", "A note is empty.", "It says nothing, so it is ignored.", "Write it, or remove it."),
    Rule("E111", "An override calls a tool read-only and destructive.", "A tool that only reads destroys nothing.",
         "Keep the one that is true."),
    Rule("E112", "A hint or title is overridden twice with different values.", "Only the first one counts.",
         "Keep the one that is meant."),
    Rule("E113", "The server is known, but has no such tool.",
         "The entry does nothing; the tool was renamed or removed.",
         "Name a tool that the server lists, or remove the entry."),
    Rule("E114", "An object has a member twice.",
         "Only the last one counts; a merge that keeps both sides causes this.", "Combine them into one."),
    Rule("E115", "A note or title has hidden characters.",
         "Models would read what no person sees, so mcpctl removes it.",
         "Delete the character at this place, or rewrite the text."),
    Rule("E116", "A tool has more notes than are shown.",
         "Models read the first 20 notes, and 4,000 characters of them.", "Remove some, or shorten them."),
    Rule("E117", "A rule of the policy is wrong.",
         "A toolset may only deny or ask; with a rule that cannot be understood, it cannot be used.",
         "Write deny or ask with server:tool, where * stands for any text, or a class such as @destructive."),
    Rule("W201", "A tool's notes outgrow the budget.", "They are in the context of every model that finds the tool.",
         "Shorten them, or raise --max-note-chars."),
    Rule("W202", "A toolset has no tools.", "With it in force, no tool can be found or called.",
         "Add some: mcpctl toolsets add."),
    Rule("W203", "A tool is in the list twice.", "The second entry does nothing.", "Remove one of them."),
    Rule("W204", "A server is not known.", "It is unknown whether the tool exists.",
         "Correct the server's name, or list its tools: mcpctl tools refresh, --live or --catalog."),
    Rule("W205", "A refId without a name matches no tool.",
         "Its tool has changed or is gone, or its server is not known.", "Name the tool by namespacedName."),
    Rule("W206", "An override is empty.", "It sets neither a hint nor a title.",
         "Set a hint or a title, or remove the override."),
    Rule("W207", "An override has an unknown hint.", "Only the protocol's four hints have an effect.",
         "Use readOnlyHint, destructiveHint, idempotentHint or openWorldHint."),
    Rule("W208", "An override contradicts what the server declares.", "One of them is wrong about what the tool does.",
         "Check what the tool does; if the server is wrong, leave out this rule with --ignore W208."),
    Rule("W209", "A note or override is for a tool that is not in the toolset.", "Nobody ever sees it.",
         "Add the tool to the list, or remove the entry."),
    Rule("W210", "A member is named almost like one that is read.",
         "A member that is not known is ignored without a word.", "Correct the name, if that member is meant."),
    Rule("W211", "A rule of the policy matches no tool.",
         "It protects nothing: the name may be mistyped, or its tool renamed.",
         "Correct the name, or remove the rule."),
    Rule("I301", "A refId no longer matches.",
         "The tool's parameters, output or hints have changed; notes may be outdated.",
         "Read the notes again, then renew the refId."),
    Rule("I302", "A repository's file loosens a hint.",
         "It is shown, but permits nothing: a repository's file may not loosen.",
         "If it should apply, keep the toolset in your own data directory."),
    Rule("I303", "An override repeats what the server declares.", "It changes nothing, until the server changes.",
         "Keep it as a safeguard, or remove it."),
    Rule("I304", "A rule of the policy is about a server that is not known.", "It waits for a server of that name.",
         "Leave it for those who have the server, or correct its name."),
)  # fmt: skip
RULES = {rule.id: rule for rule in _ALL}


Who = Callable[[ToolReference], str]  # the same text for all references to one tool

_MOST_COMPARED = 20  # members whose names are compared with one that is missing
_PAIR = ("readOnlyHint", "destructiveHint")
_OPTIONAL = ("toolNotes", "toolOverrides", "policy")  # members that nobody misses where their names are misspelled
_TYPES = {"object": (dict, "an object"), "array": (list, "an array"), "string": (str, "a string"),
          "boolean": (bool, "a boolean")}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    rule: str
    place: Place
    message: str


@dataclass(frozen=True)
class Item:
    place: tuple[str | int, ...]
    members: Mapping[str, Any]
    reference: ToolReference
    at: tuple[str | int, ...]  # the place of the reference


def entries(content: Mapping[str, Any], at: Place, member: str) -> Iterator[Item]:
    for number, item in enumerate(items(content, member)):
        place = (*at, member, number)
        if isinstance(item, dict):
            within = () if member == "tools" else ("toolRef",)
            reference = reference_of(item.get("toolRef") if within else item)
            if reference.index:
                yield Item(place, item, reference, (*place, *within))


def shape(root: Any) -> Iterator[Problem]:
    """The problems by the JSON Schema, found without jsonschema, which takes a minute for the largest file."""
    several = isinstance(root, dict) and "toolsets" in root and "tools" not in root
    pending: list[tuple[tuple[str | int, ...], Any, Mapping[str, Any]]] = [
        ((), root, SCHEMA["then" if several else "else"])
    ]
    while pending:
        place, value, schema = pending.pop()
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        type_ = schema.get("type", "object")
        kinds = [type_] if isinstance(type_, str) else type_
        if not any(isinstance(value, _TYPES[kind][0]) for kind in kinds):
            yield Problem("E102", place, f"{_label(place)} is not {' or '.join(_TYPES[kind][1] for kind in kinds)}")
        elif isinstance(value, dict):
            yield from _missing(value, schema, place)
            properties, others = schema.get("properties", {}), schema.get("additionalProperties")
            members = ((name, properties.get(name, others)) for name in value)
            pending += (((*place, name), value[name], inner) for name, inner in members if inner)
        elif isinstance(value, list):
            pending += (((*place, number), item, schema["items"]) for number, item in enumerate(value))


def _missing(value: Mapping[str, Any], schema: Mapping[str, Any], place: Place) -> Iterator[Problem]:
    for name in schema.get("required", ()):
        if name not in value:
            others = [other for other in islice(value, _MOST_COMPARED) if other not in schema["properties"]]
            near = near_names.alike(name, others, n=1) if not place else []
            typo = f"; is '{near[0][:80]}' meant as {name}?" if near else ""
            yield Problem("E103", place, f"{_label(place)} has no {name}{typo}")
    alternatives = [name for alternative in schema.get("anyOf", ()) for name in alternative["required"]]
    if alternatives and not any(name in value for name in alternatives):
        yield Problem("E103", place, f"{_label(place)} has neither {' nor '.join(alternatives)}")


class _Members(list[tuple[str, Any]]):
    pass


def repeated_members(text: str) -> Iterator[Problem]:
    """The members that an object has twice, in JSON text that can be decoded."""
    try:
        pending: list[tuple[tuple[str | int, ...], Any]] = [((), json.loads(text, object_pairs_hook=_Members))]
    except (ValueError, RecursionError):
        return  # deeper than any toolset is
    while pending:
        place, value = pending.pop()
        if isinstance(value, _Members):
            members = dict(value)
            names = Counter(name for name, _ in value) if len(members) < len(value) else {}
            for name in (name for name, count in names.items() if count > 1):
                yield Problem("E114", (*place, name), f"{_label((*place, name))} appears more than once")
            pending += (((*place, name), member) for name, member in members.items())
        elif isinstance(value, list):
            pending += (((*place, number), item) for number, item in enumerate(value))


def _label(place: Place) -> str:
    label = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in place)
    return label.removeprefix(".") or "the file"


def content_problems(
    content: Mapping[str, Any], at: tuple[str | int, ...], who: Who, max_note_chars: int
) -> Iterator[Problem]:
    yield from _name(content, at)
    yield from _misspelled(content, at)
    yield from _references(content, at)
    yield from _tools(content, at, who)
    yield from _notes(content, at, who, max_note_chars)
    yield from _overrides(content, at, who)
    yield from _outside(content, at, who)
    for within, problem in policy_problems(content):
        yield Problem("E117", (*at, "policy", *within), f"{_label(('policy', *within))}: {problem}")


def _name(content: Mapping[str, Any], at: tuple[str | int, ...]) -> Iterator[Problem]:
    name, place = content.get("name"), (*at, "name")
    if name is None and at and isinstance(at[-1], str):
        name, place = at[-1], at
    if isinstance(name, str) and (not NAME.match(name) or name == NONE):
        yield Problem("E106", place, f"'{name[:80]}' cannot name a toolset")


def _misspelled(content: Mapping[str, Any], at: Place) -> Iterator[Problem]:
    others = [other for other in islice(content, _MOST_COMPARED) if other not in MEMBERS]
    for name in _OPTIONAL:
        if name not in content and (near := near_names.alike(name, others, n=1, cutoff=0.8)):
            yield Problem("W210", (*at, near[0]), f"'{near[0][:80]}' is not read; is it meant as {name}?")


def _references(content: Mapping[str, Any], at: tuple[str | int, ...]) -> Iterator[Problem]:
    for member in ("tools", "toolNotes", "toolOverrides"):
        for number, item in enumerate(items(content, member)):
            within = () if member == "tools" else ("toolRef",)
            reference = item.get("toolRef") if within and isinstance(item, dict) else item
            name = reference.get("namespacedName") if isinstance(reference, dict) else None
            if isinstance(name, str) and not all(name.partition(".")):
                place = (*at, member, number, *within, "namespacedName")
                yield Problem("E105", place, f"'{name[:80]}' is not server.tool")


def _tools(content: Mapping[str, Any], at: tuple[str | int, ...], who: Who) -> Iterator[Problem]:
    if content.get("tools") == []:
        yield Problem("W202", (*at, "tools"), "the toolset has no tools")
    seen: set[str] = set()
    for entry in entries(content, at, "tools"):
        if (tool := who(entry.reference)) in seen:
            yield Problem("W203", entry.place, f"{entry.reference.label} is in the list already")
        seen.add(tool)


def _notes(content: Mapping[str, Any], at: tuple[str | int, ...], who: Who, budget: int) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    spent: dict[str, int] = {}
    counted_notes: dict[str, dict[str, Note]] = {}
    for entry in entries(content, at, "toolNotes"):
        tool, before = who(entry.reference), spent.get(who(entry.reference), 0)
        for number, note in enumerate(items(entry.members, "notes")):
            name, text = (note.get("name"), note.get("note")) if isinstance(note, dict) else (None, None)
            place = (*entry.place, "notes", number)
            if isinstance(name, str):
                if not NAME.match(name):
                    yield Problem("E107", (*place, "name"), f"'{name[:80]}' cannot name a note")
                if (tool, name) in seen:
                    message = f"{entry.reference.label} has a note '{name[:80]}' already"
                    yield Problem("E108", (*place, "name"), message)
                seen.add((tool, name))
            if isinstance(text, str):
                yield from _note_text(name, text, (*place, "note"))
                spent[tool] = spent.get(tool, 0) + len(text)
        if before <= budget < spent.get(tool, 0):
            message = f"the notes of {entry.reference.label} have {spent[tool]} characters; the budget is {budget}"
            yield Problem("W201", entry.place, message)
        counted = counted_notes.setdefault(tool, {})
        was_whole = len(first(counted.values())) == len(counted)
        counted |= {note.name: note for note in notes_of(entry.members) if note.name not in counted}
        if was_whole and (count := len(first(counted.values()))) < len(counted):
            yield Problem("E116", entry.place, f"{entry.reference.label} has {len(counted)} notes; {count} are shown")


def _note_name(name: str, place: Place, is_known: bool, reference: ToolReference) -> Iterator[Problem]:
    if not NAME.match(name):
        yield Problem("E107", place, f"'{name[:80]}' cannot name a note")
    if is_known:
        yield Problem("E108", place, f"{reference.label} has a note '{name[:80]}' already")


def _note_text(name: Any, text: str, place: Place) -> Iterator[Problem]:
    label = f"note '{name[:80]}'" if isinstance(name, str) else "a note"
    yield from _hidden(text.replace("\r\n", "\n"), place, label)
    if not text.strip():
        yield Problem("E110", place, f"{label} is empty")
    if len(text) > MAX_NOTE:
        yield Problem("E109", place, f"{label} has {len(text)} characters; at most {MAX_NOTE} are read")


def _hidden(text: str, place: Place, label: str) -> Iterator[Problem]:
    if hidden := HIDDEN.search(text):
        message = f"{label} has the hidden character U+{ord(hidden[0]):04X} at {hidden.start() + 1}"
        yield Problem("E115", place, message)


def _overrides(content: Mapping[str, Any], at: tuple[str | int, ...], who: Who) -> Iterator[Problem]:
    seen: dict[str, dict[str, Any]] = {}
    for entry in entries(content, at, "toolOverrides"):
        yield from _override(entry)
        before = seen.setdefault(who(entry.reference), {})
        values: dict[str, Any] = dict(hints_of(entry.members))
        title = entry.members.get("title")
        values |= {"title": title} if isinstance(title, str) and title.strip() else {}
        for name, value in values.items():
            if before.setdefault(name, value) != value:
                place = (*entry.place, *(("title",) if name == "title" else ("annotations", name)))
                earlier = json.dumps(before[name], ensure_ascii=False)
                yield Problem("E112", place, f"{name} of {entry.reference.label} is {earlier} in an earlier entry")
        if all(before.get(name) is True for name in _PAIR) and any(name in values for name in _PAIR):
            message = f"{entry.reference.label} is called read-only and destructive"
            yield Problem("E111", (*entry.place, "annotations"), message)


def _override(entry: Item) -> Iterator[Problem]:
    annotations = entry.members.get("annotations")
    title = entry.members.get("title")
    for name in annotations if isinstance(annotations, dict) else ():
        if name not in HINTS:
            yield Problem("W207", (*entry.place, "annotations", name), f"'{name[:80]}' is not a hint")
    if isinstance(title, str):
        yield from _hidden(title, (*entry.place, "title"), f"the title of {entry.reference.label}")
    if not hints_of(entry.members) and not (isinstance(title, str) and title.strip()):
        yield Problem("W206", entry.place, f"the override of {entry.reference.label} is empty")


def _outside(content: Mapping[str, Any], at: tuple[str | int, ...], who: Who) -> Iterator[Problem]:
    inside = {who(entry.reference) for entry in entries(content, at, "tools")}
    for member, kind in (("toolNotes", "notes"), ("toolOverrides", "an override")):
        for entry in entries(content, at, member):
            if who(entry.reference) not in inside:
                message = f"{entry.reference.label} has {kind} but is not in the toolset"
                yield Problem("W209", entry.at, message)
