"""Section 1 of the manual: a page for the program, for each noun and for each command."""

from collections.abc import Iterator, Mapping

from mcpctl.base.errors import ExitCode
from mcpctl.base.rules import Rules
from mcpctl.catalog import drift, policy_check
from mcpctl.checks import findings
from mcpctl.docgen import guides, roff
from mcpctl.docgen.texts import TEXTS
from mcpctl.docgen.tree import Node, Parameter, whole
from mcpctl.doctor.findings import CODES
from mcpctl.toolsets import lint

FILE_PAGES = ("mcpctl-config", "mcpctl-records")
RULES: Mapping[tuple[str, ...], Rules] = {
    ("mcpctl", "annotate", "check"): lint.RULES,
    ("mcpctl", "tools", "check"): findings.RULES,
    ("mcpctl", "policy", "check"): policy_check.RULES,
    ("mcpctl", "tools", "diff"): drift.RULES,
    ("mcpctl", "doctor"): CODES,
}


def page(node: Node) -> str:
    return roff.joined([
        *roff.head(node.page, 1, node.summary),
        *roff.section("SYNOPSIS", _synopsis(node)),
        *roff.section("DESCRIPTION", roff.paragraphs("\n\n".join(node.paragraphs))),
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
    for title in ("ENVIRONMENT", "FILES"):
        bodies = [line for name, text in TEXTS[title].items() for line in roff.entry(roff.bold(name), text)]
        yield from roff.section(title, bodies)
    codes = (line for code in ExitCode for line in roff.entry(roff.bold(str(int(code))), code.meaning))
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
