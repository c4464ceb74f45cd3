"""`mcpctl tools call`"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.base.errors import McpctlError
    from mcpctl.calling.own_session import Result

Key = Annotated[
    str, opt.argument("KEY|-", "The tool: server:tool; - reads calls from stdin, one a line.", complete.tools)
]
Arguments = Annotated[
    list[str] | None,
    opt.argument("[JSON|-|KEY=VALUE...]", "The arguments: JSON, - for JSON on stdin, or pairs.", complete.arguments),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", show_default=False,
                 help="Save images, audio and the bytes of resources in FILE; - writes the bytes to stdout."),
]  # fmt: skip
Force = Annotated[bool, typer.Option("--force", help="Let --output overwrite files.")]


def call(
    key: Key,
    arguments: Arguments = None,
    output_file: Output = None,
    force: Force = False,
    timeout: opt.Timeout = None,
    json: opt.Json = False,
    *,
    place: opt.ToolsetPlace,
) -> None:
    """Call a tool and print the text of its result. The call is recorded like any other.

    --json prints the result exactly as the server sent it, also if the tool reports an error. If the server refuses the
    request, --json prints {"error": …} with the server's error. Both exit with status 4, and stderr has the error.
    Without --json, it ends with help from mcpctl if the arguments do not match the tool's schema.

    A terminal shows how far the call is, if the server says so, and names images, audio and the bytes of resources; a
    pipe gets them as JSON. --output saves them: one in FILE, several in FILE-1, FILE-2 and so on, before the ending of
    FILE. It overwrites nothing without --force. With --output -, stdout has only the bytes, of one.

    With - in place of a key, each line of stdin is a call: {"toolKey": "server:tool", "arguments": {…}}, or server:tool
    {…}, or server:tool key=value as on the command line. Each is answered by one line of JSON before the next is read:
    the result as the server sent it, or {"error": …}. The servers stay up from the first call to the last, so that one
    that remembers does, and all calls are on record. The exit status is that of the first call that failed.

    \b
    Examples:
      mcpctl tools call time:get_current_time timezone=Europe/Oslo
      mcpctl tools call github:create_issue '{"owner": "octo", "repo": "app", "title": "Bug"}' --json
      mcpctl tools call browser:screenshot url=https://example.com -o page.png
      printf '%s\\n' 'browser:open url=https://example.com' browser:screenshot | mcpctl tools call -
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.calling import calls_in_turn, one_shot
    from mcpctl.commands.tools import saving
    from mcpctl.commands.tools.arguments import asked, read
    from mcpctl.output import text

    words, paths = arguments or [], place.paths()
    if key == "-":
        if words or output_file:
            raise WrongUsage("with -, calls are on stdin, and all that they answer on stdout", "leave the rest out")
        stdin = sys.stdin.fileno()
        if failure := calls_in_turn.run(paths, stdin, asked, _write_line, timeout, place.toolset, place.project):
            raise failure
        return
    if json and output_file == "-":
        raise WrongUsage("--json and --output - both need stdout", "name a FILE, or leave out --json")
    target = saving.Place.of(output_file, force)
    with output.telling(key) as tell:
        result = one_shot.call(
            paths, key, lambda tool: read(words, tool), timeout, place.toolset, place.project, tell,
            as_sent=json, following=words[0] if words else "",
        )  # fmt: skip
    content = target.save(result.content) if target and not result.failure else result.content
    if json or not result.failure:
        output.write_row(result.raw, json, lambda: text.content(content, brief=sys.stdout.isatty()))
    if result.failure:
        raise result.failure


def _write_line(made: "Result | McpctlError") -> None:
    """Print what became of a call on one line: breaks in JSON are between its tokens only."""
    from mcpctl import output
    from mcpctl.base.errors import McpctlError

    if isinstance(made, McpctlError):
        output.write_text(output.to_json(made.body))
    else:
        output.write_text(made.raw.replace("\r", " ").replace("\n", " "))
