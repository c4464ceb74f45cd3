"""Every token of the table is hidden, however it is written down; the tests are made from the table."""

import json
import re

from mcpctl.secrets.redact import MARK, mask, mask_shapes
from mcpctl.secrets.redactor import Redactor
from mcpctl.secrets.token_shapes import TOKENS, Shape
from tests.secrets.channels import CHANNELS, decoded
from tests.table import for_each

REDACTOR = Redactor(b"k" * 32)
ANY_MARK = re.compile(MARK.pattern.encode())
SURROUNDINGS = {
    "alone": ("", ""),
    "in a sentence": ("It is ", ", please."),
    "in a query": ("https://host.example/path?x=", "&page=2"),
    "in a path": ("https://host.example/a/", "/b"),
    "in quotes": ("say '", "' twice"),
    "after a line": ("one\n", "\ntwo"),
}
shapes = for_each("shape", TOKENS)


@shapes
@for_each("channel", CHANNELS)
def test_a_token_is_hidden_and_nothing_else(shape: Shape, channel: str) -> None:
    for where, (before, after) in SURROUNDINGS.items():
        text = CHANNELS[channel](before + shape.example.decode() + after)
        recorded = REDACTOR.json(text)
        decoded(channel, recorded)
        assert shape.example not in recorded, where
        (hidden,) = ANY_MARK.finditer(recorded)
        # What a token has before its head, such as a bot's number, may stay.
        assert text.startswith(recorded[: hidden.start()]), where
        assert text.endswith(recorded[hidden.end() :]), where
        assert len(text) - len(recorded) + len(hidden[0]) > len(shape.example) * 2 // 3, where


@shapes
def test_people_do_not_see_it_either(shape: Shape) -> None:
    text = f"it said {shape.example.decode()}, and ended"
    assert shape.example.decode() not in mask(text)
    assert mask(text) == mask_shapes(text)
    assert "***, and ended" in mask(text)


@shapes
def test_a_token_with_escapes_is_hidden_too(shape: Shape) -> None:
    example = shape.example.decode()
    escaped = "".join(f"\\u{ord(letter):04X}" if number % 3 == 0 else letter for number, letter in enumerate(example))
    recorded = REDACTOR.json(f'{{"a":"x\\/y {escaped} \\/z"}}'.encode())
    assert json.loads(recorded)["a"].startswith("x/y ")
    assert recorded.endswith(b' \\/z"}')
    assert example not in json.loads(recorded)["a"]
    assert escaped.encode() not in recorded
    assert ANY_MARK.search(recorded)


@shapes
def test_an_example_is_of_its_shape(shape: Shape) -> None:
    (head,) = [head for head in shape.heads if head in shape.example[:40]]
    end = shape.example.index(head) + len(head)
    found = re.compile(shape.rest).match(shape.example, end)
    assert found
    assert found.end() == len(shape.example)


def test_every_shape_has_a_name_of_its_own() -> None:
    assert len({shape.name for shape in TOKENS}) == len(TOKENS) > 50


@for_each("shape", [shape for shape in TOKENS if shape.is_alone])
def test_a_short_head_begins_no_token_within_a_word(shape: Shape) -> None:
    text = b'{"data":"x' + shape.example + b'"}'
    assert REDACTOR.json(text) == text
