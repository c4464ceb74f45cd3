"""Section 1 of the manual: a page for the program, for each noun and for each command."""

import itertools
from collections.abc import Iterator, Mapping

from mcpctl.base.errors import ExitCode
from mcpctl.base.rules import Rule, Rules
from mcpctl.catalog import drift, policy_check
from mcpctl.checks import findings
from mcpctl.docgen import guides, roff
from mcpctl.docgen.texts import TEXTS
from mcpctl.docgen.tree import CommandParameter, Node, whole
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
_STATUS = ("0 on success; see", ".BR mcpctl (1)", "for the others.")


def page(node: Node) -> str:
    return roff.joined([
        *roff.head(node.page, 1, node.summary),
        *roff.section("SYNOPSIS", _synopsis(node)),
        *roff.section("DESCRIPTION", roff.paragraphs("\n\n".join(node.paragraphs))),
        *roff.section("COMMANDS", _commands(node)),
        *roff.section("ARGUMENTS", roff.entries((_tag(each), each.help) for each in node.arguments)),
        *roff.section("OPTIONS", _options(node)),
        *roff.section("RULES", roff.entries(map(_rule, RULES.get(node.path, {}).values()))),
        *(_of_the_program() if len(node.path) == 1 else roff.section("EXIT STATUS", _STATUS)),
        *roff.section("EXAMPLES", roff.verbatim(node.examples)),
        *roff.section("SEE ALSO", roff.references(_related(node))),
    ])  # fmt: skip


def _synopsis(node: Node) -> Iterator[str]:
    yield f".B {roff.escaped(' '.join(node.path))}"
    arguments = " ".join(roff.italic(argument.takes) for argument in node.arguments)
    below = f"{roff.italic('COMMAND')} ..." if node.needs_child else f"[{roff.italic('COMMAND')} ...]"
    yield f"[{roff.italic('OPTIONS')}] {below if node.children else arguments}".rstrip()
    if any("--" in option.names for option in node.options):
        yield f"[{roff.escaped('--')} {roff.italic('COMMAND')} ...]"


def _commands(node: Node) -> Iterator[str]:
    for group, children in itertools.groupby(node.children, lambda child: child.group):
        lines = [line for child in children for command in child.walk() for line in _command(command)]
        yield from roff.subsection(group, lines) if group else lines


def _command(command: Node) -> Iterator[str]:
    yield ".TP"
    yield f".BR {roff.escaped(command.page)} (1)"
    yield from roff.prose(command.summary)


def _options(node: Node) -> Iterator[str]:
    for section, options in itertools.groupby(node.options, lambda option: option.section):
        lines = roff.entries((_tag(each), each.help) for each in options)
        yield from lines if section == node.options[0].section else roff.subsection(section, lines)


def _tag(parameter: CommandParameter) -> str:
    if not parameter.names[0].startswith("-"):
        return roff.italic(parameter.takes)
    names = ", ".join(map(roff.bold, (*parameter.names, *parameter.secondary)))
    return f"{names} {roff.italic(parameter.takes)}" if parameter.takes else names


def _rule(rule: Rule) -> tuple[str, str]:
    return roff.bold(rule.id), f"{rule.what} {rule.why} {rule.fix}"


def _of_the_program() -> Iterator[str]:
    for title in ("ENVIRONMENT", "FILES"):
        yield from roff.section(title, roff.entries((roff.bold(name), text) for name, text in TEXTS[title].items()))
    codes = ((roff.bold(str(int(code))), code.meaning) for code in ExitCode)
    yield from roff.section("EXIT STATUS", roff.entries(codes))


def _related(node: Node) -> list[tuple[str, int]]:
    nodes = {other.path: other for other in whole().walk()}
    above = [nodes[node.path[:length]] for length in range(1, len(node.path))]
    beside = [other for other in above[-1].children if len(above) > 1 and other is not node] if above else []
    names = [other.page for other in (*above, *beside, *node.children) if other.path != node.path]
    about = [(page.removesuffix(".7"), 7) for page in guides.pages()] if len(node.path) == 1 else []
    return [*((name, 1) for name in names), *((name, 5) for name in FILE_PAGES), *about]
