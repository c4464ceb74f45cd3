"""The parsing of command lines: each option once, and options of other programs only after `--`; and their help."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from typing import Any

import typer
from typer._click.core import Parameter
from typer._click.exceptions import (
    BadOptionUsage,
    BadParameter,
    MissingParameter,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)
from typer.core import TyperCommand, TyperGroup

from mcpctl.base.errors import UnknownCommand, WrongUsage
from mcpctl.commands import options as opt

_KINDS = {"float": "number", "int": "whole number", "integer": "whole number"}  # in plain words
_MANY = 10  # options, with which a command has sections of them
_DASHES = "mcpctl.dashes"  # whether the command line has `--`, in the context of a command
_LONGEST = 100  # characters of an unknown option that are compared with those there are
_FIRST = "Options"  # the section of the options without one


class Command(TyperCommand):
    """A command that refuses an option given twice, unless the option is a list."""

    @property
    def takes_program(self) -> bool:
        """Whether the words after `--` are the command line of a server."""
        return any("--" in parameter.opts for parameter in self.params)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), *["[-- COMMAND [ARGS]...]"] * self.takes_program]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = list(self._with_values(ctx, args))
        ctx.meta[_DASHES] = "--" in args
        if self.takes_program and "--" in args:
            args, program = args[: args.index("--")], args[args.index("--") + 1 :]
            ctx.meta[opt.PROGRAM] = program
            if not program and not ctx.resilient_parsing:
                raise WrongUsage("COMMAND is missing after --", f"see: {ctx.command_path} -h", "missing")
        if not ctx.resilient_parsing:
            with _in_words(ctx):
                _, _, parameters = self.make_parser(ctx).parse_args(list(args))
            for parameter, times in Counter(parameters).items():
                if times > 1 and _has_one_value(parameter):
                    name = parameter.opts[0]
                    message = f"{name} is given {times} times, and only one value can count"
                    raise WrongUsage(message, f"give {name} once", "option_repeated")
        with _in_words(ctx):
            return super().parse_args(ctx, args)

    def _with_values(self, ctx: Any, args: list[str]) -> Iterator[str]:
        """The words, with `=` behind each option that stands without the value that it need not have: the parser knows
        no such option. A word that the command takes as its argument is not that value."""
        may_be_bare = {name for each in self.params if _is_optional(each) for name in each.opts}
        arguments = [each for each in self.params if each.param_type_name == "argument"]
        for word, following in zip_longest(args, args[1:]):
            is_bare = word in may_be_bare and (
                following is None
                or following.startswith("-")
                or any(item.value == following for each in arguments for item in each.shell_complete(ctx, following))
            )
            yield f"{word}=" if is_bare else word

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _keep_words_whole()
        super().format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write(ctx, formatter, self)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from mcpctl.commands import columns

        if sentence := columns.leaving(ctx.command_path.split(" "), [str(each.name) for each in self.params]):
            formatter.write_paragraph()
            formatter.write_text(sentence)
        super().format_epilog(ctx, formatter)


class Group(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _in_words(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _in_words(ctx):
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if not ctx.resilient_parsing and word not in self.commands and not word.startswith("-"):
            raise UnknownCommand(word, "" if ctx.parent is None else str(ctx.info_name))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _keep_words_whole()
        super().format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write(ctx, formatter, self)
        width = max(map(len, self.commands))
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            row = f"{name:{width}}", command.get_short_help_str(formatter.width)
            groups.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(row)
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class Commands(typer.Typer):
    """A noun or the program itself; all of its commands are of the classes above."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cls": Group, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        return super().command(name, cls=Command, **settings)


def sections(options: Iterable[Parameter]) -> Mapping[str, list[Parameter]]:
    """The options by section, in the order of a help; few are all in one."""
    listed = list(options)
    if len(listed) - 1 <= _MANY:  # without --help
        return {_FIRST: listed}
    ordered: dict[str, list[Parameter]] = {_FIRST: []}
    for option in listed:
        ordered.setdefault(getattr(option, "rich_help_panel", None) or _FIRST, []).append(option)
    return ordered


def help_record(parameter: Parameter, ctx: Any) -> tuple[str, str] | None:
    """The line of a parameter in a help, if it has one, without click's ranges: [x>=0]."""
    record = parameter.get_help_record(ctx)
    return record and (record[0], re.sub(r"  \[x>=[\d.]+\]|; x>=[\d.]+(?=\])", "", record[1]))


@contextmanager
def _in_words(ctx: Any) -> Iterator[None]:
    """Failures of the parser are told as all others are."""
    try:
        yield
    except NoArgsIsHelpError:
        raise
    except UsageError as error:
        raise _wrong_usage(error, error.ctx or ctx) from None


def _wrong_usage(error: UsageError, ctx: Any) -> WrongUsage:
    see = f"see: {ctx.command_path} -h"
    if isinstance(error, NoSuchOption):
        message = f"there is no option {error.option_name}"
        return WrongUsage(message, _meant(error.option_name, ctx), "no_such_option")
    if isinstance(error, MissingParameter) and error.param:
        return WrongUsage(f"{_told(error.param)} is missing", see, "missing")
    if isinstance(error, BadParameter) and error.param:
        return WrongUsage(f"{_told(error.param)}: {_problem(error)}", see, "bad_value")
    if isinstance(error, BadOptionUsage):
        takes = "needs a value" if "requires" in error.message else "takes no value"
        return WrongUsage(f"{error.option_name} {takes}", see, "bad_value")
    if extra := re.match(r"Got unexpected extra arguments?(?:\(s\))? \(([^ ]+?)\)?(?: |$)", error.message):
        return _extra(extra[1], ctx, see)
    return WrongUsage(error.message[:1].lower() + error.message[1:].removesuffix("."), see)


def _extra(word: str, ctx: Any, see: str) -> WrongUsage:
    """The failure of an argument too many, which may be the value of an option."""
    from mcpctl.config.entry_secrets import masked_url

    is_url = re.match("https?://", word)
    shown = masked_url(word) if is_url else word
    options = {name for parameter in ctx.command.params for name in parameter.opts}
    if option := next((each for each in ("--from", "--url" if is_url else "--server") if each in options), ""):
        see = f"did you mean: {ctx.command_path} {option} {shown}?"
    message = f"{ctx.command_path.removeprefix('mcpctl ')} takes no argument '{shown}'"
    return WrongUsage(message, see, "no_such_argument")


def _meant(name: str, ctx: Any) -> str:
    """The meanings of an unknown option: another one, an argument of a tool, an option of a server's program."""
    from mcpctl.base.near_names import alike

    parameters = ctx.command.params
    names = [each for parameter in parameters for each in (*parameter.opts, *parameter.secondary_opts)]
    options = {each[2:]: each for each in names if re.match("--.", each)}
    near = [options[each] for each in alike(name.lstrip("-")[:_LONGEST], options)]
    takes = [str(parameter.metavar or "") for parameter in parameters]
    meant = [f"see: {ctx.command_path} -h"]
    if name.startswith("--") and any("KEY=VALUE" in each for each in takes):
        meant = [f"an argument is given as {name.lstrip('-')}=VALUE"]
    is_program = any(each.startswith("[-- ") for each in takes)
    if not ctx.meta.get(_DASHES) and (is_program or (getattr(ctx.command, "takes_program", False) and not near)):
        meant = [*meant[is_program:], f"options of the server's program go after --: -- COMMAND {name} …"]
    return "; ".join(meant) if not near else f"did you mean {' or '.join(near)}? {'; '.join(meant)}"


def _told(parameter: Parameter) -> str:
    return parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar or str(parameter.name)


def _problem(error: BadParameter) -> str:
    least = getattr(error.param.type, "min", None) if error.param else None
    if least is not None and "in the range" in error.message:
        return f"must be {least} or more"
    kind = re.search(r"is not a valid (\w+)(?: range)?\.", error.message)
    plain = error.message.replace(kind[0], f"is not a {_KINDS[kind[1]]}") if kind and kind[1] in _KINDS else ""
    return plain or error.message.removesuffix(".")


def _keep_words_whole() -> None:
    """Break no option, such as --dry-run, at its hyphens: one copies it."""
    from typer._click import _textwrap

    _textwrap.TextWrapper = partial(_textwrap.TextWrapper, break_on_hyphens=False)  # type: ignore[assignment, misc]


def _write(ctx: Any, formatter: Any, command: TyperCommand | TyperGroup) -> None:
    parameters = command.get_params(ctx)
    shown = {"Arguments": [each for each in parameters if each.param_type_name == "argument"]}
    shown |= sections(each for each in parameters if each.param_type_name == "option")
    for title, listed in shown.items():
        if records := [record for each in listed if (record := help_record(each, ctx))]:
            with formatter.section(title):
                formatter.write_dl(records)


def _is_optional(parameter: Parameter) -> bool:
    """Whether an option may stand without its value: its metavar says so, as in `[NAME]`."""
    metavar = str(getattr(parameter, "metavar", None) or "")
    return parameter.param_type_name == "option" and metavar.startswith("[") and metavar.endswith("]")


def _has_one_value(parameter: Parameter) -> bool:
    """Whether a second value would replace the first. Repeating a bare switch changes nothing."""
    is_switch = getattr(parameter, "is_flag", False) and not parameter.secondary_opts
    return parameter.param_type_name == "option" and not parameter.multiple and not is_switch
