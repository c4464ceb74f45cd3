"""`mcpctl approvals show`"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths
    from mcpctl.policy.approvals import CallApproval


def show(
    approval: opt.ApprovalId = "last",
    full: bool = opt.flag("--full", "Show all of the arguments, the hints, the ids and the hashes."),
    *,
    shown: opt.OneThing,
    data: opt.DataLocation,
) -> None:
    """Show what a call wants to do, and why you are asked. It says how you can answer. Without an ID it is the newest.

    Arguments are shown with their lines, and edits as a diff: of long ones the beginning and the end, and all with
    --full, without what looks like a secret. Lines with a bar are text of the model that calls.

    Examples:
      mcpctl approvals show
      mcpctl approvals show 7f3a --full
    """
    from mcpctl import output
    from mcpctl.policy.answering import found, row

    kept = found(data.paths(), approval)
    known = row(kept)
    shown.write(known, lambda _: _text(kept, data.paths(), full=full))
    if known["state"] == "pending":
        output.say(f"answer with: mcpctl approvals allow {kept.id} (or deny)")


def _text(kept: "CallApproval", paths: "Paths", *, full: bool) -> Iterator[str]:
    import shutil
    import sys
    import time

    from mcpctl.commands.columns import named
    from mcpctl.output import text
    from mcpctl.policy.answering import row
    from mcpctl.policy.question import LITTLE, became, question_of

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    yield from question_of(kept, room=None if full else LITTLE).lines_of(kept, width)
    whose = named(row(kept), paths)
    if kept.token:
        yield text.line_of(f"Asked with the token: {whose['token_id']}")
    yield became(kept, time.time())
    if full:
        described = ("arguments", "key", "title", "client_name", "effect", "found", "rule", "rule_place")
        yield ""
        yield from text.pairs({name: value for name, value in whose.items() if name not in described})
