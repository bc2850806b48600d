"""What a component takes along to the other host, and what is refused before anything is changed."""

from __future__ import annotations

import pytest

from whorl.errors import WorldError
from whorl.savepoints.hosts import starts_of

POSITIONS = {("clicks", 0): 7, ("clicks", 1): 0, ("views", 0): 3}


def test_a_query_starts_where_tasks_had_come_to_input_by_input() -> None:
    starts = starts_of("visits", {"left": ["clicks"], "right": ["views"]}, POSITIONS)
    assert starts == {"left": {"clicks": {"0": 7, "1": 0}}, "right": {"views": {"0": 3}}}


@pytest.mark.parametrize("topics", [["clicks"], ["clicks", "views", "orders"]])
def test_without_positions_of_all_topics_it_stays(topics: list[str]) -> None:
    with pytest.raises(
        WorldError, match=r"component 'visits' cannot move to the other host: '(views|orders)' is read on"
    ) as told:
        starts_of("visits", {"in": topics}, POSITIONS)
    assert told.value.hint == "resume it on the host that it was on"
