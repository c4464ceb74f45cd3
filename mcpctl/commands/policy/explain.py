"""`mcpctl policy explain`"""

import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpctl.base.models import HINTS, Row
from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.config.policy_settings import TRUSTS

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths
    from mcpctl.policy.tokens import Token

_FROM = {
    "declared": "declared by its server", "inferred": "inferred from its HTTP method", "override": "set by a toolset",
    "default": "not declared",
}  # fmt: skip


def explain(
    key: opt.ToolKey,
    args: str | None = opt.option("--args", "JSON", "The arguments of the call: an object."),
    token: str | None = opt.option(
        "--token", "NAME", "For the person who has this token: its name or id.", complete.tokens
    ),
    *,
    shown: opt.OneThing,
    place: opt.ToolsetLocation,
) -> None:
    """Explain the decision on a call of a tool. Every rule that matches it is named, in the order in which they count.

    The decision is that of mcpctl serve, on the tool as its server last listed it. A tool that nobody has listed is
    explained as one that declares nothing. No rule looks at arguments; with --args, the JSON has the hash that a yes to
    this one call is bound to.

    Examples:
      mcpctl policy explain github:delete_repository
      mcpctl policy explain github:create_issue --project work --json | jq .decision
      mcpctl policy explain github:create_issue --token ann
    """
    from mcpctl.base.errors import folded
    from mcpctl.catalog import explained, rows
    from mcpctl.output.text import here, line_of

    paths, digest = place.paths(), _digest(args)
    whose = _token(token, paths) if token else None
    with rows.catalog(paths, place.toolset, place.project, quiet=True, token=whose) as catalog:
        row = explained.explain(catalog, key, paths, digest)
    lines = (here(line_of(line)) for line in _explanation(row, paths.config))
    shown.write(row, lambda _: (folded(line, _indent(line), out=True) for line in lines))


def _token(name: str, paths: "Paths") -> "Token":
    from mcpctl.policy import tokens
    from mcpctl.policy.policy_file import PolicyFile

    with PolicyFile.connect(paths) as file:
        return tokens.named(file, name)


def _indent(line: str) -> int:
    """The place below which a line goes on: its value, or its rule."""
    return 13 if line[:13].rstrip().endswith(":") else 2 if line.startswith((">", " ")) else 0


def _digest(args: str | None) -> str:
    """The hash of the arguments of a call; empty where none are given. Raises `WrongUsage`."""
    if args is None:
        return ""
    import msgspec

    from mcpctl.base.errors import WrongUsage
    from mcpctl.policy.consent import digest_of

    try:
        msgspec.json.decode(args, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise WrongUsage("--args is not a JSON object", """for example: --args '{"city": "Oslo"}'""") from error
    return digest_of(args.encode())


def _explanation(row: Row, config: Path) -> Iterator[str]:
    yield row["key"]
    if not row["listed"]:
        near = f"; did you mean {' or '.join(row['near'])}?" if row["near"] else ""
        yield f"no server has listed it: it is taken for a tool that declares nothing{near}"
    yield f"{'decision:':<13}{_decision(row)}"
    if row["reason"] and row["decision"] == "refused":
        yield f"{'why:':<13}{row['reason']}; {row['hint']}"
    is_paused = row["code"] == "paused"
    if row["mode"] == "off":
        turn_on = f'write [policy] in {config}, with mode = "enforce" or "record"'
        once = "once that has ended, " if is_paused else ""
        yield f"{'policy:':<13}off: {once}every permitted tool is called; to turn it on, {turn_on}"
        return
    later = ", once that has ended" * is_paused
    yield f"{'rule:':<13}{row['decided_by'] or 'none decides: something else does'}{later}"
    yield f"{'class:':<13}{', '.join(row['classes'])}"
    for limit in row["limits"]:
        place = f"{Path(limit['file']).name}:{limit['line']}" if limit["line"] else Path(limit["file"]).name
        free = f", free again at {limit['free_at']}" if limit["free_at"] else ""
        kind, _, rule = limit["rule"].partition(" ")
        left = (
            "counted by each serve, for each token"
            if limit["left"] is None
            else f"{limit['left']} of {limit['most']} left"
        )
        yield f"{f'{kind}:':<13}{rule} ({place}): {left}{free}"
    yield ""
    yield from _matching(row["rules"])
    rules = row["rules"]
    if any(rule["decides"] and rule["rule"].startswith("confirm_destructive") for rule in rules) and any(
        rule["effect"] == "allow" for rule in rules
    ):
        name = row["tool"] if row["tool"].replace("_", "").replace("-", "").isalnum() else "NAME"
        alone = f'{name} = "allow" in [servers.{row["server"]}.tools]'
        yield f"ask goes before allow; to have it called unasked, write {alone}"
    yield ""
    yield from _hints(row)
    yield from _grants(row["key"], row["grants"])


def _decision(row: Row) -> str:
    from mcpctl.policy.words import HELD

    decision = row["decision"]
    if not row["enforced"]:
        return f"allow: it is called, since the policy is only recorded; enforced, it would say {decision}"
    effects = {
        "allow": "it is called",
        "ask": "you are asked first",
        "deny": "it is neither found nor called",
        "held": f"it is neither found nor called until you have looked at it: {'; or '.join(HELD.values())}",
        "refused": "it is not called",
    }
    return f"{decision}: {effects[decision]}"


def _matching(rules: Collection[Any]) -> Iterator[str]:
    if not rules:
        yield "no rule matches it"
        return
    yield "the rules that match, in the order in which they count:"
    for rule in rules:
        place = f"{Path(rule['file']).name}:{rule['line']}" if rule["line"] else "built in"
        mark = ">" if rule["decides"] else " "
        yield f"{mark} {rule['rule']}  ({place}){'  decides' if rule['decides'] else ''}"


def _hints(row: Row) -> Iterator[str]:
    from mcpctl.catalog.rows import HINT_FIELDS

    for field, name in HINT_FIELDS.items():
        hint = row["hints"][name]
        file = f", {Path(hint['file']).name}" if hint["file"] else ""
        value = f"{'yes' if hint['value'] else 'no'} ({_FROM[hint['source']]}{file})"
        yield f"{field.replace('_', ' ') + ':':<13}{value}{_uncounted(name, hint, row['trust_hints'])}"


def _uncounted(name: str, hint: Any, trust: str | None) -> str:
    if hint["counts"]:
        return ""
    why = f'trust_hints = "{trust}"' if hint["source"] != "override" else "a repository's file may not loosen"
    if hint["source"] == "inferred" and (trust == TRUSTS[0] or name != HINTS[0]):
        is_read = name == HINTS[0]
        why = "its name, title, path or parameters say that it acts" if is_read else "a method alone may not loosen"
    return f"; does not count for rules ({why}): taken for {'yes' if hint['counted_value'] else 'no'}"


def _grants(key: str, grants: Collection[Any]) -> Iterator[str]:
    for grant in grants:
        whose = f" in project {grant['project']}" if grant["project"] else ""
        scope = "always" if grant["scope"] == "always" else f"in session {grant['session']}"
        holds = "" if grant["holds"] else "; not for this project and definition"
        end = f"end that with: {shlex.join(['mcpctl', 'approvals', 'revoke', key])}"
        yield f"{'consent:':<13}you have said yes, {scope}{whose}{holds}; {end}"
