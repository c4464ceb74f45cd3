"""`mcpctl doctor`"""

from collections.abc import Iterator, Sequence

from mcpctl.base.errors import Problems, folded, inert
from mcpctl.base.models import DOCTOR_FIELDS, Found, Row
from mcpctl.commands import options as opt

_MEANING = "what each code means: mcpctl doctor --list"


def doctor(
    fix: bool = opt.flag("--fix", "Do what is safe to do about it, then check again."),
    list_codes: bool = opt.flag("--list", "List all codes, each with its reason and its fix."),
    *,
    place: opt.JsonLocation,
) -> None:
    """Check the installation, with a fix for each problem.

    It looks at the configuration, at logins, at files that others can read, at the programs that start servers (also
    with the PATH and the variables that clients with a window have), at the data directory with its journals, index and
    databases, at servers of killed processes, and at the entries for mcpctl of all clients on this machine. Each of
    those entries is started as its client starts it. No server is started, which mcpctl servers check does: the last
    failure of a server is reported as it was kept.

    --fix closes files to other users and opens them to you, does what db rebuild does where that is needed, and ends
    servers that certainly were started by an mcpctl that is gone. It names each repair; the problems that are left
    decide the exit status: 7 for an error or a warning.

    Examples:
      mcpctl doctor
      mcpctl doctor --fix
      mcpctl doctor --json | jq -r '.[] | select(.status == "error") | .fix'
      mcpctl doctor --list
    """
    from mcpctl import output
    from mcpctl.base.texts import counted
    from mcpctl.commands.check_options import write_rules
    from mcpctl.doctor.examination import examined, repaired
    from mcpctl.doctor.findings import CODES, Case

    if list_codes:
        write_rules(CODES, "json" if place.json else "text")
        return
    if fix:
        for done in repaired(Case.of(place.config, place.data_dir)):
            output.say(done, always=True)
    case = Case.of(place.config, place.data_dir)
    areas = examined(case)
    rows = [finding.row(area) for area, findings in areas.items() for finding in findings]
    if place.json:
        columns = output.Columns(fields=DOCTOR_FIELDS, shown=DOCTOR_FIELDS)
        output.write_list(Found.of(rows), columns, output.ListOptions("json"))
    else:
        output.write_lines(line for area in areas for line in _lines(area, [r for r in rows if r["area"] == area]))
        if case.config.enabled:
            output.write_lines(iter(["servers were not started: mcpctl servers check"]))
    problems = [row for row in rows if row["status"] in ("error", "warning")]
    fixable = sum(row["fixable"] for row in rows)
    if problems:
        hint = f"{fixable} can be fixed with: mcpctl doctor --fix" if fixable else _MEANING
        raise Problems(counted(len(problems), "problem"), hint)


def _lines(area: str, rows: "Sequence[Row]") -> Iterator[str]:
    """The facts that are in order in one line, and below it each finding with its fix."""
    from mcpctl.output.text import here, line_of

    worst = next((status for status in ("error", "warning") if any(row["status"] == status for row in rows)), "ok")
    facts: dict[str, list[str]] = {}
    for row in rows:
        if row["status"] == "ok":
            facts.setdefault(row["message"], []).extend([row["subject"]] if row["subject"] else [])
    in_order = "; ".join(f"{', '.join(who)}: {fact}" if who else fact for fact, who in facts.items())
    lines = [f"{area:<15}{worst:<9}{in_order}".rstrip()]
    for row in rows:
        if row["status"] != "ok":
            about = f"{row['subject']}: {row['message']}" if row["subject"] else row["message"]
            lines += [f"  {row['code']} {row['status']:<9}{about}", f"{'fix:':>15}  {row['fix']}"]
    for line, indent in zip(lines, [24, *[16, 17] * len(rows)], strict=False):
        yield folded(inert(line_of(here(line))), indent, out=True)
