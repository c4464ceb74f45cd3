"""`mcpctl tools call`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[JSON|-|KEY=VALUE...]", help="The arguments: JSON, - for JSON on stdin, or pairs.",
                   show_default=False),
]  # fmt: skip

Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", min=0.1, help="Seconds that the call may take, in place of the server's call_timeout_s."),
]


def call(
    key: opt.ToolKey,
    arguments: Arguments = None,
    timeout: Timeout = None,
    json: opt.Json = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Call a tool and print the text of its result. The call is recorded like any other.

    --json prints the result exactly as the server sent it, also if the tool reports an error. If the server refuses the
    request, --json prints {"error": …} with the server's error. Both exit with status 4, and stderr has the error. If
    the tool refuses arguments that do not match its schema, the last block of the result is help from mcpctl.

    \b
    Examples:
      mcpctl tools call time:get_current_time timezone=Europe/Oslo
      mcpctl tools call github:create_issue '{"owner": "octo", "repo": "app", "title": "Bug"}' --json
    """
    from mcpctl import output
    from mcpctl.commands.tools.arguments import read
    from mcpctl.output import text
    from mcpctl.proxy import one_shot

    words = arguments or []
    result = one_shot.call(opt.paths(config, data_dir), key, lambda tool: read(words, tool), timeout, toolset, project)
    if json or not result.failure:
        output.write_row(result.raw, json, lambda: text.content(result.content))
    if result.failure:
        raise result.failure
