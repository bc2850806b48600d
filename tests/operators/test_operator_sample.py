from __future__ import annotations

import pytest
from helpers_operators import operator, step
from pydantic import ValidationError

from whorl.schema import Schema

SCHEMA = Schema.of({"account": "string", "n": "long"})


def passed(**options: object) -> set[str]:
    call = step("sample", SCHEMA, **options).call
    return {row["account"] for n in range(4000) if call(row := {"account": f"a{n % 2000}", "n": n})}


def test_the_share_of_keys_and_always_the_same() -> None:
    some = passed(fraction=0.25, by="account")
    assert 420 < len(some) < 580
    assert some == passed(fraction=0.25, by="account")
    assert some < passed(fraction=0.5, by="account")


def test_another_seed_is_another_sample_and_all_is_all() -> None:
    assert passed(fraction=0.25, by="account") != passed(fraction=0.25, by="account", seed="b")
    assert len(passed(fraction=1, by="account")) == 2000


def test_keys_pass_whole_or_not_at_all() -> None:
    call = step("sample", SCHEMA, fraction=0.5, by=["account"]).call
    for n in range(100):
        assert len({call({"account": f"a{n}", "n": m}) for m in range(5)}) == 1


@pytest.mark.parametrize(
    "wrong", [{"fraction": 0, "by": "n"}, {"fraction": 1.1, "by": "n"}, {"fraction": 0.1}, {"fraction": 0.1, "by": []}]
)
def test_what_is_no_sample(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        operator("sample", **wrong)
