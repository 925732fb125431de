"""The form of keys, and what tells one from another."""

import hashlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.accounts.errors import KeyInvalid
from service.accounts.keys import (
    DECOY_SHA256,
    KeyLimits,
    KeyOptions,
    ParsedKey,
    Scope,
    is_secret_of,
    make_key,
    parse_key,
)

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SECRET = "A" * 43


def test_only_the_sha256_of_a_secret_is_stored() -> None:
    new = make_key(KeyOptions("mine"), NOW)
    secret = new.presented.removeprefix(f"drg_{new.key.id}_")
    assert new.key.secret_sha256 == hashlib.sha256(secret.encode()).digest()


@pytest.mark.parametrize(
    "presented",
    [
        "",
        "drg",
        "drg_0123abcd_",
        f"drg_0123ABCD_{SECRET}",
        f"drg_0123abc_{SECRET}",
        f"drg_0123abcd_{SECRET}A",
        f"drg_0123abcd_{SECRET[1:]}",
        f"drg_0123abcd_{SECRET}:pro",
        f"drg_0123abcd_{SECRET}\n",
        f" drg_0123abcd_{SECRET}",
        f"drg_0123abcd_{'é' * 43}",
        f"drg_{chr(0x660) * 8}_{SECRET}",
    ],
)
def test_a_malformed_key_is_rejected(presented: str) -> None:
    assert parse_key(presented) is None


@given(st.text())
def test_parsing_any_text_as_a_key_never_fails(presented: str) -> None:
    parts = parse_key(presented)
    assert parts is None or presented.removesuffix(":fx") == f"drg_{parts.id}_{parts.secret}"


def test_the_dummy_hash_for_unknown_ids_matches_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one whose hash were the decoy."""

    class Decoy:
        def digest(self) -> bytes:
            return DECOY_SHA256

    monkeypatch.setattr(hashlib, "sha256", lambda _: Decoy())
    assert not is_secret_of(ParsedKey("0123abcd", SECRET), None)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (KeyOptions("  "), "name"),
        (KeyOptions("x" * 201), "name"),
        (KeyOptions("a\x1b[2Jb"), "name"),
        (KeyOptions("mine", scopes=frozenset()), "scopes"),
        (KeyOptions("mine", expires_at=NOW), "expires"),
    ],
)
def test_an_invalid_key_is_rejected_by_field(options: KeyOptions, field: str) -> None:
    with pytest.raises(KeyInvalid) as refused:
        make_key(options, NOW)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("characters", "requests", "field"),
    [
        (-1, None, "characters_per_month"),
        (2**53, None, "characters_per_month"),
        (None, 0, "requests_per_minute"),
    ],
)
def test_an_invalid_limit_is_rejected_by_field(
    characters: int | None, requests: int | None, field: str
) -> None:
    with pytest.raises(KeyInvalid) as refused:
        KeyLimits(characters, requests)
    assert refused.value.field == field


def test_a_key_has_no_operator_scope_by_default() -> None:
    assert Scope.ADMIN not in make_key(KeyOptions("mine"), NOW).key.scopes
