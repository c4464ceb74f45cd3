"""A client's file as it was before mcpctl was installed in it, with what has been changed since."""

import dataclasses
from collections.abc import Iterator

from mcpctl.clients import import_preview
from mcpctl.clients.client_config import NAME
from mcpctl.clients.client_draft import Draft, Place
from mcpctl.clients.entry_translation import is_mcpctl
from mcpctl.clients.install_state import Installed

SECTIONS: tuple[Place, ...] = (
    ("mcpServers",), ("servers",), ("mcp_servers",), ("context_servers",), ("mcp", "servers"), ("mcp",),
)  # fmt: skip
"""Where clients have their servers."""


def restored(installed: Installed, current: bytes) -> bytes | None:
    """The bytes of a client's file without mcpctl and with the servers that it had before; None for no file.

    Where nothing has changed since, it is what it was, byte for byte. Else the lines that the installation changed are
    what they were if nobody has touched them. If somebody has, the entry for mcpctl goes, and the former servers come
    back in their own words, but not over a new one.
    """
    installed = _in_line_ends_of(current, installed)
    if current == installed.after:
        return installed.before
    draft = Draft(installed.path, current)
    older, after = Draft(installed.path, installed.before or b""), Draft(installed.path, installed.after)
    changed = [section for section in SECTIONS if older.at(section) != after.at(section)]
    # Where somebody has put a server back, the lines that had it would be there twice.
    is_partly_back = any(name in _servers(draft, section) for section in changed
                         for name in _taken(older, after, section) if name != NAME)  # fmt: skip
    for section in changed:
        _restore(draft, older, after, section)
    if installed.before is None and not draft.value:
        return None
    if not is_partly_back:
        draft.prefer(_unhunked(older.text, after.text, Draft(installed.path, current).text))
    return draft.data


def is_undone(installed: Installed, current: bytes) -> bool:
    """Whether somebody has undone an installation by hand: nothing starts mcpctl, and a former server is back."""
    draft, older, after = (Draft(installed.path, data or b"") for data in (current, installed.before, installed.after))
    servers = {(section, name): value for section in SECTIONS for name, value in _servers(draft, section).items()}
    is_back = any((section, name) in servers for section in SECTIONS for name in _taken(older, after, section))
    return is_back and not any(map(is_mcpctl, servers.values()))


def without_mcpctl(draft: Draft) -> bool:
    """Take every entry that starts mcpctl out of a file of which nothing is known; returns whether there was any."""
    found = [(*section, name) for section in SECTIONS for name, value in _servers(draft, section).items()
             if is_mcpctl(value)]  # fmt: skip
    draft.drop(found)
    return bool(found)


def taken(older: Draft, after: Draft) -> Iterator[str]:
    """The names of the servers that an installation took out of a file."""
    for section in SECTIONS:
        yield from _taken(older, after, section)


def _in_line_ends_of(current: bytes, installed: Installed) -> Installed:
    """What is kept of a file, with the line ends that somebody has given it since."""

    def written(data: bytes) -> bytes:
        plain = data.replace(b"\r\n", b"\n")
        return plain.replace(b"\n", b"\r\n") if b"\r\n" in current else plain

    if (b"\r\n" in current) == (b"\r\n" in installed.after):
        return installed
    before = written(installed.before) if installed.before else installed.before
    return dataclasses.replace(installed, before=before, after=written(installed.after))


def _restore(draft: Draft, older: Draft, after: Draft, section: Place) -> None:
    """Give a section its former entries again, one by one."""
    names = list(_servers(older, section))
    # A person may have given the entry another name; one that was there before is theirs.
    ours = [name for name, value in _servers(draft, section).items()
            if is_mcpctl(value) and (name == NAME or name not in names)]  # fmt: skip
    draft.drop((*section, name) for name in ours)
    for number, name in reversed(list(enumerate(names))):
        is_taken = name == NAME or name in _taken(older, after, section)
        if is_taken and name not in _servers(draft, section):
            following = next((each for each in names[number + 1 :] if each in _servers(draft, section)), None)
            draft.copy(older, (*section, name), following)
    # The header of a table without entries is a person's own.
    if draft.at(section) == {} and not older.has(section) and not draft.is_toml:
        draft.drop([section])


def _taken(older: Draft, after: Draft, section: Place) -> list[str]:
    now = _servers(after, section)
    return [name for name in _servers(older, section) if name not in now]


def _servers(draft: Draft, section: Place) -> dict[str, object]:
    servers = draft.at(section)
    return servers if isinstance(servers, dict) else {}


def _unhunked(older: str, after: str, current: str) -> str:
    """The current text with the lines of `after` that `older` has otherwise as that has them; empty if they are not
    there, or more than once."""
    old, new = older.splitlines(keepends=True), after.splitlines(keepends=True)
    head = import_preview.alike(old, new)
    tail = import_preview.alike(old[head:][::-1], new[head:][::-1])
    lines = "".join(new[head : len(new) - tail])
    if not lines.strip() or current.count(lines) != 1:
        return ""
    return current.replace(lines, "".join(old[head : len(old) - tail]))
