"""How explanations of the policy are shown, and what of a command line they need."""

import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import POLICY_IMPORT_FIELDS, Row
from mcpctl.catalog.rows import HINT_FIELDS
from mcpctl.output import Columns
from mcpctl.output.text import line_of
from mcpctl.policy.words import HELD

IMPORTED = Columns(
    fields=POLICY_IMPORT_FIELDS,
    shown=("rule", "action", "effect", "patterns", "why"),
    cut=frozenset(("rule", "why", "path")),
    goes=("effect", "patterns"),
    render={"patterns": lambda patterns: ", ".join(patterns)},
    noun="rules",
    empty="no permission rules to import",
)
EXPLAINED = Columns(
    fields=(
        "key", "server", "tool", "project", "toolset", "mode", "listed", "near", "decision", "enforced", "code",
        "reason", "hint", "decided_by", "rules", "risk", "classes", "hints", "trust_hints", "grants",
        "arguments_hash",
    ),
    shown=("key", "decision"),
)  # fmt: skip
_DOES = {
    "allow": "it is called",
    "ask": "you are asked first",
    "deny": "it is neither found nor called",
    "held": f"it is neither found nor called until you have looked at it: {'; or '.join(HELD.values())}",
    "refused": "it is not called",
}
_FROM = {"declared": "declared by its server", "override": "set by a toolset", "default": "not declared"}


def digest(args: str | None) -> str:
    """The hash of the arguments of a call; empty where none are given. Raises `WrongUsage`."""
    if args is None:
        return ""
    import msgspec

    from mcpctl.policy.consent import digest_of

    try:
        msgspec.json.decode(args, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise WrongUsage("--args is not a JSON object", """for example: --args '{"city": "Oslo"}'""") from error
    return digest_of(args.encode())


def explanation(row: Row, config: Path) -> Iterator[str]:
    """What `policy explain` tells a person."""
    for line in _lines(row, config):
        yield line_of(line)


def _lines(row: Row, config: Path) -> Iterator[str]:
    yield row["key"]
    if not row["listed"]:
        near = f"; did you mean {' or '.join(row['near'])}?" if row["near"] else ""
        yield f"no server has listed it: it is taken for a tool that declares nothing{near}"
    yield f"{'decision:':<13}{_decision(row)}"
    if row["reason"] and row["decision"] == "refused":
        yield f"{'why:':<13}{row['reason']}; {row['hint']}"
    if row["mode"] == "off":
        yield f"{'policy:':<13}off: every permitted tool is called; to turn it on, {_turn_on(row, config)}"
        return
    yield f"{'rule:':<13}{row['decided_by'] or 'none decides: something else does'}"
    yield f"{'class:':<13}{', '.join(row['classes'])}"
    yield ""
    yield from _matching(row["rules"])
    yield ""
    yield from _hints(row)
    yield from _grants(row["key"], row["grants"])


def _decision(row: Row) -> str:
    decision = row["decision"]
    if row["enforced"]:
        return f"{decision}: {_DOES[decision]}"
    return f"allow: it is called, since the policy is only recorded; enforced, it would say {decision}"


def _turn_on(row: Row, config: Path) -> str:
    return f'write [policy] in {config}, with mode = "enforce" or "record"'


def _matching(rules: Collection[Any]) -> Iterator[str]:
    if not rules:
        yield "no rule matches it"
        return
    yield "the rules that match, in the order in which they count:"
    for rule in rules:
        place = f"{Path(rule['file']).name}:{rule['line']}" if rule["line"] else f"{Path(rule['file']).name}, a default"
        mark = ">" if rule["decides"] else " "
        yield f"{mark} {rule['rule']}  ({place}){'  decides' if rule['decides'] else ''}"


def _hints(row: Row) -> Iterator[str]:
    for field, name in HINT_FIELDS.items():
        hint = row["hints"][name]
        said = f"{'yes' if hint['value'] else 'no'} ({_FROM[hint['source']]}{_in(hint['file'])})"
        yield f"{field.replace('_', ' ') + ':':<13}{said}{_uncounted(hint, row['trust_hints'])}"


def _in(file: str | None) -> str:
    return f", {Path(file).name}" if file else ""


def _uncounted(hint: Any, trust: str | None) -> str:
    if hint["counts"]:
        return ""
    why = f'trust_hints = "{trust}"' if hint["source"] == "declared" else "a repository's file may not loosen"
    return f"; does not count for rules ({why}): taken for {'yes' if hint['counted_value'] else 'no'}"


def _grants(key: str, grants: Collection[Any]) -> Iterator[str]:
    for grant in grants:
        whose = f" in project {grant['project']}" if grant["project"] else ""
        scope = "always" if grant["scope"] == "always" else f"in session {grant['session']}"
        holds = "" if grant["holds"] else "; not for this project and definition"
        end = f"end that with: {shlex.join(['mcpctl', 'approvals', 'revoke', key])}"
        yield f"{'consent:':<13}you have said yes, {scope}{whose}{holds}; {end}"
