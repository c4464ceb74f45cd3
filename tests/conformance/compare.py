"""What the suite found of a server directly and through mcpctl, side by side; which differences are by design."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
PASSED = "SUCCESS"
BAD = ("FAILURE", "WARNING")
WIRE = "wire-schema-valid"
"""That each message is what the schema says: no exception covers it that does not name it."""

Key = tuple[str, str, int]
"""A check: its scenario, its id, and which of the checks of this id it is."""


@dataclass(frozen=True)
class Outcome:
    """What came of one check; ABSENT where the scenario did not come to it."""

    status: str
    message: str = ""


ABSENT = Outcome("ABSENT")
Outcomes = Mapping[Key, Outcome]


@dataclass(frozen=True)
class Allowed:
    """An exception: checks that need not pass through mcpctl, and why. Names may have `*`; no sets means all."""

    reason: str
    scenarios: Sequence[str]
    checks: Sequence[str] = ("*",)
    sets: Sequence[str] = ("*",)

    def covers(self, requirements: str, key: Key) -> bool:
        """Whether it speaks of this check."""
        if key[1] == WIRE and WIRE not in self.checks:
            return False
        named = ((self.sets, requirements), (self.scenarios, key[0]), (self.checks, key[1]))
        return all(any(fnmatchcase(name, pattern) for pattern in patterns) for patterns, name in named)


@dataclass(frozen=True)
class Difference:
    """A check that is worse through mcpctl than directly; without a reason it is a failure."""

    key: Key
    direct: Outcome
    through: Outcome
    reason: str | None


def exceptions(path: Path = EXCEPTIONS) -> list[Allowed]:
    """The list that is kept with the tests; an entry without a reason is an error."""
    entries: list[Mapping[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["exception"]
    return [Allowed(**entry) for entry in entries]


def outcomes(folder: Path) -> dict[Key, Outcome]:
    """What the suite left in its output folder."""
    found: dict[Key, Outcome] = {}
    for file in sorted(folder.glob("*/checks.json")):
        scenario = re.sub(r"^server-(.+)-\d{4}-\d\d-\d\dT.*$", r"\1", file.parent.name)
        count: Counter[str] = Counter()
        for check in json.loads(file.read_text(encoding="utf-8")):
            key = scenario, check["id"], count[check["id"]]
            count[check["id"]] += 1
            found[key] = Outcome(check["status"], check.get("errorMessage", ""))
    return found


def differences(direct: Outcomes, through: Outcomes, allowed: Sequence[Allowed], requirements: str) -> list[Difference]:
    """What passes directly but not through mcpctl, and what fails only through it."""
    found = []
    for key in dict.fromkeys((*direct, *through)):
        before, after = direct.get(key, ABSENT), through.get(key, ABSENT)
        lost = before.status == PASSED and after.status != PASSED
        new = after.status in BAD and before.status not in BAD
        if lost or new:
            reasons = [entry.reason for entry in allowed if entry.covers(requirements, key)]
            found.append(Difference(key, before, after, reasons[0] if reasons else None))
    return found


def unneeded(allowed: Iterable[Allowed], found: Mapping[str, Sequence[Difference]]) -> list[Allowed]:
    """The exceptions that are for a set that was run, and that no difference needs any more."""
    keys = [(requirements, difference.key) for requirements, those in found.items() for difference in those]
    meant = [entry for entry in allowed if any(fnmatchcase(name, pattern) for pattern in entry.sets for name in found)]
    return [entry for entry in meant if not any(entry.covers(*where) for where in keys)]


def table(direct: Outcomes, through: Outcomes, found: Sequence[Difference]) -> str:
    """A line for each scenario: checks passed of those that count, both ways, and what there is to say."""
    lines = [("scenario", "direct", "mcpctl", "")]
    for scenario in dict.fromkeys(key[0] for key in (*direct, *through)):
        mine = [difference for difference in found if difference.key[0] == scenario]
        reasons = [reason for reason in dict.fromkeys(difference.reason for difference in mine) if reason]
        failed = [difference.key[1] for difference in mine if not difference.reason]
        said = [f"FAILS: {', '.join(failed)}"] if failed else []
        lines.append((scenario, _score(direct, scenario), _score(through, scenario), "; ".join([*said, *reasons])))
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join(
        f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {note}".rstrip() for a, b, c, note in lines
    )


def _score(outcomes: Outcomes, scenario: str) -> str:
    counted = [outcome.status for key, outcome in outcomes.items() if key[0] == scenario]
    counted = [status for status in counted if status in (PASSED, *BAD)]
    return f"{counted.count(PASSED)}/{len(counted)}" if counted else "-"


def failures(found: Sequence[Difference]) -> list[str]:
    """A line for each difference that is no exception, with what the suite says of it."""
    lines = []
    for difference in found:
        if not difference.reason:
            scenario, check, _ = difference.key
            said = f": {difference.through.message}" if difference.through.message else ""
            statuses = f"{difference.direct.status} directly, {difference.through.status} through mcpctl"
            lines.append(f"{scenario}: {check}: {statuses}{said}")
    return lines
