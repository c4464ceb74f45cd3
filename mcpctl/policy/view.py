"""The view of one request: the configuration, project and toolset in force, the caller, and the servers that its token
and the projects let it see. Made once for each request, and never changed."""

from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mcpctl.base.callers import Caller, Claims, Client, capability_set, translated
from mcpctl.config.config import Config
from mcpctl.config.server_settings import UNASSIGNED
from mcpctl.config.settings import EQUIPPED, OF_TOOLSET
from mcpctl.policy.approvals import Grant
from mcpctl.policy.policy_file import Pause
from mcpctl.policy.rules import Rules, rules_of
from mcpctl.policy.tokens import Token, identified
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import ToolsetFile

NO_TOKEN, NOT_VALID = "no_token", "token_not_valid"


class Access(NamedTuple):
    token: Token | None = None
    problem: str = ""  # the code of a refusal: it has no token and needs one, or its token is not valid
    binds: bool = True  # whether the problem is refused, and not only recorded

    @property
    def is_barred(self) -> bool:
        return self.binds and bool(self.problem)

    @property
    def only_reads(self) -> bool:
        return self.token is not None and self.token.read_only


UNBOUND = Access()  # for a person, and for a request where no policy is on


def access_by(token: Token | None, now: float) -> Access:
    """The access of requests with this token, where one is needed to get in."""
    return Access(token, "" if token.state(now) == "valid" else NOT_VALID) if token else UNBOUND


class Scope(NamedTuple):
    project: str | None = None  # the project that the request names, `UNASSIGNED`, or None where it names none
    is_granted: bool = False  # whether a token is for this project by name
    projects: frozenset[str] = frozenset()  # those of the token; empty for any
    servers: frozenset[str] = frozenset()  # those of the token; empty for any

    def sees(self, server: str, projects: frozenset[str] | None) -> bool:
        """Whether a server is seen that is in these projects; None is in all."""
        if self.servers and server not in self.servers:
            return False
        if projects is None:
            return True
        is_in_project = self.project is None or self.project in projects
        return is_in_project and not (self.projects and self.projects.isdisjoint(projects))


def access_of(config: Config, claims: Claims, tokens: Collection[Token], now: float) -> tuple[Config, Access]:
    """The configuration that a request sees, and its access. A token applies only with a policy, or where one was
    needed to get in. The process's own project says whether one is needed."""
    policy = config.policy
    if not (policy.is_on or claims.is_checked):
        return seen_by(config, claims, None), UNBOUND
    text = claims.token
    token = None if text is None else identified(text, tokens, now)
    problem = NOT_VALID if text is not None and token is None else ""
    if text is None and policy.table.require_token:
        problem = NO_TOKEN
    access = Access(token, problem, policy.enforces or claims.is_checked)
    if access.is_barred:
        return _nothing_of(config), access
    return seen_by(config, claims, token if access.binds else None), access


def seen_by(config: Config, claims: Claims, token: Token | None = None) -> Config:
    """The configuration that a request of these claims sees."""
    project = claims.project if claims.project is not None else _project_of(config, claims, token)
    must_say = config.project is None and config.policy.enforces and not claims.of_person
    if project == "" or (project is None and must_say):
        project = UNASSIGNED
    elif project == config.project:
        project = None  # it narrows nothing
    elif project not in (None, UNASSIGNED):
        is_barred = token and token.projects and project not in token.projects
        if is_barred or project not in config.known_projects:
            return _nothing_of(config)
    if token:
        return _narrowed(config, Scope(project, project in token.projects, token.projects, token.servers))
    return config if project is None else _narrowed(config, Scope(project))


def _project_of(config: Config, claims: Claims, token: Token | None) -> str | None:
    """The project of a request over HTTP that names none: the one that its token is for. No client can name another
    there, and a person has made the token for just that one."""
    if config.project is not None or token is None or not claims.is_checked or len(token.projects) != 1:
        return None
    (project,) = token.projects
    return project if project in config.known_projects else None


# The same configuration each time: what is made from one, such as its rules and its search index, is found by it.
@lru_cache(maxsize=256)
def _narrowed(config: Config, scope: Scope) -> Config:
    names = {*config.servers, *config.problems}
    unseen = frozenset(name for name in names if not scope.sees(name, config.members.get(name)))
    named = scope.project if scope.project != UNASSIGNED else None
    is_of_token = bool(scope.projects or scope.servers)
    if not (unseen or named or is_of_token):
        return config
    bound = ""
    if is_of_token:
        bound = "one that the token may use"
    elif scope.project == UNASSIGNED:
        bound = "one of those without a project"
    elif config.project:
        bound = f"in the project '{named}', which the request names"
    return _without(
        config, unseen, bound, config.project or named,
        is_claimed=config.project is None and named is not None and not scope.is_granted,
    )  # fmt: skip


@lru_cache(maxsize=16)
def _nothing_of(config: Config) -> Config:
    every = frozenset((*config.servers, *config.problems))
    return _without(config, every, "one that this request may use", config.project)


# One for all tokens and projects that see the same, whatever else they would see if there were more servers.
@lru_cache(maxsize=256)
def _without(
    config: Config, unseen: frozenset[str], bound: str, project: str | None, *, is_claimed: bool = False
) -> Config:
    problems = {name: problem for name, problem in config.problems.items() if name not in unseen}
    elsewhere = config.elsewhere.union(unseen)
    return replace(config, problems=problems, elsewhere=elsewhere, project=project, bound=bound, is_claimed=is_claimed)


class Standing(Struct, frozen=True):
    grants: Collection[Grant] = frozenset()
    tokens: Collection[Token] = ()  # also expired and revoked ones
    ends: float | None = None  # when the first of all these ends, in seconds since the epoch
    pause: Pause | None = None


NOTHING_DECIDED = Standing()


if TYPE_CHECKING:
    from mcpctl.store.recorder import Origin


class View(Struct, frozen=True, dict=True):
    config: Config
    toolset: Toolset | None = None
    caller: Caller | None = None  # None for a person at the command line
    generation: int = 0  # grows whenever a running `serve` follows a change of the configuration
    standing: Standing = NOTHING_DECIDED
    access: Access = UNBOUND
    is_locked: bool = False  # whether only tools of a lock file may be found or called
    toolset_place: ToolsetFile | None = None
    direct_toolsets: tuple[Toolset, ...] = ()  # those whose tools the configuration has shown directly

    @cached_property
    def verdicts(self) -> dict[Any, Any]:
        """The verdicts made from it: a change of anything that decides makes another view."""
        return {}

    @cached_property
    def direct_keys(self) -> dict[str, str]:
        """The keys that its client's names of tools say themselves, by name, as far as they were asked for."""
        return {}

    @cached_property
    def shown_directly(self) -> dict[int, Any]:
        """The tools that its client is shown directly, by the changes of lists after which they were found."""
        return {}

    @cached_property
    def origin(self) -> "Origin":
        from mcpctl.store.recorder import Origin

        client = self.caller.client if self.caller else Client()
        toolset = self.toolset.name if self.toolset else None
        equipped = f"{OF_TOOLSET}{self.toolset_place.reference}" if self.toolset_place else EQUIPPED
        direct = tuple(equipped if each == EQUIPPED else each for each in self.config.serve.direct)
        return Origin(client, self.project, toolset, self.token_id, direct)

    @cached_property
    def project(self) -> str | None:
        return self.config.project

    @cached_property
    def capability_sets(self) -> Sequence[str]:
        """The client's capabilities, as servers may have been told them; none for a person at the command line."""
        if self.caller is None:
            return ("",)
        declared = self.caller.capabilities
        return tuple(dict.fromkeys((capability_set(declared), capability_set(translated(declared)))))

    @cached_property
    def token_id(self) -> str:
        return self.access.token.id if self.access.token else ""

    @cached_property
    def rules(self) -> Rules:
        return rules_of(self.config, self.toolset)
