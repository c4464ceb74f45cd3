"""The ways to use a server of a registry: its packages and addresses, as the entries that mcpctl could write of them.

All that the registry says is checked first: strangers write it, and an entry is run.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mcpctl.base import bounds
from mcpctl.config.server_environment import is_here
from mcpctl.config.server_settings import DECIDES, HEADER_NAME
from mcpctl.registry import needs
from mcpctl.registry.needs import ENV, HEADER, INPUT, Answers, Need, Slot, Unfit, told
from mcpctl.registry.server_json import SSE, STDIO, STREAMABLE, InputJson, PackageJson, ServerJson, TransportJson

NPM, PYPI, REMOTE = "npm", "pypi", "remote"
_HOMES = {NPM: "https://registry.npmjs.org", PYPI: "https://pypi.org"}  # where npx and uvx look
_IDENTIFIERS = {
    NPM: re.compile(r"(?:@[A-Za-z0-9][A-Za-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,213}\Z"),
    PYPI: re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?\Z"),  # PEP 508
}
_OTHER = re.compile(  # to npx and uvx such a name is a file, or to uvx an interpreter
    r".*\.(?:tgz|tar|gz|zip|whl|pyz?)\Z|(?:c?python|pypy|graalpy|pyodide)[\d.]*t?\Z", re.IGNORECASE
)
_VERSIONS = {
    # semver.org: to npm anything less is a range of versions, or a tag that may be moved
    NPM: re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z"),
    # PEP 440
    PYPI: re.compile(
        r"(?:\d+!)?\d+(?:\.\d+)*(?:[._-]?(?:a|b|c|rc|alpha|beta|pre|preview)[._-]?\d*)?(?:[._-]?post\d*|-\d+)?"
        r"(?:[._-]?dev\d*)?(?:\+[a-z0-9]+(?:[._-][a-z0-9]+)*)?\Z", re.IGNORECASE,
    ),
}  # fmt: skip
_HARMLESS = {NPM: ("-y", "--yes"), PYPI: ()}  # options of npx and uvx that change nothing here
_FLAG = re.compile(r"-{0,2}[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_OF_HTTP = re.compile(  # headers of the protocol itself, and of those that pass a request on
    r"(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept|mcp-.*|proxy-.*|forwarded"
    r"|x-forwarded-.*|last-event-id)\Z",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9./:@_-]{0,254}\Z")
_ADDRESS = re.compile(r"[!-~]+\Z")


class Way(Struct, frozen=True):
    """One way to use a server."""

    kind: str  # npm, pypi or remote
    what: str  # the package with its version, or the template of the address
    command: tuple[str, ...] = ()
    arguments: tuple[Slot, ...] = ()
    env: tuple[Slot, ...] = ()
    address: Slot = Slot("", ("",))
    headers: tuple[Slot, ...] = ()
    is_sse: bool = False

    @property
    def needs(self) -> list[Need]:
        return needs.needed((*self.arguments, *self.env, self.address, *self.headers))

    def entry(self, answers: Answers) -> dict[str, Any]:
        """The keys of the entry with these values; raises `Unfit`."""
        written = self._written(answers)
        if len(str(written)) > bounds.REGISTRY_ENTRY:
            raise Unfit(f"its entry would have more than {bounds.REGISTRY_ENTRY:,} characters")
        return written

    def _written(self, answers: Answers) -> dict[str, Any]:
        if self.kind == REMOTE:
            (url,) = self.address.texts(answers) or [""]
            headers = {slot.name: text for slot in self.headers for text in slot.texts(answers)}
            written: dict[str, Any] = {"url": _checked_address(url)}
            return written | ({"transport": "sse"} if self.is_sse else {}) | ({"headers": headers} if headers else {})
        program, *args = self.command
        args += [word for slot in self.arguments for text in slot.texts(answers) for word in _words(slot.name, text)]
        env = {slot.name: text for slot in self.env for text in slot.texts(answers)}
        return {"command": program, "args": args} | ({"env": env} if env else {})


class NotUsed(Struct, frozen=True):
    """A package or an address that mcpctl does not use, and why."""

    what: str
    why: str
    instead: str = ""  # what a person can do


def of(server: ServerJson) -> tuple[list[Way], list[NotUsed]]:
    """The ways to use a server: packages first, in the registry's order; of SSE addresses only where no other is."""
    ways: list[Way] = []
    others: list[NotUsed] = []
    for package in (server.packages or ())[: bounds.REGISTRY_WAYS]:
        try:
            ways.append(_of_package(package))
        except Unfit as error:
            others.append(_not_run(package, str(error)))
    remotes = []
    for remote in (server.remotes or ())[: bounds.REGISTRY_WAYS]:
        try:
            remotes.append(_of_remote(remote))
        except Unfit as error:
            others.append(NotUsed(told(remote.url), str(error)))
    newer = [way for way in remotes if not way.is_sse]
    return [*ways, *(newer or remotes)], others


def _not_run(package: PackageJson, why: str) -> NotUsed:
    what = f"{told(package.registry_type)} package {told(package.identifier)}"
    if package.registry_type == "oci" and _IMAGE.match(package.identifier):
        return NotUsed(what, why, f"mcpctl servers add NAME -- docker run -i --rm {shlex.quote(package.identifier)}")
    return NotUsed(what, why)


def _of_package(package: PackageJson) -> Way:
    kind, identifier, version = package.registry_type, package.identifier, package.version
    if kind not in _HOMES:
        raise Unfit("mcpctl runs packages of npm and PyPI only")
    if not _IDENTIFIERS[kind].match(identifier) or _OTHER.match(identifier):
        raise Unfit("this is not the name of a package there")
    if not _VERSIONS[kind].match(version):
        raise Unfit(f"its version is {told(version)!r}, which is not one exact version")
    if package.registry_base_url and package.registry_base_url.rstrip("/").lower() != _HOMES[kind]:
        raise Unfit(f"it is at {told(package.registry_base_url)}, and another package may have its name elsewhere")
    if package.file_sha256:
        raise Unfit("it names the hash of its file, which npx and uvx do not compare")
    if package.transport.type != STDIO:
        raise Unfit(f"it speaks {told(package.transport.type)}, so it has to be started apart from mcpctl")
    for each in package.runtime_arguments or ():
        if each.type != "positional" or each.value not in _HARMLESS[kind]:
            words = told(" ".join(filter(None, (each.name, each.value))) or each.value_hint)
            raise Unfit(f"it wants the option {words!r} of its launcher, which may change what runs")
    return Way(
        kind, f"{identifier}@{version}",
        command=("npx", "-y", f"{identifier}@{version}") if kind == NPM else ("uvx", f"{identifier}@{version}"),
        arguments=tuple(_arguments(_bounded(package.package_arguments))),
        env=tuple(_variables(_bounded(package.environment_variables))),
    )  # fmt: skip


def _bounded(inputs: list[InputJson] | None) -> list[InputJson]:
    if inputs and len(inputs) > bounds.REGISTRY_INPUTS:
        raise Unfit(f"it has more than {bounds.REGISTRY_INPUTS} arguments, variables or headers")
    return inputs or []


def _arguments(inputs: list[InputJson]) -> Iterator[Slot]:
    for number, each in enumerate(inputs, 1):
        if each.type == "named":
            if not _FLAG.match(each.name):
                raise Unfit(f"it has the option {told(each.name)!r}, which is not a name of one")
            found = needs.slot(INPUT, each, each.name.lstrip("-"))
            yield Slot(each.name, found.parts)
        elif each.type == "positional":
            name = each.value_hint if needs.NAME.match(each.value_hint) else f"argument{number}"
            described = msgspec.structs.replace(each, description=each.description or each.value_hint)
            yield Slot("", needs.slot(INPUT, described, name).parts)
        else:
            raise Unfit(f"it has an argument of the unknown type {told(each.type)!r}")


def _words(flag: str, text: str) -> list[str]:
    """An argument as the schema has it, `--flag=value`; a short option and its value are two words. An option with an
    empty value is written alone."""
    if not flag:
        return [text]
    if not text:
        return [flag]
    return [f"{flag}={text}"] if flag.startswith("--") else [flag, text]


def _variables(inputs: list[InputJson]) -> Iterator[Slot]:
    for each in inputs:
        if not _VARIABLE.match(each.name):
            raise Unfit(f"it has the variable {told(each.name)!r}, which is not a name of one")
        if not DECIDES.match(each.name):
            yield needs.slot(ENV, each, each.name)
        elif each.value is not None:
            raise Unfit(f"it sets the variable {each.name}, which may change what runs")
        else:  # its user alone chooses the value
            yield needs.slot(ENV, msgspec.structs.replace(each, default=None, choices=None), each.name)


def _of_remote(remote: TransportJson) -> Way:
    if remote.type not in (STREAMABLE, SSE):
        raise Unfit(f"it speaks {told(remote.type)!r}, which mcpctl does not")
    address = needs.slot(INPUT, InputJson(value=remote.url, is_required=True), "", remote.variables or {})
    if not address.needs:
        _checked_address(remote.url)
    headers = []
    for each in _bounded(remote.headers):
        if not HEADER_NAME.match(each.name) or _OF_HTTP.match(each.name):
            raise Unfit(f"it wants the header {told(each.name)!r}, which is not for servers to choose")
        headers.append(needs.slot(HEADER, each, each.name))
    return Way(REMOTE, told(remote.url), address=address, headers=tuple(headers), is_sse=remote.type == SSE)


def _checked_address(url: str) -> str:
    """The address, with its values in it; raises `Unfit` unless it is encrypted, or of this machine, and complete."""
    plain = _plain(url)
    try:
        parts = urlsplit(plain)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise Unfit("its address is not one") from None
    if not _ADDRESS.match(plain) or not host or any(sign in plain for sign in "$\\{}<>\"'`#"):
        raise Unfit(f"its address {told(url)!r} is not one that can be used as it is")
    if parts.username is not None or "@" in parts.netloc:
        raise Unfit("its address has a user or a password in it")
    if parts.scheme.lower() != "https" and not (parts.scheme.lower() == "http" and is_here(host)):
        raise Unfit(f"its address {told(url)!r} is not encrypted")
    return url


def _plain(url: str) -> str:
    """The address with a letter in place of each value that is known only when it is used."""
    for text in needs.expansions(url):
        url = url.replace(text, "x")
    return url


def listed(ways: Iterable[Way]) -> list[str]:
    """The text of `--use` for each of these, as short as it can be."""
    every = list(ways)
    kinds = [way.kind for way in every]
    return [way.kind if kinds.count(way.kind) == 1 else way.what for way in every]
