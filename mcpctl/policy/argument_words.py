"""The words for a call that is refused for its arguments, before anything is sent."""

import shlex

from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.base.failure import Failure
from mcpctl.base.texts import escaped
from mcpctl.base.tool_keys import is_plain

_LONGEST = 200


def refusal(failure: Failure) -> tuple[str, McpctlError]:
    """The sentence for a model and the error for a person, with the tool at their beginning. A name that is a sentence
    itself is left out."""
    facts = failure.facts
    key, reason = facts["key"], facts["reason"]
    tool = key if is_plain(key) else "this tool"
    sentence = f"{tool} {reason.removeprefix('it ')}" if reason.startswith("it ") else f"{tool}: {reason}"
    way = f'give it in the body: body={{"{escaped(facts["in_body"][:_LONGEST])}": …}}; ' if "in_body" in facts else ""
    error = WrongUsage(sentence, f"{way}see: mcpctl tools show {shlex.quote(escaped(key[:_LONGEST]))}", failure.code)
    return f"{sentence}; {way}".removesuffix("; "), error
