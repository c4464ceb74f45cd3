"""`mcpctl prompts get`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The prompt: SERVER_PROMPT.", autocompletion=complete.prompts)
]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[JSON|-|KEY=VALUE...]", help="The arguments: JSON, - for JSON on stdin, or pairs.",
                   show_default=False, autocompletion=complete.prompt_arguments),
]  # fmt: skip


def get(
    name: Name,
    arguments: Arguments = None,
    timeout: opt.Timeout = None,
    json: opt.Json = False,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Get a prompt from its server and print the texts of its messages.

    Several messages have the role of each on a line before it. The values of KEY=VALUE pairs are texts, as prompts
    take no others. --json prints the result exactly as the server sent it. That it was got is on record, without what
    it says.

    \b
    Examples:
      mcpctl prompts get github_review_pr number=12
      mcpctl prompts get github_review_pr '{"number": "12"}' --json
    """
    from mcpctl import output
    from mcpctl.commands.tools.arguments import texts
    from mcpctl.output import features
    from mcpctl.proxy import one_read

    result = one_read.prompt(opt.paths(config, data_dir), name, texts(arguments or []), timeout, project)
    output.write_row(result, json, lambda: features.prompt(result))
