"""`mcpctl toolsets build`"""

from mcpctl.commands import options as opt


def build(
    name: opt.ToolsetName,
    keys: opt.ToolKeys = None,
    description: str | None = opt.option("--description", "TEXT", "The purpose of the toolset."),
    *,
    change: opt.ChangeOptions,
) -> None:
    """Create a toolset of these tools.

    A KEY may have the wildcards of policy rules: git:list_* stands for all such tools that are listed now, which the
    file then names one by one. All tools can be named, even if a toolset is in force.

    A toolset with a NAME is kept in the data directory. A PATH has a / or ends in .json, and may be in a repository.

    Examples:
      mcpctl toolsets build triage linear:create_issue github:create_issue
      mcpctl toolsets build gits 'git:*'
      mcpctl tools search issue --toolset none --fields key | mcpctl toolsets build ./tools/triage.json -
    """
    from mcpctl import output
    from mcpctl.base.texts import counted
    from mcpctl.catalog import toolset_builder

    words, paths = keys or [], change.paths()
    reference, count = toolset_builder.build(paths, name, words, description, change.gate(paths).toolset)
    output.write_done(change.json, lambda: toolset_builder.show(paths, reference), reference)
    output.say(counted(count, "tool"), always=toolset_builder.has_wildcard(words))
    output.say(f"put it in force with: mcpctl toolsets equip {reference}")
