"""Requests as people write them to agents, made up around what texts say can be done.

Services and programs say in few words what they do. In a request much else is said: who asks, what for, with which
values. The teacher knows what of it matters; words learn it from these.
"""

import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.words.sources import MAX_TEXT, Text

COUNT = 35_000
"""How many are made around the texts of one source."""

_BEFORE = """
    I'm planning a trip with my family next week.|My friend has a birthday soon and I want to surprise her.
    I am working on a school project.|My company is preparing a report for our customers.
    I'm a developer and I need some help.|Our team wants to improve its website.|I'm curious about something.|Hi there!
    I've been asked by my boss to look into this.|I'm writing an article for my blog.
    We are organizing an event this weekend.|I'm a student doing research.|My brother just moved to another city.
    I run a small business.|I'm thinking about buying a new one.|I have a meeting tomorrow morning.|I'm a big fan.
    I lost track of it.|Our users keep complaining.|For my thesis I collect examples.|||||||
"""
_REQUEST = """
    Can you {}?|Could you please {}?|I need to {}.|I want to {}.|I'd like to {}.|Please {}.|Help me {}.
    Is it possible to {}?|How can I {}?|What is the best way to {}?|I would appreciate it if you could {}.
    Can you help me {}?|Could you {} for me?|I was wondering whether you can {}.|{}|{}.|Let me {}.|We have to {}.
    Tell me how to {}.|I need a tool to {}.|tool to {}|a tool that can {}
"""
_AFTER = """
    Thanks!|Thank you in advance.|It would be great.|That would be really helpful.|Also give me some suggestions.
    Provide the details as well.|I need it as soon as possible.|Please provide a brief summary of the results.
    Additionally, show me a few examples.|Save it to a file.|||||||||||
"""
_VALUES = """
    in {place}|near {place}|from {place} to {place}|for {name}|with the ID {number}|named '{name}'|of {name}
    between {number} and {number}|on {day}|by {day}|at {number} o'clock|for {number} people|with {number} items
    at {number} Main Street, {place}|for the year {year}|since {year}|under ${number}|called {name}_{number}
    using the key '{name}{number}'|at {name}@example.com|from https://www.{name}.com/{number}
    in the file /home/{name}/{number}.txt|limited to {number} results||||||||||||||||||
"""
_PLACES = """
    Paris|London|Tokyo|New York|Berlin|San Francisco, CA|Beijing|Mumbai|Sydney|Toronto|Rome|Madrid|Chicago|Boston
    Seattle|Singapore|Dubai|Brazil|Germany|Japan|the United States|Mexico|Spain|Austin, Texas|Los Angeles
"""
_NAMES = "Alice|Bob|Maria|John Smith|David|Emma|Wei|Hiroshi|Anna|Carlos|acme|sample|demo|johndoe|Premium|summer"
_DAYS = "Monday|Friday|tomorrow|next week|today|2024-05-01|March 3rd|the weekend|15 June 2023|tonight|next month"
_VERBS = """
    find|get|search|show|list|create|book|buy|compare|check|translate|convert|play|send|read|write|look up|order
    download|analyze|track|review|rate|recommend|measure|schedule|cancel|update|describe|explain|identify|plan|visit
    watch|calculate|retrieve
"""
_WHICH = "the|a|some|all|information about|details of|the latest|the best|the price of|data on|the number of|"


def around(read: Callable[[Path], Iterator[Text]]) -> Callable[[Path], Iterator[Text]]:
    """A reader of requests for what the texts of another reader tell."""

    def requests(path: Path) -> Iterator[Text]:
        things = list(dict.fromkeys(filter(None, (_thing(text.english) for text in read(path)))))
        chance = random.Random(len(things))
        for _ in range(COUNT):
            yield Text(_request(chance, things))

    return requests


def _thing(text: str) -> str:
    """What can be done, in a few words: a short sentence, or of a text with a name in front that name."""
    name, colon, _ = text.partition(": ")
    thing = name.partition(", ")[0] if colon else text.removesuffix(".")
    return thing if 3 < len(thing) < 110 and "." not in thing else ""


def _request(chance: random.Random, things: list[str]) -> str:
    before = _one_of(chance, _BEFORE)
    sentences = [_sentence(chance, things) for _ in range(chance.choice((1, 1, 1, 2, 2, 3)))]
    return " ".join(filter(None, (before, *sentences, _one_of(chance, _AFTER))))[:MAX_TEXT]


def _sentence(chance: random.Random, things: list[str]) -> str:
    form = _one_of(chance, _REQUEST)
    return form.replace("{}", f"{_asked(chance, things)} {_value(chance)}".strip())


def _asked(chance: random.Random, things: list[str]) -> str:
    thing = chance.choice(things)
    thing = thing[0].lower() + thing[1:] if not thing[:2].isupper() else thing
    if " " in thing and chance.random() < 0.7:
        return thing
    return " ".join(f"{_one_of(chance, _VERBS)} {_one_of(chance, _WHICH)} {thing}".split())


def _value(chance: random.Random) -> str:
    value = _one_of(chance, _VALUES)
    kinds = {"{place}": _PLACES, "{name}": _NAMES, "{day}": _DAYS}
    while "{" in value:
        for kind, known in kinds.items():
            value = value.replace(kind, _one_of(chance, known), 1)
        value = value.replace("{year}", str(chance.randint(1950, 2026)), 1)
        value = value.replace("{number}", str(chance.choice((2, 3, 5, 10, 25, 100, 600, 2020, 7890, 12345))), 1)
    return value


def _one_of(chance: random.Random, choices: str) -> str:
    return chance.choice(_split(choices))


@cache
def _split(choices: str) -> list[str]:
    return [part.strip() for line in choices.strip().split("\n") for part in line.strip().split("|")]
