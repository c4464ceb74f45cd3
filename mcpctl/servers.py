"""The servers of config.toml as people see them, and changes of their fields and of the tools that they offer."""

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import fields as base_fields
from mcpctl.base.errors import Unusable, WrongUsage
from mcpctl.base.models import Row
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import join
from mcpctl.catalog.cache import Catalog
from mcpctl.config import config, editing, exposure
from mcpctl.config.config import Config
from mcpctl.config.entry_secrets import (
    masked,
    masked_args,
    masked_auth,
    masked_header,
    masked_oauth,
    masked_parameters,
    masked_url,
)
from mcpctl.config.server_settings import API_ONLY, LOCAL_ONLY, NOT_OF_APIS, REMOTE_ONLY, STDIO, Server
from mcpctl.oauth.token_store import TokenStore, login_state
from mcpctl.policy.rules import Offers, refusing
from mcpctl.policy.view import View
from mcpctl.secrets.redact import mask
from mcpctl.store import clock
from mcpctl.store.state import State

FIELDS = base_fields.names(base_fields.ServerRow)
_AS_WRITTEN = ("enabled", "env_file", "cwd", "start_timeout_s", "call_timeout_s", "projects", "only", "may_ask")
_SETTINGS = tuple(field.name for field in msgspec.structs.fields(Server))
# Tables: given members are put beside those that they have.
MERGED = ("env", "headers", "oauth", "tools", "auth", "parameters")
Change = Callable[[Any], None]  # a function that edits the document of a config.toml, for `editing.edit` and `edited`
_OF_APIS = (
    "openapi",
    "document",
    "base",
    "destinations",
    "skipped",
    "schemes",
    "unset",
    *API_ONLY,
)  # fields that others do not have
_OF_PROGRAMS = ("command", "args", "oauth", "env", "inherit_env", "cwd", "may_ask", "expose", "prompts", "resources")
Keys = Sequence[tuple[str, str]]


def ls(paths: Paths, project: str | None = None) -> list[Row]:
    """A row for every entry of the file, or for those that `project` sees, usable or not, by name."""
    with State.opened(paths) as state:
        loaded = config.load(paths.config, project)
        catalog = Catalog(View(loaded), state)
        names = {*loaded.servers, *loaded.problems} - loaded.elsewhere
        return [row(paths, loaded, name, catalog, TokenStore(paths)) for name in sorted(names)]


def show(paths: Paths, name: str) -> Row:
    rows = {row["name"]: row for row in ls(paths)}
    if name not in rows:
        raise config.no_server(name, rows)
    return rows[name]


def row(paths: Paths, loaded: Config, name: str, catalog: Catalog, logins: TokenStore) -> Row:
    """One entry, its secrets masked; `problem` is why it is unusable, or its last failure, at `failed_at`."""
    server = loaded.servers.get(name)
    listed = catalog.listed(name)
    values: dict[str, Any] = dict.fromkeys(FIELDS)
    values.update(name=name, problem=loaded.problems.get(name))
    if server:
        offers = (lambda _: True) if server.only is None else Offers(server.only).has
        values.update(
            **{field: getattr(server, field) for field in _AS_WRITTEN},
            transport=server.kind,
            runs=masked_url(server.url)
            or mask(server.openapi)
            or shlex.join([mask(server.command), *masked_args(server.args)]),
            command=mask(server.command) or None,
            args=masked_args(server.args),
            url=masked_url(server.url) or None,
            headers={header: masked_header(value) for header, value in server.headers.items()},
            oauth=masked_oauth(server.oauth),
            env={variable: masked(value) for variable, value in server.env.items()},
            inherit_env=server.inherit_env if server.kind == STDIO else None,
            permissions=server.tools,
            expose=list(loaded.exposes(name)),
            tools=sum(offers(tool.name) for tool in listed.tools) if listed else None,
            **catalog.feature_counts(name),
            listed_at=clock.iso(listed.fetched_at) if listed else None,
        )
        if server.openapi:
            values.update(_of_api(paths, name, server, loaded.path))
        refused_at = None
        if failure := catalog.state.last_failure(name, server.fingerprint):
            problem = failure.message.removeprefix(f"server '{name}' ")
            values.update(problem=problem, failed_at=clock.iso(failure.at))
            refused_at = failure.at if failure.code == "needs_login" else None
        login, ends_at = login_state(logins, server, loaded.path, refused_at)
        values.update(login=login, login_expires_at=None if ends_at is None else clock.iso(ends_at))
    return values


def _of_api(paths: Paths, name: str, server: Server, path: Path) -> Row:
    """The settings of an HTTP API, and its document as it was last read; that is left out where there is none."""
    from mcpctl.openapi import overview, snapshot

    values: dict[str, Any] = {field: getattr(server, field) for field in API_ONLY} | {"may_ask": None, "expose": None}
    values |= {"auth": masked_auth(server.auth), "parameters": masked_parameters(server.parameters)}
    values["openapi"] = mask(server.openapi)
    try:
        return {**values, **overview.facts(snapshot.load(paths, name, server), server, path)}
    except Unusable as error:
        return values | {"problem": f"{error.message}; {error.hint}"}


def shown(row: Row) -> Row:
    """The fields of a row that its kind of server has."""
    gone = _OF_PROGRAMS if row["openapi"] else _OF_APIS
    return {field: value for field, value in row.items() if field not in gone}


def remark(path: Path, name: str) -> str | None:
    """A warning about an entry of the file that can be used; None where there is nothing to say."""
    server = config.load(path).servers.get(name)
    command = server.command if server and "PATH" not in server.env else None
    if command and not {os.sep, "$"} & {*command} and not shutil.which(command):
        return f"there is no command {command!r} on the PATH; install it, or write its absolute path"
    return exposure.in_the_clear(server) if server else None


def set_fields(path: Path, name: str, given: Mapping[str, Any], unset: Sequence[str]) -> Change:
    """The change that unsets fields, then sets others (`FIELD` or `env.NAME`); raises `NotFound`, `WrongUsage`."""
    if not given and not unset:
        raise WrongUsage("nothing to change was given", "see: mcpctl servers set --help")
    places = [_place(field) for field in unset]

    def change(document: Any) -> None:
        entry = editing.entry_of(path, document, name)
        with editing.before_comments(entry):
            for field, part in places:
                _take_out(entry, field, part)
            for field, value in given.items():
                if field in MERGED:
                    editing.table_of(entry, field).update(value)
                else:
                    entry[field] = value
            if not {"transport", "openapi"} & {*entry} and editing.is_sse(given.get("url", "")):
                entry["transport"] = "sse"
        _check(path, document, name)

    return change


def _place(field: str) -> tuple[str, str]:
    """The field that `--unset` names, and its member; raises `WrongUsage`."""
    name, _, part = field.partition(".")
    if name not in _SETTINGS:
        raise WrongUsage(
            f"no field '{name}' of a server",
            did_you_mean(name, _SETTINGS, f"fields: {', '.join(_SETTINGS)}"),
            "no_such_field",
        )
    if part and name not in MERGED:
        raise WrongUsage(f"{name} has no fields of its own", f"take all of it out with: --unset {name}")
    return name, part


def _take_out(entry: Any, field: str, part: str) -> None:
    if not part:
        entry.pop(field, None)
    elif isinstance(table := entry.get(field), MutableMapping):
        table.pop(part, None)
        if not table and "#" not in table.as_string():  # type: ignore[attr-defined]
            entry.pop(field)


def deny(path: Path, keys: Keys, changed: set[str]) -> Change:
    """The change that sets tools false; the keys that were not are put into `changed`. It raises `NotFound`."""

    def change(document: Any) -> None:
        changed.clear()
        for server, name in keys:
            with editing.before_comments(editing.entry_of(path, document, server)) as entry:
                tools = editing.table_of(entry, "tools")
                if tools.get(name) is not False:
                    tools[name] = False
                    changed.add(join(server, name))

    return change


def allow(path: Path, keys: Keys, changed: set[str]) -> Change:
    """The change that no rule in an entry bars these tools; the barred keys go to `changed`. It raises `NotFound`."""

    def change(document: Any) -> None:
        changed.clear()
        for server, name in keys:
            with editing.before_comments(editing.entry_of(path, document, server)) as entry:
                while (written := refusing(_denials(entry), name)) is not None:
                    _take_out(entry, "tools", written)
                    changed.add(join(server, name))
                if isinstance(only := entry.get("only"), list) and not Offers(only).has(name):
                    only.append(name)
                    changed.add(join(server, name))

    return change


def _denials(entry: Any) -> Mapping[str, bool | str]:
    tools = entry.get("tools")
    return dict(tools) if isinstance(tools, MutableMapping) else {}


def _check(path: Path, document: Any, name: str) -> None:
    import tomlkit

    if problem := config.parsed(path, tomlkit.dumps(document)).problems.get(name):
        reason = problem.removeprefix(f"{path}: servers.{name}").lstrip(".: ")
        entry = document["servers"][name]
        others: Sequence[str] = (*(LOCAL_ONLY if "url" in entry else REMOTE_ONLY), *API_ONLY)
        others = NOT_OF_APIS if "openapi" in entry else others
        unset = " ".join(f"--unset {field}" for field in others if field in entry)
        hint = f"take out the fields that are not for it with: {unset}" if unset else "see: mcpctl servers set --help"
        raise WrongUsage(f"server '{name}' could not be used then: {reason}", hint)
