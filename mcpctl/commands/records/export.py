"""`mcpctl records export`"""

from typing import Any

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordLocation


def export(
    otlp: str | None = opt.option("--otlp", "URL", "The receiver (also: OTEL_EXPORTER_OTLP_ENDPOINT)."),
    header: list[str] | None = opt.option(
        "--header", "NAME=VALUE", "A header for it; 'api-key=${VAR}' keeps secrets out; repeatable."
    ),
    follow: bool = opt.flag("--follow -f", "Go on with what happens from now on, until Ctrl-C."),
    since: str | None = opt.option(
        "--since", "TIME", "Only calls that ended since 30m, 2d or 1w ago, today, 2026-11-20, 2026-11-20T12:00Z."
    ),
    content: bool = opt.flag("--content", "Send arguments and results, too, redacted as they are on record."),
    json: bool = opt.JSON,
    *,
    data: RecordLocation,
) -> None:
    """Send the calls on record as OpenTelemetry traces. A receiver of OTLP over HTTP gets a span for each request of a
    client, one beneath for what its server was asked, and their durations as metrics.

    Names are those of the semantic conventions for MCP. Ids follow from the ids on record: whoever sends a call again
    sends the same spans. A request that had a traceparent in _meta goes on with that trace.

    With --follow it begins where the last --follow to this receiver has ended, unless --since says otherwise, and waits
    while the receiver is away.

    Without --otlp the variables OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT name the receiver;
    OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME count, too. It has an https address, or
    one on this machine. It needs the extra mcpctl[otel].

    With --store the calls of all machines are sent, each span with mcpctl.machine.name.

    Examples:
      mcpctl records export --otlp http://127.0.0.1:4318 --since 1d
      mcpctl records export --otlp https://otlp.example.com --header 'api-key=${API_KEY}' --follow
    """
    import os

    from mcpctl import output
    from mcpctl.otlp.destination import destination
    from mcpctl.store import filters

    start, to = filters.moment("--since", since), destination(otlp, header or (), os.environ)
    exporting = _exporting()
    with data.stored() as records:
        if follow:
            exporting.follow(records, data.paths(), to, start, output.pause, content=content)
        else:
            sent = exporting.once(records, to, start, content=content)
            output.write_done(json, lambda: sent.summary, sent.told)


def _exporting() -> Any:
    try:
        from mcpctl.otlp import exporting
    except ModuleNotFoundError as error:
        from mcpctl.base import extras
        from mcpctl.base.errors import Unusable

        hint = f"install them with: {extras.install('otel')}"
        raise Unusable(f"sending spans needs the messages of OTLP: no {error.name}", hint, "otel_missing") from None
    return exporting
