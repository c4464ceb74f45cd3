"""The command tree, as the manual needs it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import typer
import typer.main
from typer._click.core import Command, Parameter

from mcpctl.cli.command_tree import tree
from mcpctl.cli.parsing import help_record, sections
from mcpctl.commands import columns


@dataclass(frozen=True)
class CommandParameter:
    """An option or argument, as `--help` has it."""

    names: tuple[str, ...]
    secondary: tuple[str, ...]
    takes: str
    help: str
    section: str


@dataclass(frozen=True)
class Node:
    path: tuple[str, ...]
    help: str
    group: str  # of the commands of the program
    arguments: tuple[CommandParameter, ...]
    options: tuple[CommandParameter, ...]
    children: tuple["Node", ...]
    needs_child: bool  # whether it is no command without one of those below it

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def page(self) -> str:
        return "-".join(self.path)

    @cached_property
    def paragraphs(self) -> list[str]:
        prose = re.split(r"\n*\x08\n", self.help)[0]
        return [" ".join(paragraph.split()) for paragraph in prose.split("\n\n") if paragraph.strip()]

    @cached_property
    def summary(self) -> str:
        return re.split(r"(?<=\.)\s", self.paragraphs[0])[0]

    @cached_property
    def examples(self) -> list[str]:
        match = re.search(r"\x08\nExamples?:\n(.*?)(?:\n\n|\Z)", self.help, re.DOTALL)
        return [line.removeprefix("  ") for line in match[1].splitlines()] if match else []


@cache
def whole() -> Node:
    return _node(_program(), ("mcpctl",), None)


def help_of_the_program(width: int) -> str:
    return typer.Context(_program(), info_name="mcpctl", terminal_width=width, **_program().context_settings).get_help()


@cache
def _program() -> Command:
    return typer.main.get_command(tree())


def _node(command: Command, path: tuple[str, ...], parent: typer.Context | None) -> Node:
    context = typer.Context(command, parent=parent, info_name=path[-1], **command.context_settings)
    parameters = command.get_params(context)
    arguments = [item for item in parameters if item.param_type_name == "argument"]
    options = [item for item in parameters if item.param_type_name == "option" and not getattr(item, "hidden", False)]
    help_ = command.help or ""
    prose, mark, examples = help_.partition("\n\n\x08\n")
    commands: dict[str, Command] = getattr(command, "commands", {})
    leaving = columns.leaving(path, [str(item.name) for item in options])
    grouped = {"": arguments, **sections(options)}
    described = [_parameter(item, context, title) for title, items in grouped.items() for item in items]
    return Node(
        path,
        f"{prose}\n\n{leaving}{mark}{examples}" if leaving else help_,
        str(getattr(command, "rich_help_panel", None) or ""),
        tuple(described[: len(arguments)]),
        tuple(described[len(arguments) :]),
        tuple(_node(child, (*path, name), context) for name, child in commands.items() if not child.hidden),
        bool(commands) and not getattr(command, "invoke_without_command", False),
    )


def _parameter(parameter: Parameter, context: typer.Context, section: str) -> CommandParameter:
    takes = "" if getattr(parameter, "is_flag", False) else parameter.metavar or (parameter.name or "").upper()
    record = help_record(parameter, context)
    names = sorted(parameter.opts, key=len)  # typer keeps the names of --help in a set, in any order
    return CommandParameter(tuple(names), tuple(parameter.secondary_opts), takes, record[1] if record else "", section)
