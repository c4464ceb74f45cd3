"""`mcpctl tools call`"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpctl.base.errors import McpctlError
from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.calling.own_session import Result


def call(
    key: str = opt.argument("KEY|-", "The tool: server:tool; - reads calls from stdin, one a line.", complete.tools),
    arguments: list[str] | None = opt.argument(
        "[JSON|-|KEY=VALUE...]", "The arguments: JSON, - for JSON on stdin, or pairs.", complete.arguments, default=None
    ),
    output_file: str | None = opt.option(
        "--output -o", "FILE", "Save images, audio and resources' bytes in FILE; -: stdout."
    ),
    force: bool = opt.flag("--force", "Let --output overwrite files."),
    timeout: float | None = opt.TIMEOUT,
    json: bool = opt.JSON,
    *,
    place: opt.ToolsetLocation,
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

    Examples:
      mcpctl tools call time:get_current_time timezone=Europe/Oslo
      mcpctl tools call github:create_issue '{"owner": "octo", "repo": "app", "title": "Bug"}' --json
      mcpctl tools call browser:screenshot url=https://example.com -o page.png
      printf '%s\\n' 'browser:open url=https://example.com' browser:screenshot | mcpctl tools call -
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.calling import calls_in_turn, one_shot
    from mcpctl.commands.call_arguments import asked, read
    from mcpctl.output import contents

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
    target = _Target.of(output_file, force)
    with output.telling(key) as tell:
        result = one_shot.call(
            paths, key, lambda tool: read(words, tool), timeout, place.toolset, place.project, tell,
            as_sent=json, following=words[0] if words else "",
        )  # fmt: skip
    content = target.save(result.content) if target and not result.failure else result.content
    if json or not result.failure:
        output.write_row(result.raw, json, lambda: contents.content(content, brief=sys.stdout.isatty()))
    if result.failure:
        raise result.failure


def _write_line(made: "Result | McpctlError") -> None:
    """Print the outcome of a call on one line: breaks in JSON are between its tokens only."""
    from mcpctl import output
    from mcpctl.base.errors import McpctlError

    if isinstance(made, McpctlError):
        output.write_text(output.to_json(made.body))
    else:
        output.write_text(made.raw.replace("\r", " ").replace("\n", " "))


@dataclass(frozen=True)
class _Target:
    """The file, or stdout, to which --output writes whatever is not text."""

    path: Path
    replaces: bool

    @classmethod
    def of(cls, option: str | None, force: bool) -> "_Target | None":
        """Raises before anything is called where nothing could be written there."""
        from mcpctl.base import files
        from mcpctl.base.errors import WrongUsage

        if option is None:
            return None
        target = cls(Path(option), force)
        if target.is_stdout and sys.stdout.isatty():
            raise WrongUsage("the bytes of a file are not for a terminal", "name a FILE, or pipe them: --output - | …")
        if not force and not target.is_stdout and os.path.lexists(target.path):
            raise files.there_is(target.path)
        return target

    @property
    def is_stdout(self) -> bool:
        return str(self.path) == "-"

    def save(self, blocks: Sequence[Any]) -> Sequence[Any]:
        """Write the files of a result; the blocks that are left to print, none where stdout has a file.

        Raises `UpstreamFailed` where there is no file, or one too many.
        """
        from mcpctl import output
        from mcpctl.base import files
        from mcpctl.base.errors import UpstreamFailed
        from mcpctl.output import contents

        found = contents.decoded(blocks)
        if not found:
            hint = "the call was made; see its result with: mcpctl calls show last"
            raise UpstreamFailed("the result has no file to save", hint, "no_file")
        if self.is_stdout and len(found) > 1:
            hint = "the call was made; name a FILE next time: --output FILE"
            raise UpstreamFailed(f"the result has {len(found)} files, and stdout takes one", hint, "several_files")
        if self.is_stdout:
            output.write_bytes(found[0])
            return []
        for number, content in enumerate(found, 1):
            path = self.path
            if len(found) > 1:
                path = path.with_name(f"{path.stem}-{number}{path.suffix}")
            files.create(path, content, replaces=self.replaces)
            output.say(f"saved {path}: {len(content):,} bytes")
        return [block for block in blocks if not contents.encoded(block)]
