"""Records and definitions by somebody who wants the pages to run a script, or to look broken."""

from mcpctl.base.paths import Paths
from mcpctl.store import journal_lines
from tests import configured, recorded
from tests.recorded import call, created, hints, opened, raw, searched

RAN = "document.documentElement.dataset.ran=1"
TEXTS = (
    f"<script>{RAN}</script>",
    f'<img src="x" onerror="{RAN}">',
    f"\"'><svg/onload={RAN}>",
    f"</pre></textarea></title></style><script>{RAN}</script>",
    f"javascript:{RAN}",
    "{{ 7 * 191 }}{% raw %}{# #}${7*191}",
    "\u202egnp.exe\u2066\u2067\u200b\u00ad\ufeff\u0085\u2028",
    "\x1b[31mred\x1b]0;title\x07\x9b2J\x00\x08",
    "../../static/style.css?x=1#y&z=%00%2f%5c",
    "W" * 10_000,
    "\u0645\u0631\u062d\u0628\u0627 \U0001f468\u200d\U0001f469\u200d\U0001f467 Z\u0351\u0342\u0324a\u0329" * 20,
)
LONG_LINE = "x" * 1_000_000


def session_id(number: int) -> str:
    """The id of the session whose texts are all that of this number."""
    return f"{number:08x}-0bad-4000-8000-000000000000"


def call_id(number: int) -> str:
    """The id of its call."""
    return f"{number:08x}-0bad-4000-8000-00000000ca11"


def record(paths: Paths) -> None:
    """A session for each text, in which everything that can have a text has this one; and lines of a megabyte."""
    for number, text in enumerate(TEXTS):
        id_, long_line = session_id(number), {"long": LONG_LINE, text: [text, LONG_LINE]}
        content = [{"type": "text", "text": text}, {"type": text, text: text}]
        named = {"client_name": text, "client_version": text}
        lines = [
            searched(number, 1, id_, query=raw([text, text]), context=text, provider=text, fallback=text,
                     results=raw([{"key": f"{text}:{text}", "relevance": 1}])),
            *call(call_id(number), 2, id_, server=text, tool=text, arguments=raw({"text": text, text: text}),
                  response=raw({"content": content}), annotations=hints(False, True, None, True), **named),
            *call(call_id(number + 1000), 3, id_, server="notes", tool=text, arguments=raw(long_line), status="failed",
                  response=raw(long_line), error=raw({"code": text, "message": text + LONG_LINE}), **named),
        ]  # fmt: skip
        beginning = created(id_, number, protocol_version=text, project=text, toolset=text, **named)
        opened(paths, beginning, lines).close(journal_lines.encode(recorded.closed(id_)))


def define(paths: Paths) -> None:
    """A server whose tools are called and described so, and were described otherwise when they were pinned."""
    schemas = ({"type": "object", "title": text, "properties": {text: {"description": text}}} for text in TEXTS)
    configured.configure(paths, policy={"confirm_destructive": True})
    configured.listed(paths, "notes", [{"name": text, "description": text[::-1]} for text in TEXTS], instructions="x")
    configured.pinned(paths, "notes")
    definitions = [
        {"name": text, "title": text, "description": text * 3, "annotations": {"title": text}, "inputSchema": schema}
        for text, schema in zip(TEXTS, schemas, strict=True)
    ]
    configured.listed(paths, "notes", definitions, instructions="\n".join(TEXTS))
