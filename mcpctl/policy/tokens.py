"""The tokens in `policy.db`: what each may see, and the hash of its text. The text itself is not kept."""

import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, NotFound, Unusable, WrongUsage
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.paths import Paths
from mcpctl.config import exposure
from mcpctl.config.settings import TOKEN
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import clock, sqlite
from mcpctl.store.state import told

PREFIX = "mcpctl_"  # the beginning of every token, so that people and scanners know one
LONGEST = 256  # characters of a text that is taken for a token at all
_COLUMNS = "id, hash, projects, servers, read_only, created, expires, revoked, name"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}\Z")


class Token(NamedTuple):
    """A token, which only restricts and never permits."""

    id: str
    hash: str
    projects: frozenset[str] = frozenset()  # empty for servers of any project
    servers: frozenset[str] = frozenset()  # empty for any server
    read_only: bool = False
    created: float = 0
    expires: float | None = None
    revoked: float | None = None
    name: str = ""  # the person that has it; empty where nobody said

    def state(self, now: float) -> str:
        if self.revoked is not None:
            return "revoked"
        return "valid" if self.expires is None or now < self.expires else "expired"

    def row(self, now: float) -> dict[str, Any]:
        return {
            "id": self.id,
            "projects": sorted(self.projects),
            "servers": sorted(self.servers),
            "read_only": self.read_only,
            "created": clock.iso(self.created),
            "expires": None if self.expires is None else clock.iso(self.expires),
            "state": self.state(now),
            "name": self.name or None,
        }


def identified(text: str, tokens: Iterable[Token], now: float) -> Token | None:
    """The valid token of this text. Every hash is compared, in a time that does not depend on where two differ."""
    import hmac

    digest = digest_of(text)
    matches = [token for token in tokens if hmac.compare_digest(token.hash, digest)]
    return next((token for token in matches if token.state(now) == "valid"), None)


def digest_of(text: str) -> str:
    """A text has 256 random bits, which nobody can guess: a slow hash, as passwords need, would guard nothing."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def create(
    file: PolicyFile,
    *,
    projects: Collection[str] = (),
    servers: Collection[str] = (),
    read_only: bool = False,
    expires: float | None = None,
    name: str = "",
) -> tuple[Token, str]:
    """A new token and its text; raises `WrongUsage` for a name that is none, or that another valid token has."""
    import secrets

    if name:
        check_name(name)
        if any(token.name == name and token.state(time.time()) == "valid" for token in every(file)):
            hint = f"revoke that first: mcpctl tokens revoke {name}; or give another name"
            raise WrongUsage(f"a valid token has the name '{name}' already", hint, "name_taken")

    text = PREFIX + secrets.token_urlsafe(32)
    id_ = secrets.token_hex(4)
    token = Token(id_, digest_of(text), frozenset(projects), frozenset(servers), read_only, time.time(), expires)
    token = token._replace(name=name)
    row = (*token[:2], _written(projects), _written(servers), *token[4:])
    with told():
        file.db.execute(f"INSERT INTO tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    return token, text


def every(file: PolicyFile) -> tuple[Token, ...]:
    with told():
        rows = file.db.execute(f"SELECT {_COLUMNS} FROM tokens ORDER BY created, id").fetchall()
    return tuple(
        Token(id_, hash_, _read(projects), _read(servers), bool(read_only), *times)
        for id_, hash_, projects, servers, read_only, *times in rows
    )


def revoke(file: PolicyFile, names: Sequence[str]) -> Collection[str]:
    """Revoke all of these or none, each by its id or name, and return their ids; raises `NotFound` for one that no
    token has."""
    with told(), sqlite.transaction(file.db):
        ids = {named(file, name).id for name in names}
        for id_ in ids:
            file.db.execute("UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?", (time.time(), id_))
    return ids


def named(file: PolicyFile, name: str) -> Token:
    """The token of this id or name, of equal names the valid one; raises `NotFound`."""
    tokens, now = every(file), time.time()
    matches = [token for token in tokens if name in (token.id, token.name)]
    if not matches:
        known = [each for token in tokens for each in (token.id, token.name) if each]
        hint = did_you_mean(name, known, "list tokens with: mcpctl tokens ls")
        raise NotFound(f"no token '{name}'", hint, "token_not_found")
    return max(matches, key=lambda token: (token.state(now) == "valid", token.created))


def names(paths: Paths) -> Mapping[str, str]:
    """The names of tokens by their ids; none where they cannot be read, as a list is not worth less for it."""
    with suppress(McpctlError):
        if PolicyFile.is_made(paths):
            with PolicyFile.connect(paths) as file:
                return {token.id: token.name for token in every(file) if token.name}
    return {}


def check_name(name: str) -> None:
    """Raises `WrongUsage`."""
    if not _NAME.match(name):
        hint = "give 1 to 64 letters, digits, ., _, @ or -, such as ann"
        raise WrongUsage(f"--name: '{name[:80]}' is not a name", hint)


def _written(names: Collection[str]) -> str:
    return json.dumps(sorted(set(names)))


def _read(names: str) -> frozenset[str]:
    return frozenset(json.loads(names))


_MAX_FILE = 4096


def own_token(file: Path | None = None) -> str | None:
    """The token in `file`, else in MCPCTL_TOKEN; raises `McpctlError`, and warns of a file that others can read."""
    if file is None:
        return os.environ.get(TOKEN) or None
    text = files.read(file, _MAX_FILE, "token_file").decode("utf-8", "replace").strip()
    if not text or len(text) > LONGEST or len(text.split()) > 1:
        raise Unusable(f"{file} has no token", "put the line there that mcpctl tokens create prints", "token_file")
    exposure.guard_secret(file)
    return text
