"""What is read of each source: small archives made here, of the form that the real ones have."""

import gzip
import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.words import sources
from tests.words.sources import MAX_TEXT, PARAMETERS, Text, spaced


def wheel(folder: Path, files: Mapping[str, bytes | Any]) -> Path:
    """A wheel with these files; what is not bytes becomes JSON."""
    path = folder / "source.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return path


def service(name: str, about: str) -> bytes:
    members = {f"maxResults{n}": {"documentation": f"<p>At most {n}. More.</p>"} for n in range(PARAMETERS + 5)}
    model = {
        "metadata": {"serviceFullName": "Amazon Example"},
        "operations": {name: {"documentation": about}},
        "shapes": {"Request": {"members": {**members, "silent": {}}}},
    }
    return gzip.compress(json.dumps(model).encode())


def test_a_service_of_amazon_tells_its_operations_and_some_parameters(tmp_path: Path) -> None:
    about = "<p>Lists the <code>users</code> &amp; groups. Then more.</p>"
    files = {
        "botocore/data/example/2011-01-01/service-2.json.gz": service("Old", ""),
        "botocore/data/example/2020-01-01/service-2.json.gz": service("ListUsers", about),
        "botocore/data/example/2020-01-01/paginators-1.json": {},
    }
    told = [text.english for text in sources.botocore(wheel(tmp_path, files))]
    assert told[:4] == [
        "Amazon Example: List Users: Lists the users & groups. Then more.",
        "List Users",
        "Lists the users & groups.",
        "max Results 0: At most 0.",
    ]
    assert len(told) == 3 + PARAMETERS


def test_a_service_of_google_tells_methods_at_any_depth(tmp_path: Path) -> None:
    get = {"id": "drive.files.get", "description": "Gets a file. " + "x" * 2 * MAX_TEXT}
    model = {
        "title": "Drive API",
        "resources": {"files": {"resources": {"of": {"methods": {"get": get}}}}},
        "schemas": {"File": {"properties": {"fileSize": {"description": "Its size. In bytes."}}}},
    }
    path = wheel(tmp_path, {"googleapiclient/discovery_cache/documents/drive.v3.json": model})
    whole, name, first, parameter = [text.english for text in sources.google(path)]
    assert whole.startswith("Drive: files get: Gets a file. xxx")
    assert len(whole) == MAX_TEXT
    assert (name, first, parameter) == ("files get", "Gets a file.", "file Size: Its size.")


def test_a_page_of_tldr_tells_each_line_and_the_same_line_in_other_languages(tmp_path: Path) -> None:
    pages = [
        {"page": "ls", "lang": "zh", "about": "列出目录", "does": ["列出文件", "所有"]},
        {"page": "ls", "lang": "en", "about": "List a directory.", "does": ["List files", "All"]},
        {"page": "ls", "lang": "de", "about": "Zeigt Ordner", "does": ["Veraltet"]},
        {"page": "ls", "lang": "fr", "about": "Un dossier", "does": ["Un", "Deux"]},
        {"page": "rm", "lang": "de", "about": "Ohne Englisch", "does": []},
    ]
    path = tmp_path / "tldr.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(page) for page in pages).encode()))
    assert list(sources.tldr(path)) == [
        Text("List a directory.", (("de", "Zeigt Ordner"), ("zh", "列出目录"))),
        Text("List files", (("zh", "列出文件"),)),
        Text("List a directory. List files"),
        Text("All", (("zh", "所有"),)),
        Text("List a directory. All"),
    ]


def test_messages_of_home_assistant_have_the_same_key_in_each_language(tmp_path: Path) -> None:
    folder, pages = "homeassistant/components/light/translations/", "hass_frontend/static/translations/config/"
    messages = {"on": {"name": "Turn on {entity}"}, "same": "OK", "link": "[Docs](https://example.org/a) `x`"}
    files = {
        f"{folder}en.json": messages,
        f"{folder}de.json": {"on": {"name": "{entity} einschalten"}, "same": "OK", "other": "Anders"},
        f"{folder}zh-Hans.json": {"on": {"name": "打开"}},
        f"{pages}en-{'0' * 32}.json": {"on": "Save"},
        f"{pages}ja-{'1' * 32}.json": {"on": "保存"},
    }
    path = wheel(tmp_path, files)
    first, *rest = sources.home_assistant(path)
    assert first == Text("Turn on", (("de", "einschalten"), ("zh", "打开")))
    assert [text.others for text in rest] == [(), ()]
    assert rest[1].english.startswith("[Docs")
    assert "example.org" not in rest[1].english
    assert list(sources.home_assistant_frontend(path)) == [Text("Save", (("ja", "保存"),))]


def test_catalogs_of_messages_are_read_in_the_languages_that_there_are(tmp_path: Path) -> None:
    told = {"": "Content-Type: text/plain; charset=UTF-8\n", "menu\x04Delete %(name)s": "%(name)s löschen"}
    files = {
        "package/locale/de/LC_MESSAGES/django.mo": catalog(told),
        "package/locale/fr/LC_MESSAGES/django.mo": catalog(told),
    }
    assert list(sources.catalogs(wheel(tmp_path, files))) == [Text("Delete", (("de", "löschen"),))]


def test_languages_that_are_asked_for_are_read_too(tmp_path: Path) -> None:
    told = {"": "Content-Type: text/plain; charset=UTF-8\n", "Delete": "Supprimer"}
    path = wheel(tmp_path, {"package/translations/fr/LC_MESSAGES/messages.mo": catalog(told)})
    assert list(sources.catalogs(path)) == []
    assert list(sources.catalogs(path, sources.ALL_LANGUAGES)) == [Text("Delete", (("fr", "Supprimer"),))]


def test_cldr_tells_names_and_keywords_in_all_languages(tmp_path: Path) -> None:
    def annotations(name: str, *keywords: str) -> dict[str, Any]:
        return {"annotations": {"annotations": {"x": {"tts": [name], "default": keywords}, "y": {}}}}

    def languages(**names: str) -> dict[str, Any]:
        return {"main": {"xx": {"localeDisplayNames": {"languages": names}}}}

    files = {
        "annotations/en/annotations": annotations("red apple", "apple", "fruit"),
        "annotations/es/annotations": annotations("manzana roja", "fruta", "manzana"),
        "main/en/languages": languages(**{"de": "German", "en-alt-short": "E."}),
        "main/fr/languages": languages(de="allemand", ja="japonais"),
        "main/en/scripts": {},
    }
    path = tmp_path / "cldr.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            data = json.dumps(content).encode()
            info = tarfile.TarInfo(f"package/{name}.json")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert list(sources.cldr(path)) == [
        Text("red apple", (("es", "manzana roja"),)),
        Text("apple, fruit", (("es", "fruta, manzana"),)),
        Text("German", (("fr", "allemand"),)),
    ]


def catalog(messages: Mapping[str, str]) -> bytes:
    """A binary catalog of GNU gettext."""
    pairs = sorted((key.encode(), message.encode()) for key, message in messages.items())
    tables: list[list[int]] = [[], []]
    data = b""
    start = 28 + 16 * len(pairs)
    for column, table in enumerate(tables):
        for pair in pairs:
            table += [len(pair[column]), start + len(data)]
            data += pair[column] + b"\x00"
    head = [0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, start]
    return struct.pack(f"<{7 + 4 * len(pairs)}I", *head, *tables[0], *tables[1]) + data


def test_wordnet_tells_the_words_of_a_meaning_but_for_names(tmp_path: Path) -> None:
    lines = [
        "  1 This software and database is being provided to you",
        '02 03 n 02 ice_cream 0 gelato(a) 0 001 @ 01 n 0000 | a frozen dessert; "he had one"  ',
        "03 03 n 01 Vienna 0 001 @ 01 n 0000 | a city  ",
    ]
    path = tmp_path / "wordnet.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for kind in ("noun", "verb", "adj", "adv"):
            data = "\n".join(lines if kind == "noun" else []).encode()
            info = tarfile.TarInfo(f"package/dict/data.{kind}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert list(sources.wordnet(path)) == [Text("ice cream, gelato: a frozen dessert")]


def test_words_of_the_teacher_come_alone_with_a_verb_and_in_pairs() -> None:
    told = [text.english for text in sources.vocabulary(["cake", "of", "pizza", "größe"])]
    assert [told[0], told[2]] == ["cake", "pizza"]
    assert all(told[at].split()[0] in sources.VERBS for at in (1, 3))
    assert set(told[4:]) == {"cake pizza", "pizza cake"}
    assert told == [text.english for text in sources.vocabulary(["cake", "of", "pizza", "größe"])]


def test_names_are_told_in_words() -> None:
    assert [spaced(name) for name in ("ListUsers", "users.list", "getHTTPHeaders2")] == [
        "List Users",
        "users list",
        "get HTTP Headers 2",
    ]
