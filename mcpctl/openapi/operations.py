"""The operations of a document as tools, and those that are none, with the reason."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from mcpctl.base import bounds
from mcpctl.base.models import HINTS, HTTP, REQUEST, TAGS
from mcpctl.openapi import descriptions
from mcpctl.openapi.bases import Bases
from mcpctl.openapi.bodies import Bodies, DescribedBody
from mcpctl.openapi.definitions import Definitions
from mcpctl.openapi.faults import OperationFault, WrongDocument
from mcpctl.openapi.naming import argument_names, tool_names
from mcpctl.openapi.parameters import Described, NoArguments, read_parameters
from mcpctl.openapi.references import References
from mcpctl.openapi.schemas import Schemas, Used
from mcpctl.openapi.security import Security
from mcpctl.openapi.snapshot import LEFT_OUT, CompiledDocument, HttpOperation

SENT = ("get", "put", "post", "delete", "head", "patch")
_NOT_SENT = ("options", "trace", "query")
_CHOSEN_BY = "contentType"
_TAGS, _LONGEST_TAG = 10, 100
_LONGEST = 200
_LONGEST_REASON, _LONGEST_VERSION = 300, 20
_DEPRECATED = "deprecated"  # the reason, and the key of the entry
_HASH = 32  # hex digits: nobody finds two documents with one
_FIX = "correct it there, or get another document"


class ChosenEntry(msgspec.Struct, frozen=True):
    """All of an entry of the configuration on which the compiled document depends."""

    place: str  # of the document: its address, or its name in its folder
    name: str  # of it, for messages
    source: str  # as the entry has it
    url: str = ""
    include: list[str] = []
    exclude: list[str] = []
    deprecated: bool = False
    parameters: list[str] = []
    headers: list[str] = []
    origins: list[str] = []
    whole: str = ""  # the name of the only tool that is made, with a definition that is not shortened


class _Listed(msgspec.Struct, frozen=True):
    """An operation of the document, before anything of it is read."""

    method: str
    path: str
    value: Any
    item: Mapping[str, Any]  # its path's
    place: str  # the file in which both stand

    @property
    def id(self) -> Any:
        return self.value.get("operationId") if isinstance(self.value, dict) else None

    @property
    def tags(self) -> list[str]:
        tags = self.value.get("tags") if isinstance(self.value, dict) else None
        return [each for each in tags if isinstance(each, str)] if isinstance(tags, list) else []


class Operations:
    """Reads one document for one entry."""

    def __init__(self, document: dict[str, Any], references: References, entry: ChosenEntry) -> None:
        self._document, self._references, self._entry = document, references, entry
        self._is_3_0 = document["openapi"].startswith("3.0")
        self._skipped: dict[str, list[str]] = {}
        self._number = 0
        self._ids_not_sent: list[Any] = []
        self._security = Security(document, references, entry.name)
        self._bases = Bases(document, entry.place, entry.name, entry.url, entry.origins)
        schemas = Schemas(references, is_3_0=self._is_3_0)
        self._schemas = schemas
        self._bodies = Bodies(references, schemas, is_3_0=self._is_3_0)
        self._definitions = Definitions(schemas, bounds.OPENAPI_TEXT if entry.whole else bounds.OPENAPI_DEFINITION)
        headers = frozenset(("header", name.lower()) for name in entry.headers)
        self._given = NoArguments(frozenset(entry.parameters), headers | self._security.api_keys)
        self._include, self._exclude = _pattern(entry.include), _pattern(entry.exclude)
        chosen = [("include", each) for each in entry.include] + [("exclude", each) for each in entry.exclude]
        self._unmatched = {f"{key} {each!r}": pattern for key, each in chosen if (pattern := _pattern([each]))}

    def compiled(self, sha256: str, made_at: float) -> CompiledDocument:
        """The document with all operations that can be sent; raises `WrongDocument`."""
        made = self._bounded(self._tools())
        if not made:
            is_chosen = self._entry.include or self._entry.exclude
            hint = "check the patterns of include and exclude" if is_chosen else _FIX
            if self._skipped.keys() == {_DEPRECATED}:
                hint = f"have deprecated ones, too: in its entry in config.toml, write {_DEPRECATED} = true"
            raise WrongDocument(f"{self._entry.name}#/paths: no operation is usable{self._reasons()}", hint)
        info = self._document.get("info") or {}
        return CompiledDocument(
            made_at=made_at,
            source=self._entry.source,
            sha256=sha256,
            openapi=self._document["openapi"][:_LONGEST_VERSION],
            title=descriptions.title(info.get("title")),
            version=str(info.get("version", ""))[:_LONGEST],
            description=descriptions.cut(descriptions.plain(info.get("description"))),
            base=self._bases.of_most or made[0].base,
            schemes=self._security.schemes,
            skipped=self._skipped,
            unmatched=list(self._unmatched),
            operations=made,
        )

    def _reasons(self) -> str:
        most = sorted(self._skipped.items(), key=lambda each: -len(each[1]))[:3]
        return "".join(f"; {len(which)}: {reason}" for reason, which in most)

    def _bounded(self, tools: Iterator[HttpOperation]) -> list[HttpOperation]:
        hint = "choose the operations that you need with --include"
        made: list[HttpOperation] = []
        size = whole = 0
        for each in tools:
            made.append(each)
            size += len(each.definition)
            whole += len(msgspec.json.encode(each))
            if len(made) > bounds.TOOLS:
                raise WrongDocument(f"{self._entry.name}#/paths has more than {bounds.TOOLS:,} operations", hint)
            if size > bounds.LIST_BYTES or whole > 2 * bounds.LIST_BYTES:
                most = bounds.LIST_BYTES >> 20
                raise WrongDocument(f"{self._entry.name}#/paths: its tools have more than {most} MB", hint)
        return made

    def _tools(self) -> Iterator[HttpOperation]:
        listed = list(self._listed())
        ids = [(each.method, each.path, each.id) for each in listed]
        callbacks = [id for each in listed for id in self._callbacks(each)]
        webhooks = self._never_called(self._document.get("webhooks"), self._references.place, "a webhook")
        others = [*self._ids_not_sent, *callbacks, *webhooks]
        for name, each in zip(tool_names(ids, others), listed, strict=True):
            try:
                self._check_chosen(name, each)
                yield self._tool(name, each)
            except OperationFault as fault:
                self._skip(str(fault), f"{each.method} {each.path}")

    def _count(self) -> None:
        self._number += 1
        if self._number > bounds.OPENAPI_OPERATIONS:
            most = bounds.OPENAPI_OPERATIONS
            raise WrongDocument(f"{self._entry.name}#/paths has more than {most:,} operations", "make it smaller")

    def _skip(self, reason: str, which: str) -> None:
        self._count()
        self._skipped.setdefault(reason[:_LONGEST_REASON], []).append(which[:_LONGEST_REASON])

    def _listed(self) -> Iterator[_Listed]:
        """All operations of all paths; those of methods that are never sent are skipped here."""
        for path, written in (self._document.get("paths") or {}).items():
            if path.startswith("x-"):
                continue
            try:
                item, place = self._item(written)
            except OperationFault as fault:
                self._skip(str(fault), path)
                continue
            for method in SENT:
                if method in item:
                    self._count()
                    yield _Listed(method.upper(), path, item[method], item, place)
            others = item.get("additionalOperations")
            not_sent = {each: item[each] for each in _NOT_SENT if each in item}
            for method, value in {**not_sent, **(others if isinstance(others, dict) else {})}.items():
                self._skip(f"the method {method.upper()[:_LONGEST]} is never sent", f"{method.upper()} {path}")
                self._ids_not_sent.append(value.get("operationId") if isinstance(value, dict) else None)

    def _item(self, written: Any) -> tuple[Mapping[str, Any], str]:
        target = self._references.followed(written, self._references.place)
        if target.value is None:
            return {}, target.place
        if not isinstance(target.value, dict):
            raise OperationFault("a path is no object")
        is_beside = target.place == self._references.place and "$ref" in written
        beside = {name: value for name, value in written.items() if name != "$ref"} if is_beside else {}
        return {**target.value, **beside}, target.place

    def _callbacks(self, listed: _Listed) -> Iterator[Any]:
        """The ids of the callbacks of an operation, which are skipped."""
        callbacks = listed.value.get("callbacks") if isinstance(listed.value, dict) else None
        return self._never_called(callbacks, listed.place, "a callback")

    def _never_called(self, written: Any, place: str, kind: str) -> Iterator[Any]:
        for name, each in written.items() if isinstance(written, dict) else ():
            try:
                target = self._references.followed(each, place).value
            except OperationFault as fault:
                self._skip(str(fault), name)
                continue
            # A callback has paths, and a webhook is one.
            items = target.values() if kind == "a callback" and isinstance(target, dict) else [target]
            for item in items:
                for method in (*SENT, *_NOT_SENT) if isinstance(item, dict) else ():
                    if method in item:
                        self._skip(f"{kind}, which is never called", f"{method.upper()} {name}")
                        yield item[method].get("operationId") if isinstance(item[method], dict) else None

    def _check_chosen(self, name: str, listed: _Listed) -> None:
        if not isinstance(listed.value, dict):
            raise OperationFault("an operation is no object")
        if not listed.path.startswith("/"):
            raise OperationFault("a path does not begin with /")
        if self._entry.whole not in ("", name):
            raise OperationFault("another one is chosen")
        names = (name, f"{listed.method} {listed.path}", *(f"tag:{each}" for each in listed.tags))
        for matched in [key for key, each in self._unmatched.items() if any(map(each.fullmatch, names))]:
            del self._unmatched[matched]
        if (self._include and not any(map(self._include.fullmatch, names))) or (
            self._exclude and any(map(self._exclude.fullmatch, names))
        ):
            raise OperationFault(LEFT_OUT)
        if listed.value.get("deprecated") is True and not self._entry.deprecated:
            raise OperationFault(_DEPRECATED)

    def _tool(self, name: str, listed: _Listed) -> HttpOperation:
        operation, place = listed.value, listed.place
        base = self._bases.of(operation.get("servers"), listed.item.get("servers"))
        security = self._security.of(operation)
        lists = [(each["parameters"], place) for each in (listed.item, operation) if each.get("parameters")]
        parameters = read_parameters(self._references, listed.path, lists, self._given)
        used: Used = {}
        body = None
        if "requestBody" in operation:
            body = self._bodies.read(operation["requestBody"], place, listed.method, used)
        parameters, body = _named(parameters, body)
        schema = self._input_schema(parameters, body, used)
        made = HttpOperation(
            tool=name,
            method=listed.method,
            path=listed.path,
            base=base,
            definition=msgspec.Raw(b"{}"),
            parameters=[each.parameter for each in parameters],
            body=body.body if body else None,
            security=security,
        )
        request_hash = self._hash_of(made)
        definition = self._definitions.made(_head(name, listed), schema, used, _tail(listed, request_hash))
        made = msgspec.structs.replace(made, definition=definition, request_hash=request_hash)
        if len(msgspec.json.encode(made)) > len(made.definition) + bounds.OPENAPI_DEFINITION:
            raise OperationFault("its request takes too much to describe")
        return made

    def _hash_of(self, made: HttpOperation) -> str:
        """The hash of all by which a request is made, whatever the order in which the document has it. A base of the
        entry is none of the document's, and may be a secret."""
        parameters = sorted(made.parameters, key=lambda each: (each.place, each.name))
        named = {name for alternative in made.security for name in alternative}
        base = "" if made.base == self._entry.url.rstrip("/") else made.base
        request = msgspec.structs.replace(made, base=base, parameters=parameters)
        schemes = {name: scheme for name, scheme in self._security.schemes.items() if name in named}
        text = msgspec.json.encode((request, schemes), order="deterministic")
        return hashlib.sha256(text).hexdigest()[:_HASH]

    def _input_schema(self, parameters: Iterable[Described], body: DescribedBody | None, used: Used) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        for each in parameters:
            name = each.parameter.argument
            if not name:
                continue
            schema = self._schemas.converted(each.schema, each.place, used)
            marks = {"deprecated": True} if each.is_deprecated else {}
            properties[name] = _with_description(schema, each.description, marks)
            required += [name] if each.is_required else []
        if body:
            properties[body.body.argument] = _with_description(body.schema, body.description, {})
            required += [body.body.argument] if body.body.is_required else []
            if body.body.chosen_by:
                types = [each.media_type for each in body.body.contents]
                properties[body.body.chosen_by] = {"type": "string", "enum": types, "default": types[0]}
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }


def _pattern(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern that is any of these, in which `*` stands for any text. None gives back what it has taken, so that
    no tag of a stranger makes it try for ever."""
    each = []
    for pattern in patterns:
        first, *parts = map(re.escape, re.split(r"\*+", pattern))
        between = "".join(f"(?>.*?{part})" for part in parts[:-1])
        each.append(f"(?:{first}{between}{f'.*{parts[-1]}' if parts else ''})")
    return re.compile("|".join(each), re.DOTALL) if each else None


def _named(parameters: list[Described], body: DescribedBody | None) -> tuple[list[Described], DescribedBody | None]:
    """The parameters and the body with names for their arguments, of which none is there twice."""
    places = [(each.parameter.name, each.parameter.place) for each in parameters if each.parameter.argument]
    if body:
        places.append((body.body.argument, "body"))
        places += [(_CHOSEN_BY, "body")] if len(body.body.contents) > 1 else []
    names = argument_names(places)
    if names is None:
        raise OperationFault("two of its parameters would have the same name")
    left = iter(names)
    parameters = [
        replace(each, parameter=replace(each.parameter, argument=next(left))) if each.parameter.argument else each
        for each in parameters
    ]
    if body:
        body = replace(body, body=replace(body.body, argument=next(left), chosen_by=next(left, "")))
    return parameters, body


def _with_description(schema: Any, description: str, marks: Mapping[str, Any]) -> Any:
    if not description and not marks:
        return schema
    own = schema if isinstance(schema, dict) else {} if schema else {"not": {}}
    return {**own, **({"description": description} if description else {}), **marks}


def _head(name: str, listed: _Listed) -> dict[str, Any]:
    summary, text = listed.value.get("summary"), listed.value.get("description")
    title = descriptions.title(summary)
    description = descriptions.description(
        summary, text, f"{listed.method} {listed.path}", is_deprecated=listed.value.get("deprecated") is True
    )
    return {"name": name, **({"title": title} if title else {}), "description": description}


def _tail(listed: _Listed, request_hash: str) -> dict[str, Any]:
    """The members behind the schema: hints that it declares, and what is sent."""
    declared = listed.value.get("x-mcp-annotations")
    annotations: dict[str, Any] = {}
    for key in ("title", *HINTS) if isinstance(declared, dict) else ():
        value = declared.get(key) if isinstance(declared, dict) else None
        if isinstance(value, str if key == "title" else bool):
            annotations[key] = value[:_LONGEST] if isinstance(value, str) else value
    tags = [each[:_LONGEST_TAG] for each in listed.tags[:_TAGS]]
    request = {HTTP: {"method": listed.method, "path": listed.path}, REQUEST: request_hash}
    meta = {**request, **({TAGS: tags} if tags else {})}
    return {**({"annotations": annotations} if annotations else {}), "_meta": meta}
