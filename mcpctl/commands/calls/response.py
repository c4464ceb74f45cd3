"""`mcpctl calls response`"""

import sys

from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.models import Row
from mcpctl.commands import complete
from mcpctl.commands import options as opt


def response(
    call: str = opt.argument("ID", "An id, its beginning, or last: the last that was shortened.", complete.calls),
    path: str | None = opt.option("--path", "PATH", "Print only what this JMESPath selects of its JSON."),
    *,
    data: opt.DataLocation,
) -> None:
    """Print the whole answer of a call. The client got a part of it.

    A pipe gets the bytes of the server's result, JSON, or the selection of --path: JSON too, of a string its text. A
    path applies to the structured content, or else to the text that is JSON. A terminal gets the texts.

    Answers are kept only if they are longer than limit_tokens in config.toml, and as long as keep_mb has room; mcpctl
    calls ls --fields id,tool,shortened lists them. Secrets in them are not redacted.

    Examples:
      mcpctl calls response last | jq .
      mcpctl calls response 5f0a --path 'items[*].title'
    """
    from mcpctl.answers import readable
    from mcpctl.store import responses

    with data.records() as records:
        shortened = records.last_shortened() if call == "last" else None
        row = records.call(shortened or records.call_id(call))
    kept = responses.find(data.paths(), row["id"], row["session_id"])
    if kept is None:
        raise _not_kept(row)
    if path is not None:
        try:
            _print(readable.apply(path, readable.of_result(kept.result).value) + b"\n")
        except readable.PathFailed as error:
            hint = "see https://jmespath.org for what a path can be"
            raise WrongUsage(f"--path: {error}", hint, "bad_path") from None
    elif not sys.stdout.isatty():
        _print(kept.result)
    else:
        parts = readable.of_result(kept.result)
        left = f"[{len(parts.others)} blocks that are not text]\n".encode() if parts.others else b""
        _print(parts.text + b"\n" + left)


def _print(data: bytes) -> None:
    from mcpctl import output
    from mcpctl.output import text

    if sys.stdout.isatty():
        output.write_lines(iter([text.block_of(data.decode("utf-8", "replace").rstrip("\n"))]))
    else:
        output.write_bytes(data)


def _not_kept(row: "Row") -> "NotFound":

    if row["response_file"]:
        what, hint = "is not kept any more", "raise keep_mb under [responses] in config.toml to keep more"
    else:
        what = "was not shortened, so it is not kept beside the record"
        hint = f"see: mcpctl calls show {row['id'][:8]}; limit_tokens under [responses] in config.toml has answers kept"
    return NotFound(f"the answer of call {row['id'][:8]} {what}", hint, "response_not_kept")
