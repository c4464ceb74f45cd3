"""The settings of `config.toml` beside its servers and its policy, section by section: their defaults, and checks."""

import re

import msgspec

from mcpctl.base.feature_names import EXPOSABLE
from mcpctl.config import policy_settings
from mcpctl.config.policy_settings import ProjectPolicyTable
from mcpctl.config.server_settings import URL, check_expose, check_project_name

_DOCUMENT = re.compile(r"https://[^\s/?#]+/[^\s?#]\S*\Z", re.IGNORECASE)
OPTIMIZATIONS = ("bm25", "semantic", "cloud", "off")
SEMANTIC_TOKEN, CLOUD_TOKEN = "MCPCTL_SEMANTIC_TOKEN", "MCPCTL_CLOUD_TOKEN"
TOKEN = "MCPCTL_TOKEN"
"""The variable with the token, of `mcpctl tokens create`, with which requests are made."""


class Project(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[projects.NAME]`, as written."""

    optimization: str | None = None
    toolset: str | None = None
    policy: ProjectPolicyTable | None = None


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[search]`."""

    optimization: str = OPTIMIZATIONS[0]
    answer_tokens: int = 2000
    semantic_model: str = ""
    """A folder with a model; with a `semantic_url`, the model's name there."""
    semantic_url: str = ""
    semantic_timeout_s: float = 5
    cloud_url: str = ""
    cloud_timeout_s: float = 5


STORES = ("file", "keyring")


class OAuthSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[oauth]`: what holds for the logins to all servers."""

    store: str = STORES[0]
    client_metadata_url: str = ""


LIMITS = ("keep_sessions", "keep_days", "max_mb")


class RecordSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[records]` of the configuration."""

    keep_sessions: int = 100
    """0 for no limit, as of the next two."""
    keep_days: int = 0
    max_mb: int = 512
    max_response_kb: int = 64
    redact_keys: list[str] = []
    fsync: bool = False


class Responses(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit_tokens: int = 0
    """0: nothing is shortened."""
    keep_mb: int = 256


class ClientSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[clients."NAME"]`."""

    limit_tokens: int | None = None


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[serve]`."""

    max_result_chars: int = 0
    expose: list[str] = msgspec.field(default_factory=lambda: list(EXPOSABLE))


TOKEN_BYTES = 4


def check_project(name: str, project: Project) -> None:
    """Raises ValueError with the key and what is wrong with it, as all of these checks do."""
    check_project_name(name, ":")
    _check_optimization(project.optimization)
    if project.toolset == "":
        raise ValueError(".toolset: must be a name, a path or none")
    if project.policy:
        policy_settings.check(project.policy, ".policy")


def check_search(search: Search) -> None:
    _check_optimization(search.optimization)
    for key in ("semantic_url", "cloud_url"):
        url = getattr(search, key)
        if url and not URL.match(url):
            raise ValueError(f".{key}: must be an http:// or https:// address")
    if search.semantic_url and not search.semantic_model:
        raise ValueError(".semantic_model: is missing: the model's name at semantic_url")


def check_serve(serve: Serve) -> None:
    check_expose(serve.expose)


def check_records(records: RecordSettings) -> None:
    for number, name in enumerate(records.redact_keys):
        if not name.strip():  # every value would be one under such a name
            raise ValueError(f".redact_keys[{number}]: must not be empty")


def check_oauth(oauth: OAuthSettings) -> None:
    if oauth.store not in STORES:
        raise ValueError(f".store: must be {' or '.join(STORES)}")
    if oauth.client_metadata_url and not _DOCUMENT.match(oauth.client_metadata_url):
        raise ValueError(".client_metadata_url: must be the https:// address of a document, with a path")


def _check_optimization(name: str | None) -> None:
    if name not in (None, *OPTIMIZATIONS):
        raise ValueError(f".optimization: must be {', '.join(OPTIMIZATIONS[:-1])} or {OPTIMIZATIONS[-1]}")
