"""The settings of `config.toml` beside its servers and its policy, section by section: their defaults, and checks."""

import re

import msgspec

from mcpctl.base import bounds
from mcpctl.base.feature_names import EXPOSABLE
from mcpctl.base.near_names import nearest
from mcpctl.config.policy_settings import CLASSES, ProjectPolicyTable, problem_of
from mcpctl.config.server_settings import URL, check_project_name
from mcpctl.config.toml import Section, check_values

_DOCUMENT = re.compile(r"https://[^\s/?#]+/[^\s?#]\S*\Z", re.IGNORECASE)
_REGISTRY = re.compile(  # anything that a stranger on the way could change is refused, but for this machine
    r"(?:https://[^\s/?#@$\\]+|http://(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?)(?:/[^\s?#$\\]*)?\Z",
    re.IGNORECASE,
)
OWN_PATHS = ("/healthz", "/readyz", "/metrics")  # what serve --http answers itself
HTTP_PATH = re.compile(r"/[A-Za-z0-9._~/-]*\Z")
HTTP_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#]+\Z")
HTTP_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?\Z")
REGISTRY = "MCPCTL_REGISTRY"  # the variable that names another registry of servers
OPTIMIZATIONS = ("bm25", "semantic", "cloud", "off")
SEMANTIC_TOKEN, CLOUD_TOKEN = "MCPCTL_SEMANTIC_TOKEN", "MCPCTL_CLOUD_TOKEN"
TOKEN = "MCPCTL_TOKEN"  # the variable with the token, of `mcpctl tokens create`, with which requests are made


class Project(Section, frozen=True):
    """One `[projects.NAME]`, as written."""

    optimization: str | None = None
    toolset: str | None = None
    policy: ProjectPolicyTable | None = None
    one_of = {"optimization": OPTIMIZATIONS}

    def check(self, name: str) -> None:
        check_project_name(name, ":")
        if self.toolset == "":
            raise ValueError(".toolset: must be a name, a path or none")
        if self.policy:
            check_values(self.policy, "policy.")
            self.policy.check(name, "policy.")


class Search(Section, frozen=True):
    optimization: str = OPTIMIZATIONS[0]
    answer_tokens: int = 2000
    learn: bool = False
    semantic_model: str = ""  # a folder with a model; with a `semantic_url`, the model's name there
    semantic_url: str = ""
    semantic_timeout_s: float = 5
    cloud_url: str = ""
    cloud_timeout_s: float = 5
    one_of = {"optimization": OPTIMIZATIONS}

    def check(self, name: str) -> None:
        for key, url in (("semantic_url", self.semantic_url), ("cloud_url", self.cloud_url)):
            if url and not URL.match(url):
                raise ValueError(f".{key}: must be an http:// or https:// address")
        if self.semantic_url and not self.semantic_model:
            raise ValueError(".semantic_model: is missing: the model's name at semantic_url")


STORES = ("file", "keyring")


class OAuthSettings(Section, frozen=True):
    store: str = STORES[0]
    client_metadata_url: str = ""
    one_of = {"store": STORES}

    def check(self, name: str) -> None:
        if self.client_metadata_url and not _DOCUMENT.match(self.client_metadata_url):
            raise ValueError(".client_metadata_url: must be the https:// address of a document, with a path")


def is_registry(url: str) -> bool:
    """Whether this may be the address of a registry: https, or http on this machine, without a login in it."""
    return _REGISTRY.match(url) is not None


class RegistrySettings(Section, frozen=True):
    url: str = "https://registry.modelcontextprotocol.io"

    def check(self, name: str) -> None:
        if not is_registry(self.url):
            raise ValueError(
                ".url: must be an https:// address without a user, a query or a $; http:// only of this machine"
            )


class RecordSettings(Section, frozen=True):
    keep_sessions: int = 100  # 0 for no limit, as of the next two
    keep_days: int = 0
    max_mb: int = 512
    max_response_kb: int = 64
    redact_keys: list[str] = msgspec.field(default_factory=list)
    fsync: bool = False
    ship: bool = False
    may_be_0 = ("keep_sessions", "keep_days", "max_mb")

    def check(self, name: str) -> None:
        for number, key in enumerate(self.redact_keys):
            if not key.strip():  # every value would be one under such a name
                raise ValueError(f".redact_keys[{number}]: must not be empty")


class Responses(Section, frozen=True):
    limit_tokens: int = 0  # 0: nothing is shortened
    keep_mb: int = 256
    may_be_0 = ("limit_tokens", "keep_mb")


class ClientSettings(Section, frozen=True):
    limit_tokens: int | None = None
    may_be_0 = ("limit_tokens",)


EVERY, EQUIPPED = "all", "equipped"  # patterns of `direct`: every tool and no meta-tools; the toolset in force
OF_TOOLSET = "@"  # begins the pattern for the tools of a toolset
TOOLSET_PATTERN = re.compile(rf"{OF_TOOLSET}[a-z0-9-]{{2,50}}\Z")


class Serve(Section, frozen=True):
    max_result_chars: int = 0
    expose: list[str] = msgspec.field(default_factory=lambda: list(EXPOSABLE))
    direct: list[str] = msgspec.field(default_factory=list)
    may_be_0 = ("max_result_chars",)
    some_of = {"expose": EXPOSABLE}

    def check(self, name: str) -> None:
        if len(self.direct) > bounds.DIRECT:
            raise ValueError(f".direct: has more than {bounds.DIRECT} patterns")
        for number, pattern in enumerate(self.direct):
            if problem := problem_of_direct(pattern):
                raise ValueError(f".direct[{number}]: {problem}")


class HttpSettings(Section, frozen=True):
    path: str = "/mcp"
    require_token: bool = True
    allowed_origins: list[str] = msgspec.field(default_factory=list)
    allowed_hosts: list[str] = msgspec.field(default_factory=list)
    max_body_mb: int = 32
    max_in_flight: int = 256
    max_in_flight_per_token: int = 32
    max_sessions: int = 500
    idle_session_s: float = 3600
    drain_s: float = 30
    metrics: bool = False
    may_be_0 = ("drain_s",)

    def check(self, name: str) -> None:
        if not HTTP_PATH.match(self.path) or self.path in OWN_PATHS:
            raise ValueError(f".path: must begin with /, such as /mcp, and not be {', '.join(OWN_PATHS)}")
        if self.max_body_mb > bounds.MESSAGE >> 20:
            raise ValueError(f".max_body_mb: must be at most {bounds.MESSAGE >> 20}")
        for number, origin in enumerate(self.allowed_origins):
            if not HTTP_ORIGIN.match(origin):
                raise ValueError(f".allowed_origins[{number}]: must be an origin, such as https://app.example.com")
        for number, host in enumerate(self.allowed_hosts):
            if not HTTP_HOST.match(host):
                raise ValueError(f".allowed_hosts[{number}]: must be a host, such as mcp.example.com or 10.0.0.5:8080")


def problem_of_direct(pattern: str) -> str:
    """The problem of a pattern of tools to be shown directly; empty where there is none."""
    if pattern in (EVERY, EQUIPPED) or TOOLSET_PATTERN.match(pattern):
        return "" if pattern not in CLASSES else f"'{pattern}' is a class; name tools, or a toolset as @NAME"
    if pattern.startswith(OF_TOOLSET):
        return f"'{pattern[:80]}' names no toolset: names have 2 to 50 of a to z, 0 to 9, -"
    if ":" not in pattern and (near := nearest(pattern.lower(), (EVERY, EQUIPPED))):
        return f"'{pattern}' is not a pattern; did you mean '{near[0]}'?"
    return problem_of(pattern, f"{OF_TOOLSET}TOOLSET, {EQUIPPED} or {EVERY}")


TOKEN_BYTES = 4
