"""What `start_from` gives a source: the offsets that another consumer has committed. Whatever does not fit is told.

A gap: the offset lies before the first record that is left, so some that were never read are gone. An overlap: a partition without an
offset, or with one behind the end, begins as the source's `start` says, and may give what the other consumer has had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from whorl.config.offset_stores import StoreUrl, start_url
from whorl.errors import WorldError
from whorl.kafka.topics import Cluster, Place
from whorl.offsets.store import Offsets, opened


def seeded(cluster: Cluster, start_from: str, places: Collection[Place], tell: Callable[[str], None]) -> Offsets:
    """Where these begin, as far as the store knows."""
    url = start_url(start_from)
    with opened(url, cluster.clients) as store:
        known = store.read(url.group)
    found = {place: known[place] for place in places if place in known}
    if places and not found:
        topics = ", ".join(sorted({f"'{topic}'" for topic, _ in places}))
        what = f"group '{url.group}' has no offsets of {topics} in '{url}'"
        hint = "look at the group's name, or leave out 'start_from'"
        raise WorldError(what, hint=hint, code="start-from")
    for topic, partition in sorted(set(places) - set(found)):
        tell(f"{topic}/{partition}: group '{url.group}' has no offset, so it begins as 'start' says (an overlap)")
    return _within(cluster, url, found, tell)


def _within(cluster: Cluster, url: StoreUrl, found: dict[Place, int], tell: Callable[[str], None]) -> Offsets:
    earliest, latest, fitting = cluster.earliest(found), cluster.latest(found), dict[Place, int]()
    for place, at in sorted(found.items()):
        who = f"{place[0]}/{place[1]}: group '{url.group}' is at {at}"
        if at > latest[place]:
            tell(f"{who}, behind the end {latest[place]}, so it begins as 'start' says (an overlap)")
            continue
        if at < earliest[place]:
            tell(f"{who}, and {earliest[place] - at} records from there on are gone from Kafka (a gap)")
        fitting[place] = max(at, earliest[place])
    return fitting
