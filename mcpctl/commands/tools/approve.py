"""`mcpctl tools approve`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def approve(
    keys: list[str] | None = opt.argument("[KEY...]", "These tools.", complete.tools, default=None),
    servers: list[str] | None = opt.option(
        "--server", "NAME", "This server: tools and instructions.", complete.servers
    ),
    all: bool = opt.flag("--all", "All tools of all servers."),
    yes: bool = opt.flag("--yes -y", "Do not ask whether the changes are right."),
    project: str | None = opt.PROJECT,
    *,
    place: opt.JsonLocation,
) -> None:
    """Approve tools as they are defined now. They are no longer held. Only a person at a terminal can.

    It shows the changes, asks whether they are right, and approves exactly those shown. A tool that changes later is
    held again. A prompt or resource has a key such as github:@prompts/review. Where a server has trust_hints =
    "pinned", only approved tools are trusted in what they declare. A running mcpctl serve takes notice at once.

    Examples:
      mcpctl tools approve github:create_issue
      mcpctl tools approve --server github
      mcpctl tools approve --all
    """
    from mcpctl import output
    from mcpctl.base.texts import counted
    from mcpctl.commands import tool_differences
    from mcpctl.commands.confirmation import only_for_people

    only_for_people("approve tools")
    paths = place.paths()
    approved = tool_differences.approve(paths, keys or [], servers or [], every=all, asks=not yes, project=project)
    output.write_done(place.json, lambda: approved)
    output.say(f"approved {counted(len(approved), 'tool')}")
