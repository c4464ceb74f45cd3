"""The values that a server of a registry needs, and the texts of an entry that are made of them and of what it says.

Nothing that a registry says is expanded: `$` in a text of its is refused, and each `${VAR}` and `${cmd:…}` of an entry
is one that its user wrote.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from mcpctl.base import bounds
from mcpctl.base.texts import beginning, escaped, one_line
from mcpctl.config.server_settings import COMMAND, FROM_COMMAND, VARIABLE, without_values
from mcpctl.registry.server_json import InputJson
from mcpctl.secrets.redact import is_secret_name, mask

ENV, HEADER, INPUT = "env", "header", "input"  # the options by which a value is given
_EXPANSION = re.compile(f"{COMMAND.pattern}|{VARIABLE.pattern}|{re.escape(FROM_COMMAND)}", re.DOTALL)
_PLACE = re.compile(r"\{([^{}]*)\}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|token)?\s*\Z")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")  # under which a value can be given
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?\Z")
_LONGEST_TOLD = 200
_CHOICES_TOLD = 20
Answers = Mapping[tuple[str, str], Sequence[str]]  # values by the option and the name under which they are given


class Unfit(ValueError):
    """Something that a registry says of a server cannot go into an entry."""


class Need(Struct, frozen=True):
    """One value that a server gets from its user."""

    option: str
    name: str
    says: str = ""
    default: str | None = None
    choices: tuple[str, ...] = ()
    format: str = "string"
    is_required: bool = False
    is_secret: bool = False
    is_repeated: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.option, self.name

    @property
    def variable(self) -> str:
        """The variable of the environment that a secret of this name is usually in."""
        name = re.sub(r"[^A-Z0-9]+", "_", self.name.upper()).strip("_")
        return f"_{name}" if name[:1].isdigit() else name or "SECRET"

    @property
    def told_choices(self) -> str:
        return beginning(self.choices, _CHOICES_TOLD)

    def example(self) -> str:
        """How the value is given in a command line."""
        value = f"${{{self.variable}}}" if self.is_secret else self.default or next(iter(self.choices), "VALUE")
        return f"--{self.option} {shlex.quote(f'{self.name}={value}')}"

    def problem(self, value: str) -> str:
        """The reason why a value that a person gives cannot be used; empty where it can."""
        if self.is_secret:
            if _has_default(value) or not _SCHEME.match(without_values(value)) or not _EXPANSION.search(value):
                return f"a secret is not written in the open: give it as ${{{self.variable}}} or ${{cmd:COMMAND}}"
            return "" if mask(value) == value else "this looks like a secret itself, not like the name of its variable"
        if mask(value) != value:
            return "this looks like a secret: give it as ${VAR} or ${cmd:COMMAND}"
        if not value.isprintable():
            return "it has characters that are not printed"
        if _EXPANSION.search(value):
            return ""
        if self.choices and value not in self.choices:
            return f"it must be one of: {self.told_choices}"
        if self.format == "number" and not _NUMBER.match(value):
            return "it must be a number"
        if self.format == "boolean" and value not in ("true", "false"):
            return "it must be true or false"
        return ""

    def meant(self, value: str) -> str:
        """A value as it goes into an entry: the server may run in another folder than the one where a path is given."""
        if self.format != "filepath" or _EXPANSION.search(value) or not value:
            return value
        try:
            return str(Path.cwd() / Path(value).expanduser())
        except RuntimeError:  # nobody of that name
            return value


def _has_default(value: str) -> bool:
    return any(match[2] for match in VARIABLE.finditer(value))


class Slot(Struct, frozen=True):
    """A text of an entry: what the registry says, with the values of its user in their places."""

    name: str  # of the option, variable or header; empty for an argument without one, and for an address
    parts: tuple[str | Need, ...]

    @property
    def needs(self) -> list[Need]:
        return [part for part in self.parts if isinstance(part, Need)]

    def texts(self, answers: Answers) -> list[str]:
        """The text for each value of its need, or one; none where a value is left out. Raises `Unfit`."""
        is_alone = len(self.parts) == 1  # then the server knows itself what it does without a value
        given = [answers.get(each.key) or _default(each, is_alone=is_alone) for each in self.needs]
        if any(not values for values in given):
            return []
        longest = max(map(len, given), default=1)
        return [self._text([values[min(turn, len(values) - 1)] for values in given]) for turn in range(longest)]

    def _text(self, values: Sequence[str]) -> str:
        left = iter(values)
        text = "".join(part if isinstance(part, str) else next(left) for part in self.parts)
        meant = [match for value in values for match in expansions(value)]
        if expansions(text) != meant or text.count("${") != sum(value.count("${") for value in values):
            raise Unfit(f"the value of {self.name or 'its address'} would be expanded to something else")
        return text


def _default(need: Need, *, is_alone: bool) -> list[str]:
    return [] if need.default is None or (is_alone and not need.is_required) else [need.default]


def expansions(text: str) -> list[str]:
    return [match[0] for match in _EXPANSION.finditer(text)]


def slot(option: str, given: InputJson, name: str, variables: Mapping[str, InputJson] | None = None) -> Slot:
    """The slot that the registry describes; `name` is that under which its value is given. Raises `Unfit`."""
    known = variables or given.variables or {}
    is_secret = given.is_secret or is_secret_name(name)
    if given.value is None or (given.is_secret and not any(_known_places(given.value, known))):
        # A fixed text in place of a secret says only how the secret looks.
        return Slot(name, (need(option, name, given, is_secret=is_secret),))
    # Where the whole is a secret and no part of it is said to be, each part may be.
    all_secret = given.is_secret and not any(part.is_secret for part in known.values())
    parts: list[str | Need] = []
    end = 0
    for match in _PLACE.finditer(given.value):
        if part := known.get(match[1]):
            parts.append(inert(given.value[end : match.start()], name))
            parts.append(_of_variable(match[1], part, given, is_secret=all_secret or part.is_secret))
            end = match.end()
    parts.append(inert(given.value[end:], name))
    return Slot(name, tuple(part for part in parts if part != "") or ("",))


def _known_places(template: str, known: Mapping[str, InputJson]) -> Iterator[bool]:
    return (match[1] in known for match in _PLACE.finditer(template))


def _of_variable(name: str, given: InputJson, whole: InputJson, *, is_secret: bool) -> str | Need:
    if given.value is not None and not is_secret:
        return inert(given.value, name)
    is_secret = is_secret or is_secret_name(name)
    return need(INPUT, name, given, is_secret=is_secret, is_required=given.is_required or whole.is_required)


def need(option: str, name: str, given: InputJson, *, is_secret: bool, is_required: bool | None = None) -> Need:
    """The need that the registry describes; a default or a choice that cannot be used is left out. Raises `Unfit`."""
    if not NAME.match(name):
        raise Unfit(f"a value has the name {told(name)!r}, under which nobody can give it")
    choices = tuple(choice for choice in (given.choices or ())[: bounds.REGISTRY_INPUTS] if not problem_of(choice))
    default = given.default
    found = Need(
        option, name, told(given.description), None, choices, given.format,
        given.is_required if is_required is None else is_required, is_secret, given.is_repeated,
    )  # fmt: skip
    if default is None or is_secret or problem_of(default) or found.problem(default):
        return found
    return msgspec.structs.replace(found, default=default)


def problem_of(text: str) -> str:
    """The reason why a text of a registry cannot go into an entry; empty where it can."""
    if "$" in text:
        return "has a $, which could be expanded to a secret of yours or run a program"
    if len(text) > bounds.REGISTRY_TEXT:
        return f"has more than {bounds.REGISTRY_TEXT:,} characters"
    return "has characters that nobody sees" if escaped(text) != text or "\0" in text else ""


def inert(text: str, what: str) -> str:
    """The text; raises `Unfit` where it cannot go into an entry."""
    if problem := problem_of(text):
        raise Unfit(f"the value of {told(what) or 'its address'} {problem}")
    return text


def told(text: str) -> str:
    """A text of a registry for people: short, on one line, of visible characters."""
    return one_line(text[: 4 * _LONGEST_TOLD])[:_LONGEST_TOLD]


def needed(slots: Iterable[Slot]) -> list[Need]:
    """Each need once, in the order of the slots; a secret of one of them is a secret of all of that name."""
    found: dict[tuple[str, str], Need] = {}
    for each in (need for slot in slots for need in slot.needs):
        first = found.setdefault(each.key, each)
        if each.is_secret > first.is_secret or each.is_required > first.is_required:
            found[each.key] = _stricter(first, each)
    return list(found.values())


def _stricter(one: Need, other: Need) -> Need:
    is_secret = one.is_secret or other.is_secret
    return msgspec.structs.replace(
        one, is_secret=is_secret, is_required=one.is_required or other.is_required,
        default=None if is_secret else one.default,
    )  # fmt: skip
