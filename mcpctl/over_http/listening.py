"""The address of `serve --http`: read, checked, listened on, and written into the entry of a client."""

import errno
import ipaddress
import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.wire.http_server import LOOPBACK, listening

_ADDRESS = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):)?(\d{1,5})\Z")
_ANY = ("0.0.0.0", "::")
_LISTENS = "0A"  # the state of a socket in /proc/net/tcp
_HTTP = 80  # the port that clients leave out
_URL = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?\Z")


class Address(NamedTuple):
    host: str
    port: int

    @property
    def is_any(self) -> bool:
        """Whether it stands for all addresses of this machine."""
        return self.host in _ANY

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it: by its numbers, since any name may be another machine's."""
        with suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return self.host in LOOPBACK

    def url(self, path: str, port: int = 0) -> str:
        host = "127.0.0.1" if self.is_any else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port or self.port}{path}"

    def hosts(self, port: int) -> list[str]:
        """The values of Host by which it is reached. One that listens on all addresses knows itself by each too."""
        names = LOOPBACK if self.is_loopback or self.is_any else (self.host,)
        written = [f"[{name}]" if ":" in name else name for name in names]
        return [f"{name}:{port}" for name in written] + (written if port == _HTTP else [])

    def listen(self) -> list[socket.socket]:
        """Raises `McpctlError` where it cannot be listened on, with who has it."""
        try:
            first = listening("127.0.0.1" if self.host == "localhost" else self.host, self.port)
        except OSError as error:
            raise self._taken(error) from error
        if self.host == "localhost":
            with suppress(OSError):
                return [first, listening("::1", first.getsockname()[1])]
        return [first]

    def _taken(self, error: OSError) -> McpctlError:
        where = f"{self.host}:{self.port}"
        if (error.errno or 0) < 0 or error.errno == errno.EADDRNOTAVAIL:  # below 0, it is of a name
            hint = "give an address or a name of this machine; 0.0.0.0 is all that it has, and a PORT alone 127.0.0.1"
            return McpctlError(f"cannot listen on {where}: that is not of this machine", hint, "not_here")
        if error.errno == errno.EACCES:
            hint = "give a port from 1024 on, such as 8080"
            return McpctlError(f"cannot listen on {where}: ports below 1024 are root's", hint, "port_of_root")
        owner = _owner(self.port)
        why = f"{owner} has it" if owner else os.strerror(error.errno or 0)
        hint = "end that, or give another: mcpctl serve --http PORT"
        return McpctlError(f"cannot listen on {where}: {why}", hint, "port_taken")


def address(text: str) -> Address:
    """Raises `WrongUsage`."""
    match = _ADDRESS.match(text)
    if not match or int(match[2]) > 65535:
        raise WrongUsage(f"--http: '{text[:80]}' is not an address", "give [HOST:]PORT, such as 8080 or 0.0.0.0:8080")
    return Address((match[1] or "127.0.0.1").strip("[]").lower(), int(match[2]))


def url_of(text: str, path: str) -> str:
    """The address that a client is given: as others reach it, where it is written out. Raises `WrongUsage`."""
    if "://" not in text:
        return address(text).url(path)
    if not _URL.match(text):
        hint = "give [HOST:]PORT, or as others reach it https://HOST/mcp"
        raise WrongUsage(f"--http: '{text[:80]}' is not an address", hint)
    return text if text.count("/") > 2 else text + path


def _owner(port: int) -> str:
    """The process that listens on this port, as far as this user may see it (Linux); empty where nobody can tell."""
    sockets: set[str] = set()
    for kind in ("tcp", "tcp6"):
        with suppress(OSError):
            every = map(str.split, Path(f"/proc/net/{kind}").read_text(encoding="ascii").splitlines())
            sockets.update(
                f"socket:[{each[9]}]" for each in every if each[1].endswith(f":{port:04X}") and each[3] == _LISTENS
            )
    for folder in Path("/proc").glob("[0-9]*") if sockets else ():
        with suppress(OSError):
            if any(_target(file) in sockets for file in (folder / "fd").iterdir()):
                name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"process {folder.name} ({name})"
    return ""


def _target(link: Path) -> str:
    with suppress(OSError):
        return str(link.readlink())
    return ""
