"""The parsing of command lines: each option once, and options of other programs only after `--`."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import typer
from typer._click.core import Parameter
from typer._click.exceptions import BadParameter, NoSuchOption, UsageError
from typer.core import TyperCommand, TyperGroup

from mcpctl.base.errors import UnknownCommand, WrongUsage

_KINDS = {"float": "number", "int": "whole number", "integer": "whole number"}  # in plain words


class Command(TyperCommand):
    """A command that refuses an option given twice, unless the option is a list."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            try:
                _, _, parameters = self.make_parser(ctx).parse_args(list(args))
            except NoSuchOption as error:
                self._ask_for_dashes(error, args)
                raise
            for parameter, times in Counter(parameters).items():
                if times > 1 and _has_one_value(parameter):
                    name = parameter.opts[0]
                    message = f"{name} is given {times} times, and only one value can count"
                    raise WrongUsage(message, f"give {name} once", "option_repeated")
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            kind = re.search(r"is not a valid (\w+)(?: range)?\.", error.message)
            if kind and kind[1] in _KINDS:
                error.message = error.message.replace(kind[0], f"is not a {_KINDS[kind[1]]}.")
            raise
        except UsageError as error:
            self._ask_for_from(ctx, error)
            raise

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from mcpctl.commands import columns

        if sentence := columns.leaving(ctx.command_path.split(" "), [str(each.name) for each in self.params]):
            formatter.write_paragraph()
            formatter.write_text(sentence)
        super().format_epilog(ctx, formatter)

    def _ask_for_from(self, ctx: Any, error: UsageError) -> None:
        """Raise `WrongUsage` if an argument too many is what --from takes."""
        word = re.match(r"Got unexpected extra arguments?(?:\(s\))? \((\S+)", error.message)
        if word and any("--from" in parameter.opts for parameter in self.params):
            name = word[1].removesuffix(")")
            hint = f"did you mean: {ctx.command_path} --from {name}?"
            raise WrongUsage(f"{ctx.command_path} takes no argument '{name}'", hint, "no_such_argument") from error

    def _ask_for_dashes(self, error: NoSuchOption, args: list[str]) -> None:
        """Raise `WrongUsage` if the unknown option may be meant for the program that the command line starts."""
        if "--" in args or not any((parameter.metavar or "").startswith("[-- ") for parameter in self.params):
            return
        near = f"did you mean {' or '.join(sorted(error.possibilities))}? " if error.possibilities else ""
        hint = f"{near}options of the server's program go after --: -- COMMAND {error.option_name} …"
        raise WrongUsage(f"no such option: {error.option_name}", hint, "no_such_option")


class Group(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if not ctx.resilient_parsing and word not in self.commands and not word.startswith("-"):
            raise UnknownCommand(word, "" if ctx.parent is None else str(ctx.info_name))
        return super().resolve_command(ctx, args)


class Commands(typer.Typer):
    """A noun or the program itself; all of its commands are of the classes above."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=Group, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        return super().command(name, cls=Command, **settings)


def _has_one_value(parameter: Parameter) -> bool:
    """Whether a second value would replace the first. Repeating a bare switch changes nothing."""
    is_switch = getattr(parameter, "is_flag", False) and not parameter.secondary_opts
    return parameter.param_type_name == "option" and not parameter.multiple and not is_switch
