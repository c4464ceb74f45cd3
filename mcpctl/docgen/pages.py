"""Section 1 of the manual: a page for the program, for each noun and for each command."""

from collections.abc import Iterator, Mapping

from mcpctl.base.errors import EXIT_MEANINGS
from mcpctl.base.paths import INDEX_VERSION
from mcpctl.base.rules import Rules
from mcpctl.catalog import drift, policy_check
from mcpctl.checks import findings
from mcpctl.docgen import guides, roff
from mcpctl.docgen.tree import Node, Parameter, whole
from mcpctl.doctor import codes
from mcpctl.toolsets import lint

FILE_PAGES = ("mcpctl-config", "mcpctl-records")

ENVIRONMENT = {
    "MCPCTL_HOME": "A folder for everything: config.toml is in it, and the data in its folder data.",
    "MCPCTL_CONFIG": "The configuration file, unless --config names one.",
    "MCPCTL_DATA_DIR": "The data directory, unless --data-dir names one.",
    "MCPCTL_PROJECT": "The project in force, unless --project names one.",
    "MCPCTL_TOOLSET": "The toolset in force, unless --toolset names one: a name, a path, or none. It takes precedence"
    " over the project's toolset.",
    "MCPCTL_TOKEN": "The token of mcpctl tokens create with which serve, and tools call, find and call tools; it"
    " counts while a policy is enforced. --token-file goes before it, and the _meta.token of a request before both.",
    "MCPCTL_SEMANTIC_TOKEN": "The bearer token of the embeddings endpoint, semantic_url in the configuration.",
    "MCPCTL_CLOUD_TOKEN": "The bearer token of the search service, cloud_url in the configuration.",
    "MCPCTL_OWNER": "mcpctl sets it for the servers that it starts, so that mcpctl doctor finds those left over.",
    "MCPCTL_DEBUG": "Set to any text: an internal error shows its traceback.",
    "NO_COLOR": "Set to any text: nothing is printed in colour. --no-color and TERM=dumb do the same.",
    "FORCE_COLOR": "Set to any text: tables are in colour even if stdout is not a terminal.",
    "COLUMNS": "The width of tables, in place of the terminal's.",
}
RULES: Mapping[tuple[str, ...], Rules] = {
    ("mcpctl", "annotate", "check"): lint.RULES,
    ("mcpctl", "tools", "check"): findings.RULES,
    ("mcpctl", "policy", "check"): policy_check.RULES,
    ("mcpctl", "tools", "diff"): drift.RULES,
    ("mcpctl", "doctor"): codes.CODES,
}
"""The commands that check by rules."""
FILES = {
    "~/.config/mcpctl/config.toml": "Servers and settings: see mcpctl-config(5). On macOS it is in"
    " ~/Library/Application Support/mcpctl.",
    "~/.local/share/mcpctl/": "The data directory. On macOS it is ~/Library/Application Support/mcpctl.",
    "sessions/*.jsonl": "In the data directory: the journals, from which all records are derived. See"
    " mcpctl-records(5).",
    "responses/SESSION/CALL.json": "In the data directory: whole answers of which a client got a part, not redacted."
    " See limit_tokens in mcpctl-config(5).",
    f"index-v{INDEX_VERSION}.db": "In the data directory: the SQLite index of the journals, which is built again if you"
    " delete it.",
    "state.db": "In the data directory: the tools that servers last listed, the last failure of each server, the name"
    " of the equipped toolset, and the embeddings of tools.",
    "logs/*.jsonl": "In the data directory: the last 200 lines that each server has written to stderr, without"
    " secrets.",
    "policy.db": "In the data directory: what people have decided: pins of tools and approvals. It is no cache: if you"
    " delete it, tools are pinned anew as they are then.",
    "oauth/*.json": "In the data directory: your logins to remote servers, one file each. They have secrets, unless"
    " those are in a keyring, and only you can read them. If you delete one, you have to log in again.",
    "redaction.key": "In the data directory: the key of the hashes in redacted values. If you delete it, secrets of"
    " later sessions have other hashes than equal secrets of earlier ones.",
    "dashboard.json": "In the data directory: the port of the last mcpctl dashboard, and while one runs, its process"
    " and the key of its logins. Only you can read it.",
    "toolsets/*.json": "In the data directory: the toolsets that are not in a repository.",
    "installs/": "In the data directory: what the files of clients had before and after mcpctl install, which mcpctl"
    " uninstall needs, and copies of them. They may have secrets, and only you can read them.",
}


def page(node: Node) -> str:
    """The page of one node of the command tree."""
    return roff.joined([
        *roff.head(node.page, 1, node.summary),
        *roff.section("SYNOPSIS", _synopsis(node)),
        *roff.section("DESCRIPTION", roff.paragraphs(node.paragraphs)),
        *roff.section("COMMANDS", _commands(node)),
        *roff.section("ARGUMENTS", _entries(node.arguments)),
        *roff.section("OPTIONS", _entries(node.options)),
        *_rules(RULES.get(node.path, {})),
        *(_of_the_program() if len(node.path) == 1 else _exit_status_elsewhere()),
        *roff.section("EXAMPLES", roff.verbatim(node.examples)),
        *roff.section("SEE ALSO", roff.references(_related(node))),
    ])  # fmt: skip


def _synopsis(node: Node) -> Iterator[str]:
    yield f".B {roff.escaped(' '.join(node.path))}"
    arguments = " ".join(roff.italic(argument.takes) for argument in node.arguments)
    below = f"{roff.italic('COMMAND')} ..." if node.needs_child else f"[{roff.italic('COMMAND')} ...]"
    yield f"[{roff.italic('OPTIONS')}] {below if node.children else arguments}".rstrip()


def _commands(node: Node) -> Iterator[str]:
    for child in node.children:
        for command in child.walk():
            yield ".TP"
            yield f".BR {roff.escaped(command.page)} (1)"
            yield from roff.prose(command.summary)


def _entries(parameters: tuple[Parameter, ...]) -> Iterator[str]:
    for parameter in parameters:
        yield from roff.entry(_tag(parameter), parameter.help)


def _tag(parameter: Parameter) -> str:
    if not parameter.names[0].startswith("-"):
        return roff.italic(parameter.takes)
    names = ", ".join(map(roff.bold, parameter.names))
    if parameter.secondary:
        names = f"{names}, {', '.join(map(roff.bold, parameter.secondary))}"
    return f"{names} {roff.italic(parameter.takes)}" if parameter.takes else names


def _rules(rules: Rules) -> Iterator[str]:
    entries = [
        line for rule in rules.values() for line in roff.entry(roff.bold(rule.id), f"{rule.what} {rule.why} {rule.fix}")
    ]
    yield from roff.section("RULES", entries)


def _of_the_program() -> Iterator[str]:
    for title, entries in (("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        bodies = [line for name, text in entries.items() for line in roff.entry(roff.bold(name), text)]
        yield from roff.section(title, bodies)
    codes = (line for code, text in EXIT_MEANINGS.items() for line in roff.entry(roff.bold(str(int(code))), text))
    yield from roff.section("EXIT STATUS", codes)


def _exit_status_elsewhere() -> Iterator[str]:
    yield from roff.section("EXIT STATUS", ["0 on success; see", ".BR mcpctl (1)", "for the others."])


def _related(node: Node) -> list[tuple[str, int]]:
    """The program's page, then the pages above, beside and below the node."""
    nodes = {other.path: other for other in whole().walk()}
    above = [nodes[node.path[:length]] for length in range(1, len(node.path))]
    beside = [other for other in above[-1].children if len(above) > 1 and other is not node] if above else []
    names = [other.page for other in (*above, *beside, *node.children) if other.path != node.path]
    about = [(page.removesuffix(".7"), 7) for page in guides.pages()] if len(node.path) == 1 else []
    return [*((name, 1) for name in names), *((name, 5) for name in FILE_PAGES), *about]
