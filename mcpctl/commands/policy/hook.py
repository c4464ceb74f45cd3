"""`mcpctl policy hook`"""

from mcpctl import output
from mcpctl.commands import options as opt

CLIENTS = ("claude-code",)


def hook(
    client: str = opt.argument("CLIENT", "The client: claude-code.", CLIENTS),
    entry: str = opt.option("--entry", "NAME", "The name of mcpctl's entry in the client.", default="mcpctl"),
    print_settings: bool = opt.flag("--print-settings", "Print the client's settings for this hook; decide nothing."),
    *,
    place: opt.ToolsetLocation,
) -> None:
    """Decide in Claude Code, before it calls a tool. It is a hook of that client, for the tools of mcpctl.

    Claude Code sees one tool_execute for all tools. As its PreToolUse hook, this reads the call on stdin and has the
    policy decide on the tool inside of it: ask (Claude Code then shows its own prompt, with the tool's name, what it
    may do and the rule) or deny. It is silent on tools of other servers, on tools that no rule denies or asks about,
    and where the policy is off or only recorded. On any error, it asks. It starts no server: the tools are those that
    were last listed.

    With claude_hook = true in [policy], tools of a list allow are called without Claude Code's prompt, in plan mode
    only read-only ones; and serve does not ask again about a call that you said yes to in that prompt. A shell in
    Claude Code is then enough to say yes in your place.

    Give it the options that mcpctl serve has in the client. serve decides again when the call comes.

    Examples:
      mcpctl policy hook claude-code --print-settings
      mcpctl policy hook claude-code --project work < call.json
    """
    opt.one_of("client", client, CLIENTS)
    from mcpctl.base import files
    from mcpctl.clients import claude_hook

    if print_settings:
        from mcpctl.clients import client_config, client_kinds
        from mcpctl.toolsets import toolset_files

        options = {
            "--entry": entry if entry != client_config.NAME else None, "--project": place.project,
            "--toolset": toolset_files.absolute_reference(place.toolset),
            "--config": place.config, "--data-dir": place.data_dir,
        }  # fmt: skip
        output.write_text(claude_hook.settings(entry, options))
        output.say(client_config.goes_into("claude-code", client_kinds.claude_folder() / "settings.json"))
    elif answer := claude_hook.answer(files.read_stdin, place.paths, place.project, place.toolset, entry):
        output.write_text(answer.json)
