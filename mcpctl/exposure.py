"""What others could read or change of the user's: closed where it is ours, and said where it is the user's own."""

import contextlib
import os
import re
import stat
from pathlib import Path
from urllib.parse import urlsplit

from mcpctl.config import VARIABLE, Config, Server
from mcpctl.errors import warn
from mcpctl.paths import Paths
from mcpctl.store.redact import is_secret_name, mask

_OURS = re.compile(r"sessions|toolsets|(?:state\.db|index-v\d+\.db|search-index\.npz).*")
"""What is in a data directory."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOCAL = re.compile(r"(?:.*\.)?localhost|.*\.(?:local|internal|lan|home\.arpa|test)|[^.]*", re.IGNORECASE)


def guard(paths: Paths, config: Config) -> None:
    """Close the data directory to others, and warn where they can read the secrets in config.toml, or change it."""
    with contextlib.suppress(OSError):
        _close(paths.data)
    with contextlib.suppress(OSError):
        found = paths.config.stat()
        mode = found.st_mode & (stat.S_IRWXO if found.st_gid == os.getegid() else _OTHERS)
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            warn(f"others can change {paths.config}, and so what it starts; prevent it with: chmod go-w {paths.config}")
        elif mode & (stat.S_IRGRP | stat.S_IROTH) and any(map(_has_secret, config.servers.values())):
            warn(f"others can read the secrets in {paths.config}; prevent it with: chmod 600 {paths.config}")


def _close(data: Path) -> None:
    """Take from others what they may do with what is ours; the folder too, if it has nothing else."""
    is_all_ours = True
    with os.scandir(data) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            if not _OURS.fullmatch(entry.name) or found.st_uid != os.geteuid() or stat.S_ISLNK(found.st_mode):
                is_all_ours = False
            elif found.st_mode & _OTHERS:
                Path(entry.path).chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    found = data.stat()
    if not found.st_mode & _OTHERS or found.st_uid != os.geteuid():
        return
    if is_all_ours:
        data.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    elif found.st_mode & stat.S_IWOTH:
        warn(f"others can change what is in {data}; prevent it with: chmod go-w {data}")


def _has_secret(server: Server) -> bool:
    """Whether an entry has a secret as it is, not as ${VAR}."""
    named = [*server.env.items(), *((name, value.partition(" ")[2] or value) for name, value in server.headers.items())]
    texts = [server.command, server.url, *server.args, *server.env.values()]
    return any(is_secret_name(name) and VARIABLE.sub("", value).strip() for name, value in named) or any(
        mask(text) != text for text in texts
    )


def in_the_clear(server: Server) -> str | None:
    """What to say of a server that a secret header is sent to as anyone on the way can read it; None of others."""
    secrets = [name for name in server.headers if is_secret_name(name)]
    try:
        host = urlsplit(server.url).hostname if server.url.lower().startswith("http://") else None
    except ValueError:
        host = None
    if not secrets or host is None or VARIABLE.search(server.url) or _is_near(host):
        return None
    return f"header {secrets[0]} is sent to {host} unencrypted, for anyone on the way to read; use https://"


def _is_near(host: str) -> bool:
    """Whether an address is this machine's or its own network's."""
    import ipaddress

    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return _LOCAL.fullmatch(host) is not None
