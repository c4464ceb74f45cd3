"""How notes and overrides are given and listed."""

from collections.abc import Mapping, Sequence

from mcpctl import output
from mcpctl.catalog.rows import HINT_FIELDS
from mcpctl.catalog.tool_notes import Done
from mcpctl.errors import WrongUsage
from mcpctl.files import read_stdin
from mcpctl.models import ANNOTATION_FIELDS
from mcpctl.output import Columns
from mcpctl.output.text import block_of
from mcpctl.toolsets.toolset import Note

COLUMNS = Columns(
    fields=ANNOTATION_FIELDS,
    shown=("key", "kind", "name", "value"),
    cut=frozenset(("value", "path")),
    noun="notes and overrides",
    empty="nothing is noted yet; add a note with: mcpctl annotate add KEY NAME TEXT",
)
INHERITABLE = {**{name.replace("_", "-"): hint for name, hint in HINT_FIELDS.items()}, "title": "title"}

_MOST_TEXT = 1 << 16


def notes(name: str | None, text: str | None, several: Sequence[str]) -> list[Note]:
    """The notes of a command line, `-` being the text on stdin; raises `WrongUsage`."""
    found = []
    if (name is None) != (text is None):
        raise WrongUsage("a note has a name and a text", "write: mcpctl annotate add KEY NAME TEXT", "bad_note")
    if name is not None and text is not None:
        found.append(Note(name, read_stdin(_MOST_TEXT).strip() if text == "-" else text))
    for word in several:
        named, equals, said = word.partition("=")
        if not equals:
            raise WrongUsage("--note wants NAME=TEXT", "write for example: --note 'team=Ask first.'", "bad_note")
        found.append(Note(named, said))
    return found


def hints(
    given: Mapping[str, bool | None], title: str | None, inherit: Sequence[str]
) -> tuple[dict[str, bool], list[str]]:
    """The hints to be set and the members to be inherited; raises `WrongUsage` when they contradict each other."""
    members = {**INHERITABLE, **{hint: hint for hint in INHERITABLE.values()}}
    for name in inherit:
        if name not in members:
            raise WrongUsage(f"--inherit has no value '{name}'", f"values: {', '.join(INHERITABLE)}")
    wanted = {HINT_FIELDS[name]: value for name, value in given.items() if value is not None}
    inherited = [members[name] for name in inherit]
    if both := set(inherited) & {*wanted, *(["title"] if title else [])}:
        raise WrongUsage(f"{min(both)} cannot be set and inherited at once", "leave out one of them")
    if not (wanted or inherited or title is not None):
        raise WrongUsage("nothing to set", "give --read-only, --no-destructive, --title, --inherit or the like")
    if title is not None and not 0 < len(title.strip()) <= 200:
        raise WrongUsage("a title has 1 to 200 characters", "take it away with: --inherit title", "bad_title")
    return wanted, inherited


def told(done: Done, lines: Sequence[str], dry_run: bool) -> None:
    """Print the change of a dry run, or what was changed."""
    output.write_lines(map(block_of, done.diff if dry_run else lines))
    if not done.diff:
        output.say("nothing to change")
    elif not dry_run:
        output.say(f"changed {done.place.path}")
