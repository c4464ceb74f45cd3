"""Tokens as they are kept, and how one is told."""

import hmac
import time
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from tests.table import for_each


def test_a_text_is_identified_by_its_hash_in_constant_time(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with PolicyFile.connect(paths) as file:
        made = [tokens.create(file) for _ in range(3)]
    every = [token for token, _ in made]
    compared: list[str] = []
    compare: Any = hmac.compare_digest

    def counting(one: str, other: str) -> bool:
        compared.append(one)
        return bool(compare(one, other))

    monkeypatch.setattr(hmac, "compare_digest", counting)
    for token, text in made:
        compared.clear()
        assert tokens.identified(text, every, time.time()) is token
        assert compared == [each.hash for each in every]
    for text in ("", every[0].hash, made[0][1][:-1], made[0][1] + " ", made[0][1].upper(), "\ud800", "\0"):
        assert tokens.identified(text, every, time.time()) is None


def test_two_tokens_never_have_one_text(paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        texts = {tokens.create(file)[1] for _ in range(50)}
        assert len(texts) == 50
        assert len({token.id for token in tokens.every(file)}) == 50


@for_each(
    ("expires", "revoked", "expected"),
    [
        (None, None, "valid"),
        (11.0, None, "valid"),
        (10.0, None, "expired"),
        (None, 1.0, "revoked"),
        (9.0, 1.0, "revoked"),
    ],
)
def test_a_token_is_valid_until_it_expires_or_is_revoked(
    expires: float | None, revoked: float | None, expected: str
) -> None:
    assert tokens.Token("a", "h", expires=expires, revoked=revoked).state(10.0) == expected
