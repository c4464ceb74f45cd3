"""Problems of a toolset by itself, found as the JSON Schema has them."""

from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.toolsets import lint
from mcpctl.toolsets.schema import MEMBERS, SCHEMA
from tests.table import for_each

NAMES = st.sampled_from([
    *sorted(MEMBERS), "toolsets", "toolRef", "notes", "note", "title", "annotations", "readOnlyHint", "namespacedName",
    "refId", "other",
])  # fmt: skip
VALUES = st.recursive(
    st.sampled_from([None, True, 3, "a.b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
KINDS = {"type": "E102", "required": "E103", "anyOf": "E103"}


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_shapes_are_what_the_schema_says(root: Any) -> None:
    errors = jsonschema.Draft202012Validator(SCHEMA).iter_errors(root)
    wanted = {(KINDS[e.validator], tuple(e.absolute_path)) for e in errors if e.validator in KINDS}
    assert {(problem.rule, problem.place) for problem in lint.shape(root)} == wanted


@for_each("root", [[], None, "text", 3])
def test_what_is_no_object_has_the_wrong_type(root: Any) -> None:
    assert [problem.rule for problem in lint.shape(root)] == ["E102"]
