"""The policies that `mcpctl init` offers, and what each of them decides on the tools that servers list."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mcpctl.base.hints import RISKS
from mcpctl.base.models import Row, Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.catalog.explained import decision_of, subject_of
from mcpctl.config import config, editing
from mcpctl.policy.decide import ALLOW, decide

_MOST = 10
_VERBS = {"runs": "run", "asks": "ask", "held": "held", "refused": "refused"}
_WORDS = {"ask": "asks", "held": "held"}


class Preset(NamedTuple):
    name: str
    means: str
    settings: Mapping[str, str | bool]


_HINTS = {"auto_approve_read_only": True, "confirm_destructive": True}
PRESETS = {
    preset.name: preset
    for preset in (
        Preset("careful", "tools that say that they only read run, all others wait for your yes",
               {"mode": "enforce", "default": "ask", **_HINTS}),
        Preset("balanced", "tools that may delete, or do not say, wait for your yes, all others run",
               {"mode": "enforce", "default": "allow", **_HINTS}),
        Preset("record", "all run, and it is on record which would have waited under balanced",
               {"mode": "record", "default": "allow", **_HINTS}),
    )
}  # fmt: skip
_COMMENTS = {
    "mode": "enforce; record decides and records, and blocks nothing; off",
    "default": "for tools that no rule names: allow, ask or deny",
    "auto_approve_read_only": "tools that say that they only read run",
    "confirm_destructive": "tools that may delete, or do not say, wait for your yes",
}
_EXAMPLES = """\
# deny = ["*:drop_*"]          # the first of deny, ask and allow that has a tool decides
# ask = ["slack:*"]
# allow = ["notes:add_*"]
"""


def written(paths: Paths, before: str, preset: Preset) -> str:
    """The text of config.toml with the preset; the lists and all other keys of a [policy] that is there stay."""
    if config.parsed(paths.config, before).policy_table is not None:
        return editing.with_values(paths.config, before, "policy", preset.settings)
    lines = ["# Which calls run, wait for your yes, or are refused: see mcpctl help policy-guide", "[policy]"]
    lines += [f"{f'{key} = {_toml(value)}':<30} # {_COMMENTS[key]}" for key, value in preset.settings.items()]
    return editing.with_lines(before, "\n".join([*lines, _EXAMPLES]))


def _toml(value: str | bool) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


class Preview(NamedTuple):
    rows: Sequence[Row]  # of some tools, with a column for each text
    totals: Mapping[str, Counter[str]]  # by text, how many tools run, ask, and are held or refused
    unlisted: Sequence[str]

    def told(self, name: str) -> str:
        counts = self.totals[name]
        parts = [f"{counts[word]} {verb}" for word, verb in _VERBS.items() if counts[word]]
        return f"of {counts.total()} tools, {', '.join(parts)}" if parts else ""


def preview(paths: Paths, texts: Mapping[str, str]) -> Preview:
    """The decisions on all tools that are listed under each of these texts of config.toml."""
    decided: dict[str, dict[str, str]] = {name: dict(_decided(paths, text)) for name, text in texts.items()}
    with rows.catalog(paths, quiet=True) as catalog:
        lists = [catalog.listed(server) for server in catalog.config.enabled]
        risks = {
            tool: catalog.view.rules.risk(tool.server, tool) for listed in lists if listed for tool in listed.tools
        }
        shown = [
            {"tool": tool.key, "risk": risks[tool], **{name: decided[name][tool.key] for name in texts}}
            for tool in sorted(_mixed(risks), key=lambda tool: (RISKS.index(risks[tool]), tool.key))
        ]
        totals = {name: Counter(words.values()) for name, words in decided.items()}
        return Preview(shown, totals, catalog.unlisted())


def _mixed(risks: Mapping[Tool, str]) -> list[Tool]:
    """Some tools of every risk, in turn, and of as many servers as there are."""
    left = {risk: [tool for tool, its in risks.items() if its == risk] for risk in RISKS}
    mixed: list[Tool] = []
    while len(mixed) < _MOST and any(left.values()):
        of_servers = Counter(tool.server for tool in mixed)
        risk = min(filter(left.get, RISKS), key=lambda risk: sum(risks[tool] == risk for tool in mixed))
        mixed.append(min(left[risk], key=lambda tool: of_servers[tool.server]))
        left[risk].remove(mixed[-1])
    return mixed


def _decided(paths: Paths, text: str) -> Iterator[tuple[str, str]]:
    with rows.catalog(paths, quiet=True, loaded=config.parsed(paths.config, text)) as catalog:
        for listed in map(catalog.listed, catalog.config.enabled):
            for tool in listed.tools if listed else ():
                subject = subject_of(catalog.view, tool.server, tool.name, tool)
                verdict = decide(subject._replace(is_counted=True))  # limits are of an hour, and a policy of all hours
                word = "runs" if verdict.outcome == ALLOW else _WORDS.get(decision_of(verdict), "refused")
                yield tool.key, word
