"""Requests to a registry of servers: its answers are bounded, and of what was asked for."""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import msgspec

from mcpctl.base import bounds
from mcpctl.base.errors import NotFound, UpstreamFailed, WrongUsage
from mcpctl.base.failure import Failed
from mcpctl.base.texts import one_line
from mcpctl.config.config import Config
from mcpctl.config.settings import REGISTRY, is_registry
from mcpctl.registry.server_json import DELETED, Published, is_exact
from mcpctl.wire import http_client

_Kind = TypeVar("_Kind")
_SECONDS = 20.0  # of one answer
_SECONDS_OF_ALL = 60.0  # of the pages of one search, after which no other is asked for
_PAGE = 100  # servers of one answer, the most that the official registry gives
_LONGEST_CURSOR = 2000
_AGAIN = "try again later, or name another registry with MCPCTL_REGISTRY"


class RegistryFailed(UpstreamFailed):
    """The registry did not answer, or not as its API says."""

    code = "registry_failed"


class _Metadata(msgspec.Struct, rename="camel"):
    next_cursor: str | None = None


class _Page(msgspec.Struct):
    servers: list[msgspec.Raw]
    metadata: _Metadata | None = None


class FoundServers(msgspec.Struct):
    """The servers that a search has found, in the registry's order."""

    found: list[Published]
    unread: int = 0  # of those that are not as the API says
    is_cut: bool = False  # whether the registry has more


class Registry:
    def __init__(self, loaded: Config, env: Mapping[str, str] = os.environ) -> None:
        """The registry that the environment names, else the configuration; raises `WrongUsage`."""
        named = env.get(REGISTRY, "")
        if named and not is_registry(named):
            raise WrongUsage(
                f"{REGISTRY} is not the address of a registry", f"set it as {REGISTRY}=https://HOST, or unset it"
            )
        self.url = (named or loaded.registry.url).rstrip("/")

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def search(self, words: Sequence[str], most: int | None) -> FoundServers:
        """The newest versions of servers with these words, all or at least `most`; raises `RegistryFailed`. It looks
        for the longest word in names, as the API has it; the others are looked for in what it says of those."""
        return asyncio.run(self._search(words, most))

    def server(self, name: str, version: str | None) -> Published:
        """A version of a server, or the newest one; raises `NotFound`, `RegistryFailed`."""
        path = f"/v0.1/servers/{quote(name, safe='')}/versions/{quote(version or 'latest', safe='')}"
        answer = asyncio.run(self._one(path))
        told = f"{name}@{version}" if version else name
        if answer is None:
            word = max(name.rpartition("/")[2].replace("_", "-").split("-"), key=len)
            hint = f"look for it with: mcpctl servers search {word}"
            if version:
                hint = f"the newest version is taken with: mcpctl servers add {name}; or {hint}"
            raise NotFound(f"the registry at {self.host} has no server '{told}'", hint, "not_in_registry")
        published = self._decoded(answer, Published)
        server = published.server
        if server.name != name or (version and server.version != version) or not is_exact(server.version):
            other = one_line(f"{server.name}@{server.version}")[:200]
            raise RegistryFailed(f"the registry at {self.host} answered with '{other}', not with '{told}'", _AGAIN)
        if published.status == DELETED:
            hint = "look for another one with: mcpctl servers search WORDS"
            raise NotFound(f"'{told}' was deleted from the registry at {self.host}", hint, "deleted")
        return published

    async def _one(self, path: str) -> bytes | None:
        client = await self._client()
        async with aclosing(client):
            return await self._get(client, path)

    async def _search(self, words: Sequence[str], most: int | None) -> FoundServers:
        longest = max(words, key=len)
        others = [word.lower() for word in words if word != longest]
        asked = {"search": longest, "version": "latest", "limit": str(_PAGE)}
        search, seen = FoundServers([]), {""}
        client = await self._client()
        until = time.monotonic() + _SECONDS_OF_ALL
        async with aclosing(client):
            for _ in range(bounds.REGISTRY_PAGES):
                answer = await self._get(client, f"/v0.1/servers?{urlencode(asked)}")
                page = self._decoded(answer or b"", _Page)
                self._take(page, others, search)
                cursor = (page.metadata.next_cursor if page.metadata else None) or ""
                if cursor in seen or len(cursor) > _LONGEST_CURSOR:
                    return search
                seen.add(cursor)
                if (most is not None and len(search.found) >= most) or time.monotonic() > until:
                    break
                asked["cursor"] = cursor
        search.is_cut = True
        return search

    def _take(self, page: _Page, others: Sequence[str], search: FoundServers) -> None:
        for each in page.servers:
            try:
                published = self._decoded(each, Published)
            except RegistryFailed:
                search.unread += 1
                continue
            text = " ".join((published.server.name, published.server.title, published.server.description)).lower()
            if published.is_listed and all(word in text for word in others):
                search.found.append(published)

    def _decoded(self, answer: bytes | msgspec.Raw, kind: type[_Kind]) -> _Kind:
        try:
            return msgspec.json.decode(answer, type=kind)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            what = one_line(str(error))[:200]
            raise RegistryFailed(f"the answer of {self.host} is not that of a registry: {what}", _AGAIN) from None

    async def _client(self) -> httpx2.AsyncClient:
        try:
            return await asyncio.to_thread(http_client.client, self.url, {"accept": "application/json"})
        except Failed as error:
            raise RegistryFailed(f"the registry at {self.host}: {http_client.in_words(error)}", _AGAIN) from None

    async def _get(self, client: httpx2.AsyncClient, path: str) -> bytes | None:
        """The body of an answer; None where there is nothing of that name."""
        try:
            async with (
                asyncio.timeout(_SECONDS),
                http_client.request(client, "GET", self.url + path, {}) as response,
            ):
                if response.status_code == HTTPStatus.NOT_FOUND:
                    return None
                if response.status_code != HTTPStatus.OK:
                    said = one_line(http_client.refusal(response, await http_client.body(response)))
                    raise RegistryFailed(f"the registry at {self.host} answers: {said}", _AGAIN)
                return bytes(await http_client.whole(response, bounds.REGISTRY_ANSWER))
        except TimeoutError:
            late = f"the registry at {self.host} does not answer within {_SECONDS:g} s"
            raise RegistryFailed(late, _AGAIN) from None
        except (Failed, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise RegistryFailed(f"the registry at {self.host}: {http_client.in_words(error)}", _AGAIN) from None
