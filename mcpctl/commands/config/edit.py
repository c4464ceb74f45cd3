"""`mcpctl config edit`"""

from mcpctl import output
from mcpctl.base import files
from mcpctl.base.errors import McpctlError, Refused, Unusable, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.commands import options as opt
from mcpctl.config import config, editing

_AGAIN = "edit it again with: mcpctl config edit"


def edit(*, place: opt.Location) -> None:
    """Edit config.toml in your editor, and check it.

    It opens a copy in $VISUAL or $EDITOR, else in vi. Problems are shown with their lines, and the copy is opened
    again. Nothing is written before the text is right, or you say so; a change that has tools called without a question
    that could not be before is shown first, and only a person at a terminal can make it. If somebody else has changed
    the file meanwhile, theirs stays, and you are told where your text is.

    Examples:
      mcpctl config edit
      EDITOR='code --wait' mcpctl config edit
    """
    from mcpctl.commands import confirmation, editor

    if not confirmation.is_terminal():
        hint = "change it with mcpctl servers set, or with an editor and then: mcpctl config check"
        raise WrongUsage("nobody can be asked here", hint)
    paths = place.paths(creates=True)
    before = editing.text_of(paths.config)
    shown = editing.FIRST_LINE if before is None else before
    with editor.draft(paths.config.name, shown) as draft:
        while (after := draft.edited(files.MAX_BYTES).removeprefix(files.BOM)) != shown:
            if not after.strip():
                raise McpctlError("the text is empty; nothing was written", "remove servers with: mcpctl servers rm")
            if _is_accepted(paths, before or "", after):
                editing.replace(paths.config, before, after, _gate(paths, before or ""))
                output.say(f"written to {paths.config}", always=True)
                return
    _shows_problems(paths, before or "")
    _check_use(paths, before or "", f"nothing was changed: {paths.config} still cannot be used")
    output.say("nothing was changed", always=True)


def _shows_problems(paths: Paths, text: str) -> bool:
    from mcpctl.config import problems

    found = problems.rows(paths.config, text, Selection("error"))
    for row in found:
        output.say(f"line {row['line']}: {row['message']}", always=True)
    return bool(found)


def _check_use(paths: Paths, text: str, otherwise: str) -> None:
    """Raises `Unusable`, which says `otherwise`, where nothing of the text could be used."""
    try:
        config.parsed(paths.config, text)
    except Unusable as error:
        raise Unusable(otherwise, _AGAIN, error.code) from error


def _is_accepted(paths: Paths, before: str, after: str) -> bool:
    """Whether the text is to be written; it is to be edited again if not. Raises `Refused` where it is neither."""
    from mcpctl.commands import confirmation

    if _shows_problems(paths, after):
        if confirmation.agrees("Edit it again?", default=True):
            return False
        _check_use(paths, after, f"nothing was written, and {paths.config} is as it was: your text cannot be used")
        confirmation.ask("Write it as it is? Servers with problems are skipped.", _AGAIN)
    freed = confirmation.freed(paths, before, after) if _is_usable(paths, before) else ""
    if freed and confirmation.may_be_a_person():
        output.say(f"these could be called without a question, or more often: {freed}", always=True)
        if not confirmation.agrees("Write it all the same?"):
            if confirmation.agrees("Edit it again?", default=True):
                return False
            raise Refused("nothing was written: you said no", _AGAIN, "declined")
    return True


def _gate(paths: Paths, before: str) -> editing.Permit:
    """A file that cannot be used has nothing to compare with: what it says to let be called, a person has to say."""
    from mcpctl.commands import confirmation

    if _is_usable(paths, before):
        return confirmation.Gate(paths).config
    return lambda *_: confirmation.only_for_people(f"replace a {paths.config.name} that cannot be used")


def _is_usable(paths: Paths, text: str) -> bool:
    try:
        config.parsed(paths.config, text)
    except McpctlError:
        return False
    return True
