"""Clients that are kept between uses."""

from __future__ import annotations

import pytest

from whorl.kafka.pool import Counts, Pool


class Client:
    def __init__(self) -> None:
        self.closed, self.well = False, True


def close(client: Client) -> None:
    client.closed = True


def test_the_one_last_used_for_a_place_comes_back_else_any_of_the_kind() -> None:
    pool = Pool(close)
    with pool.borrowed("kind", 0, Client) as zero, pool.borrowed("kind", 1, Client) as one:
        assert zero is not one
    with pool.borrowed("kind", 1, Client) as again, pool.borrowed("kind", 2, Client) as other:
        assert again is one and other is zero
    with pool.borrowed("another kind", 0, Client) as third:
        assert third not in (zero, one)
    assert pool.counts == Counts(open=3, opened=3, reused=2)


def test_what_failed_is_not_lent_again() -> None:
    pool = Pool(close, is_well=lambda client: client.well)
    with pytest.raises(ValueError), pool.borrowed("kind", 0, Client) as first:
        raise ValueError
    with pool.borrowed("kind", 0, Client) as second:
        second.well = False
    with pool.borrowed("kind", 0, Client) as third:
        pass
    assert first.closed and second.closed and not third.closed
    assert pool.counts == Counts(open=1, opened=3, failed=2)


def test_what_nobody_wants_for_long_is_closed_and_all_at_the_end() -> None:
    now = [0.0]
    pool = Pool(close, idle=10, clock=lambda: now[0])
    with pool.borrowed("kind", 0, Client) as old:
        pass
    now[0] = 8
    with pool.borrowed("other", 0, Client) as young:
        pass
    now[0] = 12
    pool.expire()
    assert old.closed and not young.closed and pool.counts.expired == 1
    pool.close()
    assert young.closed and pool.counts.open == 0


def test_counts_add_up() -> None:
    assert Counts(1, 2, 3, 4, 5) + Counts(1, 1, 1, 1, 1) == Counts(2, 3, 4, 5, 6)
