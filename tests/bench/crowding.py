"""How far a tool stuffed with words gets in searches: `python -m tests.bench.crowding [--json]`

Each intent has ten phrasings and a tool of the probes' catalog that does it. For each intent and each way of stuffing,
one tool of another server, whose name says nothing of it, is put into the catalog: it has the words of that tool and of
all ten phrasings. The table has the share of phrasings for which it comes first, for which it is among the first five,
and for which the tool that does it comes first; the first row is without any such tool.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.search.providers import build
from mcpctl.search.ranking import Provider
from mcpctl.search.tokens import words
from tests.bench import raw_client, search_quality

Row = dict[str, Any]
INTENTS: dict[str, tuple[str, ...]] = {
    "github:create_issue": (
        "create an issue", "open a ticket on GitHub", "file a bug report", "report a problem in the repository",
        "new github issue", "raise a defect for the team", "add a bug to the tracker", "submit an issue with a title",
        "I found an error, log it in the repo", "write up this bug as an issue",
    ),
    "mail:send_email": (
        "send an email", "mail this to Anna", "write a message to my boss by e-mail", "email the report",
        "send mail with an attachment", "compose and send an e-mail", "deliver a letter electronically",
        "notify the customer by email", "shoot an email to the team", "send the minutes to everybody",
    ),
    "weather:get_forecast": (
        "weather forecast", "will it rain tomorrow", "weather of the next days in Oslo", "forecast for the weekend",
        "is it going to be sunny on Friday", "temperature tomorrow", "do I need an umbrella this week",
        "predict the weather for a city", "five day forecast", "how warm will it get in Rome",
    ),
    "filesystem:read_file": (
        "read a file", "show the contents of a file", "open notes.txt", "what does this file say",
        "print the text of a document on disk", "load a text file", "get the content of a path", "view file contents",
        "look into the log file", "cat a file",
    ),
    "calendar:create_event": (
        "create a calendar event", "schedule a meeting", "put an appointment into my calendar",
        "book a meeting room slot", "add an event for Tuesday",
        "plan a call with Bob at ten", "set up a meeting", "new appointment tomorrow",
        "block time in the calendar", "invite people to a meeting",
    ),
    "travel:search_flights": (
        "search flights", "find a flight from Berlin to Madrid", "cheap plane tickets", "fly to Paris in May",
        "airline connections between two cities", "flights on a date", "compare flight prices",
        "nonstop flight to Oslo", "look for air travel", "which planes go to Rome on Sunday",
    ),
    "postgres:describe_table": (
        "describe a table", "columns of a table", "schema of the orders table", "which fields does the table have",
        "table structure in the database", "data types of the columns", "show the definition of a table",
        "inspect a postgres table", "what columns are in customers", "list the columns with their types",
    ),
    "translate:translate_text": (
        "translate text", "translate this into French", "what is that in Spanish", "say this sentence in German",
        "translation of a paragraph", "convert text to another language", "English to Japanese", "render it in Italian",
        "translate a document", "put this letter into Polish",
    ),
}  # fmt: skip
_REST = "Fast, reliable and easy to use."
Stuffed = Callable[[Sequence[str], Sequence[str], Sequence[Tool]], dict[str, Any]]
"""A definition of the words and the phrasings of an intent, and of the catalog."""


def _definition(description: str, name: str = "helper", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def _fields(said: Sequence[str], asked: Sequence[str], tools: Sequence[Tool]) -> dict[str, Any]:
    """The words in every part of the definition."""
    text = ", ".join(said)
    properties = {word: {"type": "string", "description": text, "enum": list(said)} for word in said}
    return _definition(f"{text}. {text}.", title=text, inputSchema={"type": "object", "properties": properties})


WAYS: dict[str, Stuffed] = {
    "list": lambda said, asked, tools: _definition(", ".join(said)),
    "list of short lines": lambda said, asked, tools: _definition("\n".join(said)),
    "list after a sentence": lambda said, asked, tools: _definition(f"{_REST} Keywords: {', '.join(said)}."),
    "repeated": lambda said, asked, tools: _definition(" ".join(list(said) * 8)),
    "few, repeated": lambda said, asked, tools: _definition(" ".join(list(said[:6]) * 20)),
    "phrasings": lambda said, asked, tools: _definition(", ".join(asked)),
    "phrasings as sentences": lambda said, asked, tools: _definition(" ".join(f"Use it to {each}." for each in asked)),
    "among small words": lambda said, asked, tools: _definition(f"It helps with the {' and the '.join(said)}."),
    "small words alike": lambda said, asked, tools: _definition(" ".join(f"It is for the {each}." for each in said)),
    "every field": _fields,
    "parameters": lambda said, asked, tools: _definition(
        _REST, inputSchema={"type": "object", "properties": {word: {"description": word} for word in said}}
    ),
    "title": lambda said, asked, tools: _definition(_REST, title=" ".join(said)),
    "all that tools do": lambda said, asked, tools: _definition(", ".join(tool.name for tool in tools)),
    "all, and the words": lambda said, asked, tools: _definition(
        f"{', '.join(said)}. {' '.join(tool.name.replace('_', ' ') + '.' for tool in tools)}"
    ),
    "name": lambda said, asked, tools: _definition(_REST, name="_".join(said)[:120]),
}


def said_of(tool: Tool, phrasings: Sequence[str]) -> list[str]:
    """The different words of a tool and of the phrasings of what it does."""
    text = f"{tool.name} {tool.description} {' '.join(phrasings)}"
    return list(dict.fromkeys(forms[-1] for forms in words(text)))


def first(provider: Provider, phrasings: Sequence[str], key: str) -> list[int]:
    """The place of a tool for each phrasing, 0 being the first and 99 none."""
    found = ([hit.key for hit in provider.search([each], limit=10).hits] for each in phrasings)
    return [keys.index(key) if key in keys else 99 for keys in found]


def rows() -> Iterator[Row]:
    """Each way of stuffing, over all intents."""
    tools = list(search_quality.probes()[0].tools)
    by_key = {tool.key: tool for tool in tools}
    honest = build(tools)
    alone = [place for key, phrasings in INTENTS.items() for place in first(honest, phrasings, key)]
    yield {"way": "none", "stuffed first": 0.0, "in five": 0.0, "right first": fmean(place == 0 for place in alone)}
    means = []
    for way, stuffed in WAYS.items():
        places: list[int] = []
        right: list[int] = []
        for key, phrasings in INTENTS.items():
            definition = stuffed(said_of(by_key[key], phrasings), phrasings, tools)
            provider = build([*tools, Tool("acme", definition["name"], definition, json.dumps(definition))])
            places += first(provider, phrasings, f"acme:{definition['name']}")
            right += first(provider, phrasings, key)
        row = {
            "stuffed first": fmean(place == 0 for place in places),
            "in five": fmean(place < 5 for place in places),
            "right first": fmean(place == 0 for place in right),
        }
        means.append(row)
        yield {"way": way, **row}
    yield {"way": "mean", **{name: fmean(row[name] for row in means) for name in means[0]}}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="a JSON array instead of a table")
    options = parser.parse_args()
    table = list(rows())
    print(json.dumps(table, indent=2) if options.json else raw_client.table(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
