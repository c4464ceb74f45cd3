"""`mcpctl tools call`"""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpctl import output
from mcpctl.base import files
from mcpctl.base.errors import McpctlError, UpstreamFailed, WrongUsage
from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.output import contents

if TYPE_CHECKING:
    from mcpctl.calling.own_session import Result


def call(
    key: str = opt.argument("KEY|-", "The tool: server:tool; - reads calls from stdin, one a line.", complete.tools),
    arguments: list[str] | None = opt.argument(
        "[JSON|-|@FILE|KEY=VALUE...]",
        "The arguments: JSON, also on stdin (-) or in FILE, or pairs.",
        complete.arguments,
        default=None,
    ),
    output_file: str | None = opt.option(
        "--output -o", "FILE", "Save images, audio and other bytes in FILE; -: stdout."
    ),
    force: bool = opt.flag("--force", "Let --output overwrite files."),
    dry_run: bool = opt.flag("--dry-run", "Print the request to an HTTP API, its credentials masked; send nothing."),
    timeout: float | None = opt.TIMEOUT,
    json: bool = opt.JSON,
    *,
    ad_hoc: opt.AdHocServer,
    place: opt.ToolsetLocation,
) -> None:
    """Call a tool and print the text of its result. The call is recorded like any other.

    --json prints the result exactly as the server sent it, also if the tool reports an error. If the server refuses the
    request, --json prints {"error": …} with the server's error. Both exit with status 4, and stderr has the error.
    Without --json, it ends with help from mcpctl if the arguments do not match the tool's schema.

    A pair is text where the tool's schema says text, else JSON if it is some. The value of KEY=@FILE is the content of
    FILE, which must be UTF-8, and of KEY=@- that of stdin; KEY=@@name is the text @name. The record has what was sent.

    A terminal shows how far the call is, if the server says so, and names images, audio and the bytes of resources; a
    pipe gets them as JSON. --output saves them: one in FILE, several in FILE-1, FILE-2 and so on, before the ending of
    FILE. It overwrites nothing without --force. With --output -, stdout has only the bytes, of one.

    At a terminal you are asked about a call that needs your consent; Ctrl-C leaves it open, for mcpctl approvals allow.
    With --json, in a pipe, and where an agent may run this, nobody is asked, and the call is refused.

    With - in place of a key, each line of stdin is a call: {"toolKey": "server:tool", "arguments": {…}}, or server:tool
    {…}, or server:tool key=value as on the command line. Each is answered by one line of JSON before the next is read:
    the result as the server sent it, or {"error": …}. The servers stay up from the first call to the last, so that one
    that remembers does, and all calls are on record. The exit status is that of the first call that failed.

    With --url or -- COMMAND, KEY is the name of a tool of a server that config.toml need not have; nothing is added to
    it. On record and for [policy] the name of that server begins with adhoc-. A server that config.toml has keeps its
    name, and where rules are set for it, it is called by no other command line.

    With --dry-run, nothing is sent or recorded: the request to an HTTP API is printed as it would be sent, its method,
    address, headers and body, with *** in place of credentials. --json prints it as one object. Where the arguments do
    not match the tool's schema, stderr says how; whether their values are right is for the API to judge.

    Examples:
      mcpctl tools call time:get_current_time timezone=Europe/Oslo
      mcpctl tools call github:create_issue '{"owner": "octo", "repo": "app", "title": "Bug"}' --json
      mcpctl tools call slack:post channel=dev text=@notes.txt
      mcpctl tools call browser:screenshot url=https://example.com -o page.png
      mcpctl tools call --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${TOKEN}' search query=mcp
      mcpctl tools call echo message=hi -- npx -y @modelcontextprotocol/server-everything
      mcpctl tools call shop:orders/list status=open --dry-run
      printf '%s\\n' 'browser:open url=https://example.com' browser:screenshot | mcpctl tools call -
    """
    from mcpctl.calling import calls_in_turn, one_shot
    from mcpctl.commands import http_apis, server_options
    from mcpctl.commands.call_arguments import parse_line, read
    from mcpctl.commands.confirmation import asking, nothing_looser

    words, paths, server = arguments or [], place.paths(), server_options.of_call(ad_hoc, key)
    nothing_looser(paths, place.toolset, place.project, "" if server or key == "-" else key)
    if key == "-":
        if words or output_file or server or dry_run:
            raise WrongUsage("with -, calls are on stdin, and all that they answer on stdout", "leave the rest out")
        stdin = sys.stdin.fileno()
        if failure := calls_in_turn.run(paths, stdin, parse_line, _write_line, timeout, place.toolset, place.project):
            raise failure
        return
    if dry_run:
        opt.refuse_with("--dry-run", server, "a server in the command line")
        http_apis.show_request(paths, key, partial(read, words), place.toolset, place.project, json=json)
        return
    if output_file:
        _check_target(output_file, replaces=force, json=json)
    with asking(json=json) as ask, output.telling(key) as tell:
        manner = one_shot.CallManner(timeout, place.toolset, place.project, tell, as_sent=json, ask=ask)
        passed = partial(read, words)
        if server:
            result = one_shot.call_ad_hoc(paths, server, key, passed, manner)
        else:
            result = one_shot.call(paths, key, passed, manner, following=words[0] if words else "")
    content = result.content
    if output_file and not result.failure:
        content = _save(output_file, content, replaces=force)
    if json or not result.failure:
        output.write_row(result.raw, json, lambda: contents.content(content, brief=sys.stdout.isatty()))
    if result.failure:
        raise result.failure


def _write_line(made: "Result | McpctlError") -> None:
    """Print the outcome of a call on one line: breaks in JSON are between its tokens only."""

    if isinstance(made, McpctlError):
        output.write_text(output.to_json(made.body))
    else:
        output.write_text(made.raw.replace("\r", " ").replace("\n", " "))


def _check_target(target: str, *, replaces: bool, json: bool) -> None:
    """Raise before anything is called if nothing could be written there."""
    if json and target == "-":
        raise WrongUsage("--json and --output - both need stdout", "name a FILE, or leave out --json")
    if target == "-" and sys.stdout.isatty():
        raise WrongUsage("the bytes of a file are not for a terminal", "name a FILE, or pipe them: --output - | …")
    if target != "-" and not replaces and os.path.lexists(target):
        raise files.there_is(Path(target))


def _save(target: str, blocks: Sequence[Any], *, replaces: bool) -> Sequence[Any]:
    """Write the files of a result; the blocks that are left to print, none where stdout has a file."""
    saved = contents.decoded(blocks)
    if not saved:
        hint = "the call was made; see its result with: mcpctl calls show last"
        raise UpstreamFailed("the result has no file to save", hint, "no_file")
    if target == "-":
        if len(saved) > 1:
            hint = "the call was made; name a FILE next time: --output FILE"
            raise UpstreamFailed(f"the result has {len(saved)} files, and stdout takes one", hint, "several_files")
        output.write_bytes(saved[0])
        return []
    for number, content in enumerate(saved, 1):
        path = Path(target)
        if len(saved) > 1:
            path = path.with_name(f"{path.stem}-{number}{path.suffix}")
        files.create(path, content, replaces=replaces)
        output.say(f"saved {path}: {len(content):,} bytes")
    return [block for block in blocks if not contents.encoded(block)]
