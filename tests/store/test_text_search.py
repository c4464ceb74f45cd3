"""A text is found in the JSON on record however it is escaped there."""

import sqlite3
from contextlib import closing

import pytest

from mcpctl.store import query, text_search
from mcpctl.store.sqlite import SQLITE, SqliteDatabase

FOUND = {
    "oslo": ['{"city":"Oslo"}', r'{"city":"\u004fslo"}', r'"{\"city\":\"OSLO\"}"'],
    "Zürich": [
        '{"city":"zürich"}',
        r'{"city":"Z\u00fcrich"}',
        r'{"city":"Z\u00FCRICH"}',
        r'"{\"c\":\"z\\u00fcrich\"}"',
    ],
    "привет": ['"ПРИВЕТ"', r'"\u041f\u0440\u0438\u0432\u0435\u0442"'],
    "日本": ['"日本語"', r'"\u65e5\u672c"'],
    "😀 yes": ['"😀 yes"', r'"\ud83d\ude00 yes"'],
    'say "hi"': [r'"say \"hi\""', r'"{\"text\":\"say \\\"hi\\\"\"}"', r'"say \u0022hi\u0022"'],
    "one\ntwo": [r'"one\ntwo"', r'"{\"t\":\"one\\ntwo\"}"'],
    r"one\ntwo": [r'"one\ntwo"'],
    "a/b": ['"a/b"', r'"a\/b"', r'"A\u002fB"'],
    '"': ['"x"'],
    "\t": [r'"\t"'],
    "C:\\temp": [r'"C:\\temp"', r'"{\"p\":\"c:\\\\temp\"}"'],
    "100%": ['"100%"'],
    "a_b!": ['"A_B!"'],
    "<b>": [r'"\u003cb\u003e"', '"<B>"'],
}
NOT_FOUND: dict[str, list[str | None]] = {
    "oslo": ['{"city":"Os lo"}', None, r'"\u004fs lo"'],
    "100%": ['"1000"', '"100"'],
    "a_b!": ['"axb!"'],
    "é": ['"e"', '"e\\u0301"'],
    "日本": ['"日 本"'],
    "[ab]": ['"a"'],
    "*": ['"a"'],
}


@pytest.fixture
def db() -> SqliteDatabase:
    db = sqlite3.connect(":memory:", factory=SqliteDatabase)
    query.add_functions(db)
    db.execute("CREATE TABLE told (json TEXT)")
    return db


def is_found(db: SqliteDatabase, text: str, json: str | None) -> bool:
    db.execute("DELETE FROM told")
    db.execute("INSERT INTO told VALUES (?)", (json,))
    sql, *values = text_search.having_text("json", text, SQLITE)
    return bool(db.execute(f"SELECT 1 FROM told WHERE {sql}", values).fetchone())


@pytest.mark.parametrize(("text", "json"), [(text, json) for text, all_ in FOUND.items() for json in all_])
def test_a_text_is_found(db: SqliteDatabase, text: str, json: str) -> None:
    with closing(db):
        assert is_found(db, text, json)


@pytest.mark.parametrize(("text", "json"), [(text, json) for text, all_ in NOT_FOUND.items() for json in all_])
def test_another_text_is_not(db: SqliteDatabase, text: str, json: str | None) -> None:
    with closing(db):
        assert not is_found(db, text, json)


def test_escapes_cost_time_in_line_with_their_number() -> None:
    assert not text_search.says(r"\u00e9" * 200_000 + "\\" * 200_001, "x")
