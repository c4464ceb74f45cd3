"""Where a document and the files that it refers to are read from: a folder, or one origin."""

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcpctl.base import bounds, files
from mcpctl.base.errors import Refused, UpstreamFailed
from mcpctl.config.server_environment import is_here
from mcpctl.openapi.bases import origin_of
from mcpctl.openapi.faults import WrongDocument

if TYPE_CHECKING:
    import httpx2

_SECONDS = 60.0  # for one file
_CODE = "openapi_unreadable"


class Sources:
    """The document at a path or an address, and the files that may be read for it."""

    def __init__(self, place: str, folder: Path, name: str) -> None:
        self._name = name  # of the document, for messages
        self._is_remote = "://" in place
        self._path = folder / Path(place).expanduser()
        self._is_private = False
        self._files = 0
        self._left = bounds.OPENAPI_TEXT
        self.place = place.partition("#")[0] if self._is_remote else self._path.name
        """Where the document is: references of it begin there."""

    def document(self) -> bytes:
        """Raises `McpctlError`: that of the file, `UpstreamFailed` or `WrongDocument`."""
        if not self._is_remote:
            return self._counted(files.read(self._path, bounds.OPENAPI_TEXT, _CODE))
        parts = urlsplit(self.place)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_here(parts.hostname or "")):
            raise WrongDocument(
                f"{self._name} is read neither by https nor from this machine",
                "use its https address, or download it and name the file",
            )
        content, self.place, self._is_private = self._fetched(self.place, self._name)
        return self._counted(content)

    def file(self, place: str) -> bytes:
        """Another file of the same place; raises `Refused` for one elsewhere, and the errors of `document`."""
        self._files += 1
        if self._files > bounds.OPENAPI_FILES:
            raise WrongDocument(
                f"{self._name} refers to more than {bounds.OPENAPI_FILES} files", "make one document of them"
            )
        return self._counted(self._from_origin(place) if self._is_remote else self._from_folder(place))

    def _from_origin(self, place: str) -> bytes:
        if origin_of(place) != origin_of(self.place):
            raise Refused("it is of another origin", "", _CODE)
        content, _, is_private = self._fetched(place, "it")
        if is_private and not self._is_private:
            raise Refused("its host has a private address", "", _CODE)
        return content

    def _from_folder(self, place: str) -> bytes:
        folder = self._path.absolute().parent.resolve()
        try:
            path = (folder / place).resolve()
        except (OSError, RuntimeError, ValueError):
            raise Refused("it cannot be found", "", _CODE) from None
        if not path.is_relative_to(folder):
            raise Refused("it is outside of the folder of the document", "", _CODE)
        return files.read(path, bounds.OPENAPI_TEXT, _CODE)

    def _counted(self, content: bytes) -> bytes:
        self._left -= len(content)
        if self._left < 0:
            size = bounds.OPENAPI_TEXT >> 20
            raise WrongDocument(f"{self._name} and its files have more than {size} MB", "make it smaller")
        return content

    def _fetched(self, url: str, name: str) -> tuple[bytes, str, bool]:
        """A file by HTTP without any credentials, where it is after redirects, and whether that is a private place."""
        import asyncio

        import httpx2

        from mcpctl.base.failure import Failed
        from mcpctl.wire import http_client

        async def fetch() -> tuple[bytes, str, bool]:
            headers = {"accept": "application/json, application/yaml, */*;q=0.5"}
            async with (
                asyncio.timeout(_SECONDS),
                http_client.client(url, headers) as client,
                http_client.request(client, "GET", url, {}) as response,
            ):
                if response.status_code != 200:
                    refusal = http_client.refusal(response, await http_client.body(response))
                    raise UpstreamFailed(f"cannot read {name}: {refusal}", "check its address", _CODE)
                content = bytes(await http_client.whole(response, bounds.OPENAPI_TEXT))
                return content, str(response.url), _is_private(response)

        try:
            return asyncio.run(fetch())
        except TimeoutError:
            late = f"cannot read {name}: no answer within {_SECONDS:g} s"
            raise UpstreamFailed(late, "try again later", _CODE) from None
        except (Failed, httpx2.HTTPError, httpx2.InvalidURL) as error:
            words = http_client.in_words(error)
            raise UpstreamFailed(f"cannot read {name}: {words}", "check its address", _CODE) from None


def _is_private(response: "httpx2.Response") -> bool:
    stream = response.extensions.get("network_stream")
    address = stream.get_extra_info("server_addr") if stream else None
    try:
        return not ipaddress.ip_address(address[0]).is_global if address else False
    except ValueError:
        return False
