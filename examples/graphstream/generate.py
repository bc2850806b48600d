"""Links between accounts: more and more of them, so that small rings grow together to large ones. Always the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

ACCOUNTS = 3_000
Link = dict[str, str]


def links(count: int) -> Iterator[Link]:
    """Some come twice, some the other way round, and some link an account with itself: that makes no difference."""
    dice = random.Random(11)
    before: list[Link] = []
    for _ in range(count):
        if before and dice.random() < 0.05:
            known = dice.choice(before)
            yield {**known, "one": known["other"], "other": known["one"]}
            continue
        link = {"one": _account(dice), "other": _account(dice), "by": dice.choice(["card", "device"])}
        before.append(link)
        yield link


def _account(dice: random.Random) -> str:
    return f"a{dice.randrange(ACCOUNTS):04}"
