"""Whether two entries start the same program, however their command lines are written."""

import os
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from urllib.parse import unquote, urlsplit

from mcpctl.config.server_settings import STDIO, Server

_LAUNCHER = re.compile(
    r"npx|npm|exec|bunx?|x|pnpm|pnpx|yarn|dlx|corepack|uvx?|tool|run|pipx|node|deno|tsx|ts-node|py|python[\d.]*|ruby"
    r"|java|docker|podman|nerdctl|container|env|nice|timeout|xargs|sudo|setsid|nohup|cmd|mcp-remote|mcp-proxy|supergateway"
    r"|&&|;|\w*sh"
)
"""A word before what a command line is about."""
_RUNS_IMAGES = frozenset(("docker", "podman", "nerdctl"))
_PACKAGE_MANAGERS = frozenset(("npx", "npm", "bunx", "pnpm", "pnpx", "yarn", "dlx"))
_PACKAGES = ("--package", "--from")
_FOLDERS = ("--directory", "--cwd", "-C", "--prefix", "cd")
_VALUED = frozenset((
    *_FOLDERS, "--project", "--python", "--with", "--index", "--index-url", "--registry", "--env-file", "--loader",
    "--require", "-r", "--import",
))  # fmt: skip
_VALUED_OF_IMAGES = frozenset((
    "--env", "-e", "--env-file", "--volume", "-v", "--mount", "--name", "--network", "--net", "--user", "-u",
    "--workdir", "-w", "--publish", "-p", "--entrypoint", "--platform", "--label", "-l", "--memory", "-m", "--cpus",
    "--context", "--host", "-H", "--config", "--log-level",
    "--add-host", "--pull", "--gpus", "--hostname", "-h", "--cap-add", "--cap-drop", "--security-opt",
))  # fmt: skip
"""Options whose value is the word after them, of launchers and of what runs images."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=(?!=)")
_FILE = re.compile(r"\.(?:py|pyz|[cm]?[jt]sx?|sh|rb|jar|php|pl|exe|bat|cmd)\Z", re.IGNORECASE)
_ANY_NAME = frozenset(("index", "main", "server", "app", "cli", "start", "run", "mcp", "__main__", "bin", "dist"))
"""Names that scripts of many programs have."""


def is_same_program(one: Server, other: Server) -> bool:
    """Whether two entries start the same program, or lead to the same address: they name the same package, image,
    script or address, or one command line has all words of the other, in their order."""
    if _names(one) & _names(other):
        return True
    if {one.kind, other.kind} != {STDIO}:
        return False
    shorter, longer = sorted((_plain(one), _plain(other)), key=len)
    rest = iter(longer)
    return bool(shorter) and all(word in rest for word in shorter)


def _plain(server: Server) -> list[str]:
    first, *others = _words(server)
    return [PurePath(first).name, *(word for word in others if not word.startswith("-"))]


def _names(server: Server) -> frozenset[str]:
    """The names that tell the program of an entry from others."""
    if server.kind != STDIO:
        return frozenset((_address(server.url),))
    return frozenset(filter(None, _of_command(_words(server), server.cwd or "")))


def _of_command(words: Sequence[str], folder: str) -> Iterator[str]:
    seen: set[str] = set()
    number = 0
    while number < len(words):
        word, following = words[number], words[number + 1] if number + 1 < len(words) else ""
        number += 1
        option, equals, value = word.partition("=")
        runs_image, launcher = bool(seen & _RUNS_IMAGES), re.sub(r"(?<=.)@.*", "", PurePath(word).name) or word
        is_package = option in _PACKAGES or (option == "-p" and bool(seen & _PACKAGE_MANAGERS))
        if option == "-m" and not runs_image:
            yield from _of_module(following)
            return
        if is_package:
            yield _package(value or following)
        if option in _FOLDERS:
            folder = str(Path(folder) / (value or following))
        if is_package or option in (_VALUED_OF_IMAGES if runs_image else _VALUED):
            number += not equals
        elif re.match(r"https?://", word):
            yield _address(word)
            return
        elif _LAUNCHER.fullmatch(launcher) or word == "/c":
            seen.add(launcher)
        elif not word.startswith("-") and not _ASSIGNMENT.match(word):
            yield from _named(word, folder, is_image=runs_image)
            return


def _named(word: str, folder: str, *, is_image: bool) -> Iterator[str]:
    if "node_modules/" in word:
        parts = word.rsplit("node_modules/", 1)[1].split("/")
        yield _package("/".join(parts[: 2 if parts[0].startswith("@") else 1]))
    elif word.startswith(("/", ".", "~")) or _FILE.search(word):
        path = os.path.realpath((Path(folder) / Path(word).expanduser()).expanduser())
        yield re.sub(r"(?:/index)?(?:\.[cm]?[jt]sx?)?\Z", "", path)  # as Node.js finds it
        yield from _of_module(PurePath(path).stem)
        yield from _of_module(PurePath(word).stem)
    else:
        yield _package(re.sub(r"(?<=[^/]):[^/:]*\Z", "", word.partition("@sha256")[0]) if is_image else word)


def _of_module(name: str) -> Iterator[str]:
    last = name.rpartition(".")[2].lower().replace("_", "-")
    yield last if last not in _ANY_NAME else name if "." in name else ""


def _package(name: str) -> str:
    """A package's name without its version, its extras and its case."""
    bare = re.sub(r"(?<=.)(?:@|==|>=|~=|\[).*\Z", "", name.strip().removeprefix("npm:").removeprefix("jsr:"))
    return bare.lower().replace("_", "-")


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url
    path = posixpath.normpath(re.sub("/+", "/", f"/{unquote(parts.path)}")).rstrip("/")
    return f"//{(parts.hostname or '').rstrip('.')}{port}{path}"


def _words(server: Server) -> list[str]:
    """The words of a command line, a shell's own included."""
    words: list[str] = []
    for word in (server.command, *server.args):
        try:
            words += shlex.split(word) if any(map(str.isspace, word)) else [word]
        except ValueError:  # a quote that is not closed
            words += word.split()
    return words or [""]
