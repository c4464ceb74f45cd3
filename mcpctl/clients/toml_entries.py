"""Entries of a section of TOML text, such as Codex's `[mcp_servers.NAME]`, moved as whole lines.

Comments, blank lines and all other tables stay as they are. An entry in another form, such as an inline table, has no
lines of its own; whoever calls compares what the text says afterwards.
"""

from collections.abc import Collection, Iterator

from mcpctl.config import toml_places

Place = tuple[str, str]
"""A section and the name of an entry."""


def drop(text: str, places: Collection[Place]) -> str:
    """The text without the lines of the tables at these places."""
    lines = text.split("\n")
    removed = {n for place, start, end in _tables(text) if place in places for n in range(start, end)}
    kept: list[str] = []
    for number, line in enumerate(lines):
        # The blank line after a table goes with it if there is one before it, or nothing.
        is_double = number - 1 in removed and not line.strip() and (not kept or not kept[-1].strip())
        if is_double and number < len(lines) - 1:
            removed.add(number)
        if number not in removed:
            kept.append(line)
    return "\n".join(kept)


def put(text: str, place: Place, table: str) -> str:
    """The text with this text of a table, or of several, in place of what is at `place`, or after its section."""
    own = [(start, end) for each, start, end in _tables(text) if each == place]
    if not own:
        return put_text(text, place, table, None)
    lines = text.split("\n")
    for start, end in reversed(own[1:]):
        del lines[start:end]
    return "\n".join([*lines[: own[0][0]], *_lines(text, table), *lines[own[0][1] :]])


def put_text(text: str, place: Place, table: str, before: str | None) -> str:
    """The text with these lines before the entry `before` of the same section, or behind the section's last table."""
    lines = text.split("\n")
    tables = [each for each in _tables(text) if each[0][0] == place[0]]
    at = next((start for (_, name), start, _ in tables if name == before), None)
    if at is not None:
        return "\n".join([*lines[:at], *_lines(text, f"{table}\n\n-")[:-1], *lines[at:]])
    if not tables:
        while lines and not lines[-1].strip():
            lines.pop()
    at = max((end for _, _, end in tables), default=len(lines))
    new = [*([""] if at else []), *_lines(text, table)]
    rest = lines[at:] or [""]
    return "\n".join([*lines[:at], *(line + ("\r" if _is_crlf(text) and not line else "") for line in new), *rest])


def text_at(text: str, place: Place) -> str:
    """The lines of the tables at `place`, and the blank lines between them."""
    lines = text.split("\n")
    return "\n\n".join("\n".join(lines[start:end]) for each, start, end in _tables(text) if each == place)


def _tables(text: str) -> Iterator[tuple[Place, int, int]]:
    """Every table that is in a section: its place, the number of its first line and that after its last statement."""
    place: Place | None = None
    start = end = 0
    for each in toml_places.statements(text):
        if each.is_header:
            if place:
                yield place, start, end
            place = (each.table[0], each.table[1]) if len(each.table) > 1 else None
            start = each.tokens[0][0] - 1
        end = each.last_line
    if place:
        yield place, start, end


def _lines(text: str, table: str) -> list[str]:
    end = "\r" if _is_crlf(text) else ""
    return [line.removesuffix("\r") + end for line in table.rstrip("\r\n").split("\n")]


def _is_crlf(text: str) -> bool:
    return "\r\n" in text
