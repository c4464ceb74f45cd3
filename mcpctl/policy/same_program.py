"""Whether two entries start the same program, or lead to the same address. Pure, but for links that are followed."""

import ipaddress
import os
import posixpath
import re
import shlex
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from mcpctl.config.server_environment import UNKNOWN, is_here
from mcpctl.config.server_settings import DECIDES, OPENAPI, STDIO, Server

_LAUNCHER = re.compile(  # words before the program that a command line is about
    r"npx|npm|exec|bunx?|x|pnpm|pnpx|yarn|dlx|corepack|uvx?|tool|run|pipx|node|deno|tsx|ts-node|py|python[\d.]*|ruby"
    r"|java|docker|podman|nerdctl|container|env|nice|timeout|xargs|sudo|setsid|nohup|cmd|mcp-remote|mcp-proxy|supergateway"
    r"|ionice|stdbuf|chronic|doas|gosu|op|doppler|dotenv|mise|poetry|pdm|hatch|pipenv|true|export|eval|command"
    r"|[;&|()<>]+|\w*sh"
)
_SHELL = re.compile(r"\w*sh")
_UNKNOWN = re.compile(rf"[{UNKNOWN}$`]")
_PATTERN = re.compile(r"[*?\[{]")  # names of files, to a shell
_NUMBER = re.compile(r"\d+(?:\.\d+)*[smhd]?")  # how long, how nice, or which version
_RUNS_IMAGES = frozenset(("docker", "podman", "nerdctl"))
_PACKAGE_MANAGERS = frozenset(("npx", "npm", "bunx", "pnpm", "pnpx", "yarn", "dlx"))
_PACKAGES = ("--package", "--from")
_FOLDERS = ("--directory", "--cwd", "-C", "--prefix", "--chdir", "cd", "pushd")
_VALUED = frozenset((
    *_FOLDERS, "--project", "--python", "--with", "--index", "--index-url", "--registry", "--env-file", "--loader",
    "--require", "-r", "--import", "--loglevel", "--cache", "--cache-dir", "--userconfig", "-W", "-X",
))  # fmt: skip
_VALUED_OF_IMAGES = frozenset((  # options of launchers, and of container programs, whose value is the word after them
    "--env", "-e", "--env-file", "--volume", "-v", "--mount", "--name", "--network", "--net", "--user", "-u",
    "--workdir", "-w", "--publish", "-p", "--entrypoint", "--platform", "--label", "-l", "--memory", "-m", "--cpus",
    "--context", "--host", "-H", "--config", "--log-level",
    "--add-host", "--pull", "--gpus", "--hostname", "-h", "--cap-add", "--cap-drop", "--security-opt",
))  # fmt: skip
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=(?!=)")
_FILE = re.compile(r"\.(?:py|pyz|[cm]?[jt]sx?|sh|rb|jar|php|pl|exe|bat|cmd)\Z", re.IGNORECASE)
_URL = re.compile(r"https?://", re.IGNORECASE)
_MOST_FOLDERS = 16
_ANY_NAME = frozenset(("index", "main", "server", "app", "cli", "start", "run", "mcp", "__main__", "bin", "dist"))


def is_same_program(one: Server, other: Server) -> bool:
    """Whether two entries start the same program or lead to the same address: they name the same package, image, script
    or address, or one command line has all words of the other, in their order."""
    if names(one) & names(other):
        return True
    if {one.kind, other.kind} != {STDIO}:
        return False
    shorter, longer = sorted((_plain(one), _plain(other)), key=len)
    rest = iter(longer)
    return bool(shorter) and all(word in rest for word in shorter)


def surroundings(server: Server) -> frozenset[tuple[str, str | None]]:
    """All beside its command line that may have it run something else: its folder, and variables that decide that."""
    decisive = {(name, value) for name, value in server.env.items() if DECIDES.match(name)}
    return frozenset({*decisive, ("cwd", server.cwd), ("env_file", server.env_file)})


def is_wider(new: Server, old: Server) -> bool:
    """Whether the entry of an HTTP API may have tools that it had not, reach more with them, or as somebody else."""
    has_more = new.deprecated > old.deprecated or not {*new.exclude} >= {*old.exclude}
    has_more |= bool(old.include) and not (new.include and {*new.include} <= {*old.include})
    reaches_more = not ({*new.origins} <= {*old.origins} and {*new.slash_in} <= {*old.slash_in})
    reaches_more |= new.upload_root not in (None, old.upload_root)
    is_free = any(new.parameters.get(name) != value for name, value in old.parameters.items())
    return has_more or reaches_more or is_free or any(old.auth.get(name) != each for name, each in new.auth.items())


class CommandReading(NamedTuple):
    """The names in a command line: those of programs, as far as one can tell, and what any of its words may name."""

    likely: frozenset[str]
    possible: frozenset[str]

    def meets(self, other: "CommandReading") -> bool:
        """Whether one may start the program of the other: it errs on the side of yes."""
        return bool(self.likely & other.possible) or bool(other.likely & self.possible)

    @property
    def is_known(self) -> bool:
        return not any(_UNKNOWN.search(name) or _PATTERN.search(name) for name in self.likely)


def reading(server: Server) -> CommandReading:
    return CommandReading(_likely(server), _possible(server))


def is_known(server: Server) -> bool:
    """Whether it is known before it starts what each word of it is, also to a shell that it is for."""
    if server.kind != STDIO:
        return UNKNOWN not in server.url
    texts = (server.command, *server.args, server.cwd or "")
    runs_shell = any(_SHELL.fullmatch(PurePath(word).name) for word in _words(server))
    return not any(_UNKNOWN.search(text) or (runs_shell and _PATTERN.search(text)) for text in texts)


def _likely(server: Server) -> frozenset[str]:
    """Its names, and those after each word that starts another program, and its scripts."""
    found = set(names(server))
    if server.kind == STDIO:
        words, folder = _words(server), server.cwd or ""
        is_after = False
        for number, word in enumerate(words):
            option, _, value = word.partition("=")
            is_launcher = _LAUNCHER.fullmatch(PurePath(word).name) is not None
            if option in _FOLDERS:
                folder = str(Path(folder) / (value or "".join(words[number + 1 : number + 2])))
            elif is_launcher and not is_after:
                found.update(_of_command(words[number:], folder, words[:number]))
            elif _FILE.search(word):
                found.update(_named(word, folder, is_image=False))
            is_after = is_launcher
    return frozenset(filter(None, found))


def _possible(server: Server) -> frozenset[str]:
    if server.kind != STDIO:
        return names(server)
    words = _words(server)
    folders = _folders(server, words)
    quoted = [part for word in words if re.search(r"[;&|()'\"]", word) for part in re.findall(r"[\w@.:/-]+", word)]
    return frozenset(name for word in {*words, *quoted} for name in _readings(word, folders) if name)


def _readings(word: str, folders: Sequence[str]) -> Iterator[str]:
    """All that a word may name: a package, an image, a script, a module, an address."""
    glued = word[2:] if re.match(r"-[A-Za-z]", word) else ""
    bare = re.split(r"(?:npm|jsr):|(?:file|docker|oci):(?://)?|\Adocker\.io/(?:library/)?", word)[-1]
    for text in filter(None, {word, glued, word.partition("=")[2], bare}):
        if _URL.match(text):
            yield _address(text)
            parts = re.findall(r"(?:@[^/]+/)?[^/@?#]+", unquote(text))  # of a package's archive
            yield from (_package(name) for part in parts for name in (part, re.sub(r"-\d.*", "", part)))
        yield _package(PurePath(text).name)
        yield _image(text)
        if re.fullmatch(r"[A-Za-z_]\w*(?:\.\w+)+", text) and not _FILE.search(text):
            yield _package(text.partition(".")[0])
        for folder in folders:
            yield from _named(text, folder, is_image=False)
            yield _path(text, folder)
            yield _path(f"{text.replace('.', '/')}.py", folder)


def _folders(server: Server, words: Sequence[str]) -> list[str]:
    """The folders in which its words may be read: where it starts, those that it is told to go to, and of variables."""
    folder, named = server.cwd or "", list(server.env.values())
    moved = [folder] if folder else []
    for word, following in zip(words, (*words[1:], ""), strict=True):
        option, equals, value = word.partition("=")
        if option in _FOLDERS:
            folder = str(Path(folder) / (value or following))
            moved.append(folder)
        elif equals and _ASSIGNMENT.match(word):
            named.append(value)
    return list(dict.fromkeys((*(moved or [folder]), *named)))[:_MOST_FOLDERS]


def _plain(server: Server) -> list[str]:
    first, *others = _words(server)
    return [PurePath(first).name, *(word for word in others if not word.startswith("-"))]


def names(server: Server) -> frozenset[str]:
    """The packages, images, scripts or addresses that its command line or URL names."""
    if server.openapi:
        # All of it: another document, or another place that its requests go to, is another program.
        return frozenset((f"{OPENAPI} {server.openapi} {_address(server.url) if server.url else ''}",))
    if server.kind != STDIO:
        return frozenset((_address(server.url),))
    return frozenset(filter(None, _of_command(_words(server), server.cwd or "")))


def _of_command(words: Sequence[str], folder: str, before: Sequence[str] = ()) -> Iterator[str]:
    seen = {PurePath(word).name for word in before}
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
        elif _URL.match(word):
            yield _address(word)
            return
        elif _LAUNCHER.fullmatch(launcher) or word == "/c":
            seen.add(launcher)
        elif not word.startswith("-") and not _ASSIGNMENT.match(word) and not _NUMBER.fullmatch(word):
            yield from _named(word, folder, is_image=runs_image)
            return


def _named(word: str, folder: str, *, is_image: bool) -> Iterator[str]:
    if "node_modules/" in word:
        parts = word.rsplit("node_modules/", 1)[1].split("/")
        yield _package("/".join(parts[: 2 if parts[0].startswith("@") else 1]))
    elif word.startswith(("/", ".", "~")) or _FILE.search(word):
        path = _path(word, folder)
        yield path
        yield from _of_module(PurePath(path).stem)
        yield from _of_module(PurePath(word).stem)
    else:
        yield _image(word) if is_image else _package(word)


def _image(name: str) -> str:
    return _package(re.sub(r"(?<=[^/]):[^/:]*\Z", "", name.partition("@sha256")[0]))


def _path(word: str, folder: str) -> str:
    try:
        path = os.path.realpath((Path(folder) / Path(word).expanduser()).expanduser())
    except (ValueError, RuntimeError):  # a NUL, or nobody of that name
        path = word
    return re.sub(r"(?:/index)?(?:\.[cm]?[jt]sx?)?\Z", "", path)  # as Node.js finds it


def _of_module(name: str) -> Iterator[str]:
    last = name.rpartition(".")[2].lower().replace("_", "-")
    yield last if last not in _ANY_NAME else name if "." in name else ""


def _package(name: str) -> str:
    meant = re.split(r"(?:\A|@)(?:npm|jsr):", name.strip())[-1]
    bare = re.sub(r"(?<=.)(?:@|==|>=|~=|\[).*\Z", "", meant)
    return bare.lower().replace("_", "-")


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url
    path = posixpath.normpath(re.sub("/+", "/", f"/{unquote(parts.path)}")).rstrip("/")
    return f"//{_host(parts.hostname or '')}{port}{path}"


def _host(host: str) -> str:
    """One spelling of a host: this machine has one name, and addresses have one form, such as 10.0.0.1 for 10.1."""
    if is_here(host):
        return "localhost"
    try:
        address = ipaddress.ip_address(host)
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return str(mapped or address)
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):
        return host.rstrip(".")


def _words(server: Server) -> list[str]:
    """The words of a command line, and of the shell commands in it."""
    return [word for text in (server.command, *server.args) for word in _of_text(text)] or [""]


def _of_text(text: str) -> Iterator[str]:
    if not re.search(r"\s", text):
        yield text
        return
    shell = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=True)
    shell.commenters, shell.whitespace_split = "", True
    try:
        words = list(shell)
    except ValueError:  # a quote that is not closed
        words = text.split()
    for word in words:
        yield from _of_text(word) if len(word) < len(text) and re.search(r"\s", word) else (word,)
