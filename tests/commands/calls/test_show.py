"""`mcpctl calls show`"""

import pytest
from msgspec import Raw

from mcpctl.base.fields import CALL_FIELDS
from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.recorded import call, call_id, raw, session, two_sessions


@pytest.mark.parametrize("ref", [call_id(6), call_id(6).upper(), "60ca", "6", "last"])
def test_a_call_is_named_by_its_id_its_beginning_or_last(mcpctl: Mcpctl, paths: Paths, ref: str) -> None:
    two_sessions(paths)
    assert mcpctl("calls", "show", ref, "--json").json["id"] == call_id(6)


def test_every_field_is_there_and_absent_ones_are_null(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    row = mcpctl("calls", "show", call_id(4), "--json").json
    assert tuple(row) == (*CALL_FIELDS, "decisions")
    assert (row["status"], row["response"], row["parent_id"], row["project"]) == ("denied", None, None, None)
    assert row["error"] == {"code": "not_permitted", "message": "tool 'notes:delete_note' is not permitted"}
    assert row["response_truncated"] is False


def test_a_person_reads_names_and_values(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=call(1, 1, arguments=raw({"city": "Oslo", "days": [1, 2]})))
    out = mcpctl("calls", "show", "last").out
    assert "tool:               get_forecast\n" in out
    assert 'arguments:\n  {\n    "city": "Oslo",\n' in out


def test_an_unknown_call_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    ran = mcpctl("calls", "show", "ffff", "--json")
    assert (ran.code, ran.error["code"]) == (3, "call_not_found")
    assert "mcpctl calls ls" in ran.error["hint"]


@pytest.mark.parametrize("ref", ["last", "", "%", "*"])
def test_with_no_call_on_record_there_is_none_to_show(mcpctl: Mcpctl, ref: str) -> None:
    assert mcpctl("calls", "show", ref).code == 3


@pytest.mark.parametrize("ref", ["%", "_", "*", "", "6%"])
def test_a_reference_is_no_pattern(mcpctl: Mcpctl, paths: Paths, ref: str) -> None:
    two_sessions(paths)
    assert mcpctl("calls", "show", ref).code == 3


def test_an_ambiguous_beginning_is_refused_with_what_it_could_be(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[line for n in range(4) for line in call(f"abc{n}", n)])
    ran = mcpctl("calls", "show", "abc")
    assert ran.code == 2
    assert "abc3, abc2, abc1, …" in ran.err


def test_a_full_id_that_begins_others_is_itself(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, rest=[line for id_ in ("abc", "abcd") for line in call(id_, 1)])
    assert mcpctl("calls", "show", "abc", "--json").json["id"] == "abc"


def test_numbers_are_those_that_were_sent(mcpctl: Mcpctl, paths: Paths) -> None:
    text = '{"a":1.0,"b":1,"c":1e400,"d":123456789012345678901234567890,"e":-0}'
    session(paths, rest=call(1, 1, arguments=Raw(text.encode())))
    assert text in mcpctl("calls", "show", "last", "--json").out
    assert mcpctl("calls", "show", "last").code == 0
