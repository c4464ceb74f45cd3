"""`mcpctl calls export`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordFilters, RecordLocation


def export(
    filters: RecordFilters,
    format: str = opt.option("--format", "FORMAT", "jsonl or csv.", ("jsonl", "csv"), default="jsonl"),
    no_payloads: bool = opt.flag("--no-payloads", "Leave out what was sent and came back: arguments, response, error."),
    *,
    data: RecordLocation,
) -> None:
    """Print the calls on record for another program. They come with all their fields, newest first.

    It takes the filters of mcpctl calls ls, and needs no more memory for a million calls than for one.

    csv follows RFC 4180, with a header and unchanged JSON in its cells. So that no spreadsheet runs a cell as a
    formula, an apostrophe is put before a text that begins with =, +, -, @, a tab or a carriage return.

    Examples:
      mcpctl calls export --since 7d > calls.jsonl
      mcpctl calls export --format csv --no-payloads --failed > failed.csv
    """
    from mcpctl import output
    from mcpctl.base.fields import CALL_FIELDS, CALL_PAYLOADS
    from mcpctl.output import csv_lines

    opt.one_of("format", format, ("jsonl", "csv"))
    every = data.columns(output.Columns(CALL_FIELDS, ())).fields
    fields = [name for name in every if not (no_payloads and name in CALL_PAYLOADS)]
    with data.stored() as records:
        rows = records.calls(filters.resolved(records, data.paths()), fields)
        if format == "csv":
            output.write_lines(csv_lines.lines(rows.rows(None, 0), fields))
        else:
            output.write_list(rows, output.Columns(fields, fields), output.ListOptions("jsonl"))
