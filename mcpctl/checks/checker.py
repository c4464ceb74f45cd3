"""The check of tool definitions. A tool with an E finding is one to be held."""

from collections.abc import Iterable, Iterator

from mcpctl.base.models import Tool
from mcpctl.checks import hidden, payloads, traits
from mcpctl.checks.asides import ASIDES
from mcpctl.checks.authority import AUTHORITY
from mcpctl.checks.findings import ERROR, Finding, quoted
from mcpctl.checks.leaks import LEAKS
from mcpctl.checks.matching import matches
from mcpctl.checks.orders import ORDERS
from mcpctl.checks.peers import Peers
from mcpctl.checks.reading import Reading, plain, spelled
from mcpctl.checks.steering import STEERING

PHRASES = (*ASIDES, *AUTHORITY, *LEAKS, *ORDERS, *STEERING)
_IN_PAYLOADS = tuple(phrase for phrase in PHRASES if phrase.rule in ("E403", "E404", "E408"))


class Checker:
    """Checks tools that are seen together: what they are to each other is looked up in an index that is made once."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._peers = Peers(tools)

    def check(self, tool: Tool) -> list[Finding]:
        """What is suspicious about one of the tools: at most one finding of each rule and place, errors first."""
        reading = Reading(tool)
        found: dict[tuple[str, str], Finding] = {}
        for finding in self._findings(tool, reading):
            found.setdefault((finding.rule, finding.place), finding)
        return sorted(found.values(), key=lambda finding: finding.rule)

    def _findings(self, tool: Tool, reading: Reading) -> Iterator[Finding]:
        yield from _hidden(tool, reading)
        yield from _phrases(tool, reading)
        yield from _payloads(tool, reading)
        yield from self._peers.findings(tool, reading)
        yield from traits.findings(tool, reading)


def is_held(findings: Iterable[Finding]) -> bool:
    """Whether a tool with these findings is to be held: one of them is an error."""
    return any(finding.severity == ERROR for finding in findings)


def _hidden(tool: Tool, reading: Reading) -> Iterator[Finding]:
    for part in reading.parts:
        if said := hidden.found(part.text) or spelled(part.text):
            yield Finding(tool.key, "E401", part.place, f"{part.place} has {said}")


def _phrases(tool: Tool, reading: Reading) -> Iterator[Finding]:
    for match in matches(reading.text, PHRASES):
        place = reading.part(match.start).place
        if not match.quoted:
            yield Finding(tool.key, match.phrase.rule, place, f"{place} {match.phrase.what}: {quoted(match.said)}")
        elif match.phrase.rule.startswith("E"):
            message = f"{place} quotes what would be {match.phrase.rule}: {quoted(match.said)}"
            yield Finding(tool.key, "W509", place, message)


def _payloads(tool: Tool, reading: Reading) -> Iterator[Finding]:
    for part in reading.parts:
        if len(part.text) < _SHORTEST_PAYLOAD:
            continue
        for said in payloads.decoded(part.text):
            if payloads.COMMAND.search(said) or any(not match.quoted for match in matches(plain(said), _IN_PAYLOADS)):
                message = f"{part.place} has an encoded payload that says {quoted(said)}"
                yield Finding(tool.key, "E406", part.place, message)


_SHORTEST_PAYLOAD = 20
