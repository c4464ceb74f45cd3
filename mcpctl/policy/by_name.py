"""What rules say that name a tool or a server, of what is decided on without a definition: answers that are kept, and
what a server says of itself."""

from mcpctl.config.policy_settings import DENY
from mcpctl.policy.holding import NOT_LOCKED
from mcpctl.policy.view import View


def may_read_on(server: str, name: str, view: View) -> bool:
    """Whether an answer of a tool, given at some time, may still be read: not once a rule that names the tool bars it.

    What the tool declared then is not known: rules for classes decided when it was called.
    """
    if server not in view.config.enabled or view.rules.barring(server, name):
        return False
    rules = (rule for rule in view.rules.matching(server, name, None) if not rule.pattern.startswith("@"))
    first = next(rules, None)
    return not view.config.policy.enforces or first is None or first.effect != DENY


def may_introduce(server: str, held: str, view: View) -> bool:
    """Whether a model may be told what a server says of itself, which is `held` or not as its tools are."""
    if view.access.is_barred or server not in view.config.enabled or held == NOT_LOCKED:
        return False
    if not view.config.policy.enforces:
        return True
    for_all = (rule for rule in view.rules.matching(server, "*", None) if not rule.pattern.startswith("@"))
    first = next(for_all, None)  # a rule for all of its tools is one for the server
    return not held and (first is None or first.effect != DENY)
