"""All problems of a config.toml, each with its line: the checks of `config.py`, which stops at the first."""

import copy
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mcpctl.base.errors import Unusable
from mcpctl.base.models import FINDING_FIELDS, Row
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.rules import Rule, Selection
from mcpctl.config import config, toml
from mcpctl.config.policy_settings import PolicyTable
from mcpctl.config.server_settings import check_server
from mcpctl.config.settings import ClientSettings, Project

_Check = Callable[[Any], Any]
_PLACE = re.compile(r"((?:\.[^.:\[\]\s]+)*)(?:\[(\d+)\])?: ")
_LINE = re.compile(r"(?:line|and) (\d+)(?:, column (\d+))?")
_DECIDES_KIND = ("command", "url")  # without them others would be of no use
RULES = {
    rule.id: rule
    for rule in (
        Rule("E001", "The file is not TOML.", "Nothing in it can be read.", "Correct the text at that line."),
        Rule("E002", "A key is not known.",
             "It is mistyped, in the wrong table, or of another version of mcpctl; a file with it is not used.",
             "Correct the key, or remove it; mcpctl config schema and man 5 mcpctl-config have them all."),
        Rule("E003", "A value cannot be used.",
             "A server with it is skipped; with one of another section nothing of the file is used.",
             "Write a value that the message names; mcpctl config schema and man 5 mcpctl-config describe each key."),
    )
}  # fmt: skip


class ConfigProblem(NamedTuple):
    rule: str
    message: str
    line: int
    column: int = 1


def rows(path: Path, text: str, selection: Selection) -> list[Row]:
    """A finding for each problem, in the order of the lines."""
    found = sorted(problems(path, text), key=lambda problem: problem.line)
    return [_row(path, problem, selection) for problem in found if selection.wants(problem.rule)]


def problems(path: Path, text: str) -> Iterator[ConfigProblem]:
    try:
        document = toml.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        try:
            config.parsed(path, text)
        except Unusable as error:
            message = error.message.removeprefix(f"{path}: ")
            at = _LINE.search(message)
            line = text.rstrip().count("\n") + 1 if "at end of document" in message else 1
            yield ConfigProblem("E001", message, int(at[1]) if at else line, int(at[2] or 1) if at else 1)
        return
    lines = toml.Lines(text)
    for name in document.keys() - config.KNOWN:
        hint = did_you_mean(name, config.KNOWN, f"known are {', '.join(sorted(config.KNOWN))}")
        yield ConfigProblem("E002", f"{name}: unknown key; {hint}", lines.nearest((name,)))
    for place, table, check in _tables(document):
        yield from _problems_of(lines, place, table, check)


def _tables(document: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any, _Check]]:
    has_policy = config.writes_policy(document)
    named: dict[str, Callable[[str], _Check]] = {
        "servers": lambda name: lambda table: check_server(name, table, has_policy=has_policy),
        "projects": lambda name: partial(toml.checked, kind=Project, name=name),
        "clients": lambda name: partial(toml.checked, kind=ClientSettings, name=name),
    }
    for section, check_of in named.items():
        tables = document.get(section, {})
        if not isinstance(tables, dict):
            yield (section,), tables, _refused_section
            continue
        yield from (((section, name), table, check_of(name)) for name, table in tables.items())
    kinds: dict[str, type[toml.Section]] = {**config.SECTIONS, "policy": PolicyTable}
    for section, kind in kinds.items():
        if section in document:
            yield (section,), document[section], partial(toml.checked, kind=kind, name=section)


def _refused_section(_: Any) -> None:
    raise ValueError(": must be tables, such as [servers.NAME]")


def _problems_of(lines: toml.Lines, place: tuple[str, ...], table: Any, check: _Check) -> Iterator[ConfigProblem]:
    """The first problem, then that of the table without the key that has it, as long as others can be told so."""
    rest, is_whole = copy.deepcopy(table), True
    while True:
        try:
            check(rest)
            return
        except ValueError as error:
            said = str(error)
        match = _PLACE.match(said)
        names = match[1].split(".")[1:] if match else []
        index = int(match[2]) if match and match[2] else None
        holder = _inside(rest, names[:-1])
        is_there = bool(names) and isinstance(holder, dict) and names[-1] in holder
        if not is_whole and not is_there and _inside(_inside(table, names[:-1]), names[-1:]) is not None:
            return  # it was missed only because its own problem was reported
        rule = "E002" if ": unknown key; " in said else "E003"
        yield ConfigProblem(rule, f"{'.'.join(place)}{said}", lines.nearest((*place, *names), index))
        if not is_there or names[0] in _DECIDES_KIND:
            return
        del holder[names[-1]]
        is_whole = False


def _inside(table: Any, names: list[str]) -> Any:
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table


def _row(path: Path, problem: ConfigProblem, selection: Selection) -> Row:
    rule = RULES[problem.rule]
    values = (
        str(path), problem.line, problem.column, rule.id, rule.severity, problem.message, rule.why, rule.fix, None,
        selection.counts(rule.id),
    )  # fmt: skip
    return dict(zip(FINDING_FIELDS, values, strict=True))
