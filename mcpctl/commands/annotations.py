"""Notes and overrides: their values on the command line, and the printing of changes."""

from collections.abc import Mapping, Sequence

from mcpctl import output
from mcpctl.base.errors import WrongUsage
from mcpctl.base.files import read_stdin
from mcpctl.catalog.rows import HINT_FIELDS
from mcpctl.catalog.tool_notes import Done
from mcpctl.output.text import block_of
from mcpctl.toolsets.toolset import Note

INHERITABLE = {**{name.replace("_", "-"): hint for name, hint in HINT_FIELDS.items()}, "title": "title"}

_MAX_TEXT = 1 << 16


def notes(name: str | None, text: str | None, several: Sequence[str]) -> list[Note]:
    if (name is None) != (text is None):
        raise WrongUsage("a note needs a name and a text", "use: mcpctl annotate add KEY NAME TEXT", "bad_note")
    result = [Note(name, text_of(text))] if name is not None and text is not None else []
    for word in several:
        note, equals, content = word.partition("=")
        if not equals:
            raise WrongUsage("--note needs NAME=TEXT", "for example: --note 'team=Ask first.'", "bad_note")
        result.append(Note(note, content))
    return result


def text_of(text: str) -> str:
    return read_stdin(_MAX_TEXT).strip() if text == "-" else text


def hints(
    values: Mapping[str, bool | None], title: str | None, inherit: Sequence[str]
) -> tuple[dict[str, bool], list[str]]:
    """The hints to set and the members to inherit; raises `WrongUsage` if they contradict each other."""
    members = {**INHERITABLE, **{hint: hint for hint in INHERITABLE.values()}}
    for name in inherit:
        if name not in members:
            raise WrongUsage(f"--inherit has no value '{name}'", f"values: {', '.join(INHERITABLE)}")
    changes = {HINT_FIELDS[name]: value for name, value in values.items() if value is not None}
    inherited = [members[name] for name in inherit]
    if conflicts := set(inherited) & {*changes, *(["title"] if title else [])}:
        raise WrongUsage(f"{min(conflicts)} cannot be set and inherited at once", "leave out one of them")
    if not (changes or inherited or title is not None):
        raise WrongUsage("nothing to set", "use --read-only, --no-destructive, --title, --inherit or the like")
    if title is not None and not 0 < len(title.strip()) <= 200:
        raise WrongUsage("a title needs 1 to 200 characters", "remove the title with: --inherit title", "bad_title")
    return changes, inherited


def write_change(key: str, change: Done, names: Sequence[str], dry_run: bool, json: bool) -> None:
    if json:
        row = {"key": key, "changed": names, "path": str(change.place.path), "diff": list(change.diff)}
        output.write_done(json, lambda: row)
    else:
        output.write_lines(map(block_of, change.diff if dry_run else names))
    if not change.diff:
        output.say("nothing to change")
    elif not dry_run:
        output.say(f"changed {change.place.path}")
