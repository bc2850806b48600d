"""Who owns a vertex is what Kafka's producers would say of its key."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whorl.operators.graphs.owners import hashes
from whorl.testing.memory import murmur2


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=60))
def test_many_at_once_as_one_by_one(keys: list[bytes]) -> None:
    assert hashes(keys).tolist() == [murmur2(key) & 0xFFFFFFFF for key in keys]
