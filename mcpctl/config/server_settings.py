"""One server's table in config.toml, as it is written and checked; nothing in it is expanded here."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import msgspec

from mcpctl.base import bounds
from mcpctl.base.feature_names import EXPOSABLE
from mcpctl.config import toml
from mcpctl.config.policy_settings import ALLOW, ASK, TRUSTS

NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
AD_HOC = "adhoc-"  # begins the name of a server that is in a command line alone, for its records and for rules
UNASSIGNED = "UNASSIGNED"  # in place of a project's name: the servers that name no project
_NAMES = "names have only letters, digits, '_' and '-'"
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
FROM_COMMAND = "${cmd:"
COMMAND = re.compile(r"""\$\{cmd:((?:[^{}'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*+)\}""", re.DOTALL)
"""A value that a command prints; its words are those of a shell, and braces among them are quoted."""
TRANSPORTS = ("http", "sse")
STDIO, OPENAPI = "stdio", "openapi"
ALL, MINIMAL = "all", "minimal"  # parts of mcpctl's environment to inherit; a list of names adds to the minimal part
ASKS = ("elicitation", "sampling", "roots")
REMOTE_ONLY, LOCAL_ONLY = ("url", "transport", "headers", "oauth"), ("command", "args", "cwd", "inherit_env")
API_ONLY = ("include", "exclude", "parameters", "slash_in", "origins", "upload_root", "deprecated", "auth")
NOT_OF_APIS = (*LOCAL_ONLY, "env", "transport", "oauth", "may_ask", "expose")
API_TIMEOUT_S = 60.0  # of a call, where the entry of an API says nothing
GRANTS = CODE, CLIENT_CREDENTIALS = "code", "client_credentials"  # in a browser, or with the client's own secret
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
URL = re.compile(r"https?://[^\s/?#]+\S*\Z", re.IGNORECASE)
_HERE = r"http://(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])"
_ORIGIN = re.compile(rf"(?:https://[^\s/?#@$]+|{_HERE}(?::[0-9]+)?)\Z", re.IGNORECASE)
_DOCUMENT = re.compile(rf"(?:https://[^\s/?#@$]+|{_HERE}(?::[0-9]+)?)/\S*\Z", re.IGNORECASE)
# RFC 9110, 5.1; servers read no other headers that h11 would take.
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")

_PORTS = 65_535
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")  # RFC 6749, 3.3

DECIDES = re.compile(  # variables that decide what runs, where it comes from, or what is trusted
    r"(?:path|home|shell|bash_env|bash_func_.*|prompt_command|ifs|tmpdir|editor|visual|browser|pager|classpath"
    r"|(?:ld|dyld|npm_config|uv|pip|pipx|git|xdg|mcpctl|glibc|curl|ssl_cert)_.*|.*_proxy|.*_ca_bundle"
    r"|node_(?:options|path|extra_ca_certs|tls_reject_unauthorized|repl_.*)|perl5(?:opt|lib)|ruby(?:opt|lib)"
    r"|_?java_.*|jdk_java_options|ssh_(?:askpass|auth_sock)|openssl_.*"
    r"|python(?!unbuffered\Z|utf8\Z|ioencoding\Z|dontwritebytecode\Z|warnings\Z|hashseed\Z).*)\Z",
    re.IGNORECASE,
)


def is_of_api(fingerprint: str) -> bool:
    """Whether a fingerprint is that of an HTTP API: all that is listed by such a one is made here."""
    return fingerprint.startswith(f"{OPENAPI}-")


class ClientCredentials(toml.Section, frozen=True, kw_only=True):
    """A client that gets a token by itself, with its own secret."""

    client_id: str = ""
    client_secret: str = ""
    scopes: list[str] = []


class OAuth(ClientCredentials, frozen=True, kw_only=True):
    issuer: str = ""
    redirect_port: int = 0  # 0 for any that is free
    grant: str = GRANTS[0]
    may_be_0 = ("redirect_port",)
    one_of = {"grant": GRANTS}


class Server(toml.Section, frozen=True, kw_only=True):
    """One `[servers.NAME]`, as written: nothing in it is expanded."""

    command: str = ""
    args: list[str] = []
    url: str = ""
    transport: str = "http"
    headers: dict[str, str] = {}
    oauth: OAuth | None = None
    env: dict[str, str] = {}
    env_file: str | None = None
    inherit_env: str | list[str] = ALL
    cwd: str | None = None
    enabled: bool = True
    shared: bool = False
    require_own_login: bool = False
    start_timeout_s: float = 30
    call_timeout_s: float = 0
    projects: list[str] = []
    may_ask: list[str] = msgspec.field(default_factory=lambda: list(ASKS))
    tools: dict[str, bool | str] = {}
    only: list[str] | None = None
    trust_hints: str = TRUSTS[0]
    limit_tokens: int | None = None
    expose: list[str] | None = None
    openapi: str = ""
    include: list[str] = []
    exclude: list[str] = []
    parameters: dict[str, Any] = {}
    slash_in: list[str] = []
    origins: list[str] = []
    upload_root: str | None = None
    deprecated: bool = False
    auth: dict[str, str | ClientCredentials] = {}
    may_be_0 = ("start_timeout_s", "call_timeout_s", "limit_tokens")
    one_of = {"transport": TRANSPORTS, "trust_hints": TRUSTS}
    some_of = {"may_ask": ASKS, "expose": EXPOSABLE}

    @property
    def kind(self) -> str:
        """How one speaks with it: `stdio` with a program, one of `TRANSPORTS` with an MCP server at an address, or
        `openapi` with an HTTP API."""
        if self.openapi:
            return OPENAPI
        return self.transport if self.url else STDIO

    @property
    def fingerprint(self) -> str:
        """The identity for the catalog cache and for pins: all that chooses the program, no secret, and no variable."""
        if self.openapi:
            # Its beginning is one that no other kind has: what is listed by it is of our own making.
            chosen = [self.url, self.include, self.exclude, sorted(self.parameters), self.deprecated]
            return f"{OPENAPI}-{hashlib.sha256(msgspec.json.encode([self.openapi, *chosen])).hexdigest()[:16]}"
        # The empty places are older: without a URL, and without variables, a fingerprint stays what it was.
        parts = [self.command, self.args, [self.transport, self.url] if self.url else None, ()]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]

    @property
    def snapshot_key(self) -> str:
        """All that the compiled document of an API depends on: the fingerprint, and what is set for every request."""
        headers = sorted(name.lower() for name in self.headers)
        return hashlib.sha256(msgspec.json.encode([self.fingerprint, headers, self.origins])).hexdigest()

    @property
    def has_token(self) -> bool:
        return any(name.lower() == "authorization" for name in self.headers)

    @property
    def bars_tools(self) -> bool:
        return bool(self.tools) or self.only is not None

    @property
    def has_account(self) -> bool:
        """Whether it acts somewhere as the account of whoever starts it, as far as its entry tells."""
        texts = (*self.args, self.url or "", *self.env.values(), *self.headers.values())
        return bool(self.oauth or self.auth or self.env_file or any("${" in text or "$(" in text for text in texts))

    @property
    def launch(self) -> tuple[Any, ...]:
        """All that a process or connection of it is made from: where this changes, it is made again."""
        if self.openapi:
            return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in _NOT_LAUNCHED)
        env, headers = (sorted(self.env.items()), self.env_file, self.inherit_env), sorted(self.headers.items())
        remote = self.url, self.transport, headers, self.oauth
        return self.command, self.args, self.cwd, env, remote, sorted(self.may_ask), self.shared


_NOT_LAUNCHED = (  # of an API, all else is
    "enabled", "require_own_login", "projects", "tools", "only", "trust_hints", "limit_tokens",
)  # fmt: skip


def check_server(name: str, table: Any, *, has_policy: bool = True) -> Server:
    """The entry that a table is; raises ValueError with the key and what is wrong with it, such as `.args: …`."""
    if not NAME.match(name):
        raise ValueError(f": cannot name a server: {_NAMES}")
    if isinstance(table, dict):
        _check_permissions(table.get("tools"), has_policy)
    server = toml.converted(table, Server)
    _check_kind(server, table)
    names = [] if server.inherit_env in (ALL, MINIMAL) else server.inherit_env
    if isinstance(names, str) or not all(map(_VARIABLE_NAME.match, names)):
        raise ValueError(f'.inherit_env: must be "{ALL}", "{MINIMAL}" or a list of names of variables')
    toml.check_values(server)
    for project in server.projects:
        check_project_name(project, f".projects: {project!r}")
    _check_only(name, server.only or ())
    is_timed = not server.openapi or "call_timeout_s" in table
    return server if is_timed else msgspec.structs.replace(server, call_timeout_s=API_TIMEOUT_S)


def _check_only(name: str, patterns: Sequence[str]) -> None:
    if len(patterns) > bounds.ONLY:
        raise ValueError(f".only: may have {bounds.ONLY} names at most; * in a name stands for any text")
    for index, pattern in enumerate(patterns):
        if not pattern.strip() or len(pattern) > bounds.NAME:
            raise ValueError(f".only[{index}]: must be the name of a tool, of {bounds.NAME} characters at most")
        if pattern.startswith(f"{name}:"):
            raise ValueError(f".only[{index}]: must be a tool's name alone: {pattern.removeprefix(f'{name}:')!r}")


def _check_permissions(tools: Any, has_policy: bool) -> None:
    for tool, allowed in tools.items() if isinstance(tools, dict) else ():
        if not isinstance(allowed, bool) and allowed not in (ASK, ALLOW):
            raise ValueError(f'.tools.{tool}: must be true, false, "ask" or "allow"')
        if isinstance(allowed, str) and not has_policy:
            raise ValueError(f'.tools.{tool}: "{allowed}" applies only with a policy; write [policy] in the file')


def _check_kind(server: Server, table: Mapping[str, Any]) -> None:
    """Raises ValueError unless it has a command, a URL or a document, and no key of another kind."""
    if "openapi" in table:
        return _check_api(server, table)
    for key in API_ONLY:
        if key in table:
            raise ValueError(f".{key}: is for servers with openapi")
    remote = "url" in table
    if remote and "command" in table:
        raise ValueError(".url: a server has a command or a url, not both")
    for key in LOCAL_ONLY if remote else REMOTE_ONLY:
        if key in table:
            raise ValueError(f".{key}: is for servers with a {'command' if remote else 'url'}")
    if remote:
        _check_remote(server)
    elif not server.command.strip():
        raise ValueError(f".command: {'must not be empty' if 'command' in table else 'is missing, and so is a url'}")


def _check_remote(server: Server) -> None:
    if not URL.match(server.url) and without_values(server.url) == server.url:
        raise ValueError(".url: must be an http:// or https:// address")
    _check_headers(server)
    if server.oauth:
        _check_oauth(server.oauth, {name.lower() for name in server.headers})


def _check_api(server: Server, table: Mapping[str, Any]) -> None:
    for key in NOT_OF_APIS:
        if key in table:
            raise ValueError(f".{key}: is not for servers with openapi")
    _check_document(server.openapi)
    if "url" in table:
        _check_remote(server)
        if without_values(server.url) == server.url and not is_address(server.url):
            raise ValueError(".url: must be an address with a host, and with a port of 1 to 65535 or none")
        if re.search("[?#]|//[^/]*@", without_values(server.url)):
            raise ValueError(".url: must have no user, ? or #; it comes before the paths of the document")
    else:
        _check_headers(server)
    for key in ("include", "exclude", "slash_in", "origins", "parameters", "auth", "headers"):
        _check_names(key, getattr(server, key))
    for index in (index for index, origin in enumerate(server.origins) if not _ORIGIN.match(origin)):
        raise ValueError(f".origins[{index}]: must be such as https://HOST:PORT; http:// only of this machine")
    for name in (name for name, value in server.parameters.items() if not _is_json(value)):
        raise ValueError(f".parameters.{name}: must be a value that JSON has; write a date as a text")
    for name, credential in server.auth.items():
        _check_auth(f".auth.{name}", credential)


def is_address(url: str) -> bool:
    """Whether it is an address of HTTP with a host, and with a port that there can be."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        return bool(URL.match(url) and parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_document(document: str) -> None:
    if not document.strip():
        raise ValueError(".openapi: must not be empty")
    if "${" in document:
        raise ValueError(".openapi: has no variables; write the file or the address itself")
    if "://" in document and not (_DOCUMENT.match(document) and is_address(document)):
        raise ValueError(".openapi: must be a file or an https:// address; download one of http://, and name the file")


def _check_names(key: str, names: Sequence[str] | Mapping[str, Any]) -> None:
    if len(names) > bounds.API_NAMES:
        raise ValueError(f".{key}: may have {bounds.API_NAMES} at most")
    for index, name in enumerate(names):
        if not name.strip() or len(name) > bounds.NAME:
            where = f"[{index}]: " if isinstance(names, list) else f": {name[:80]!r} "
            raise ValueError(f".{key}{where}must be a name of 1 to {bounds.NAME} characters")


def _is_json(value: Any) -> bool:
    if isinstance(value, list | dict):
        return all(map(_is_json, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _check_auth(where: str, credential: str | ClientCredentials) -> None:
    if isinstance(credential, str):
        if not credential.strip():
            raise ValueError(f"{where}: must not be empty")
        return
    for key in ("client_id", "client_secret"):
        if not getattr(credential, key).strip():
            raise ValueError(f"{where}.{key}: is missing; a client needs client_id and client_secret")
    _check_scopes(where, credential.scopes)


def _check_headers(server: Server) -> None:
    for name in server.headers:
        if not HEADER_NAME.match(name):
            raise ValueError(f".headers: {name!r} is not a name of a header")


def _check_scopes(where: str, scopes: Sequence[str]) -> None:
    for scope in scopes:
        if not _SCOPE.match(scope):
            raise ValueError(f"{where}.scopes: {scope!r} is not a scope; write each as an item of the list")


def _check_oauth(oauth: OAuth, headers: Set[str]) -> None:
    if "authorization" in headers:
        raise ValueError(".oauth: headers has Authorization already; write one of the two")
    toml.check_values(oauth, "oauth.")
    if oauth.issuer and not URL.match(oauth.issuer) and not VARIABLE.search(oauth.issuer):
        raise ValueError(".oauth.issuer: must be an http:// or https:// address")
    if oauth.redirect_port > _PORTS:
        raise ValueError(f".oauth.redirect_port: must be a port, 1 to {_PORTS}, or 0 for any that is free")
    _check_scopes(".oauth", oauth.scopes)
    if oauth.client_secret and not oauth.client_id:
        raise ValueError(".oauth.client_id: is missing; a client_secret needs one")
    if oauth.grant == CLIENT_CREDENTIALS and not oauth.client_secret:
        raise ValueError(f".oauth: {CLIENT_CREDENTIALS} needs client_id and client_secret")


def texts_of_api(server: Server) -> Iterator[str]:
    """The texts of an HTTP API's entry that are expanded; those in its parameters at any depth."""
    values: list[Any] = list(server.parameters.values())
    for value in values:
        values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for given in (*values, *server.auth.values()):
        if isinstance(given, str):
            yield given
        elif isinstance(given, ClientCredentials):
            yield from (given.client_id, given.client_secret)


def without_values(text: str) -> str:
    return VARIABLE.sub("", COMMAND.sub("", text))


def check_project_name(name: str, where: str) -> None:
    if name == UNASSIGNED:
        raise ValueError(f"{where} cannot name a project: {UNASSIGNED} stands for the servers without one")
    if not NAME.match(name):
        raise ValueError(f"{where} cannot name a project: {_NAMES}")
