from __future__ import annotations

from dataclasses import replace

import pytest

from whorl.config.settings import Settings, StateSettings
from whorl.errors import WorldError
from whorl.query.checkpoint import Manifest, Progress, compare, gone, same_backend
from whorl.query.pins import pinned

MANIFEST = Manifest("p", "totals", "u1", "as it was", ("in", "more"), settings={"spark.sql.shuffle.partitions": "4"})
CHANGED = replace(MANIFEST, fingerprint="as it is")
RESIZED = replace(MANIFEST, settings={"spark.sql.shuffle.partitions": "8"})


def go_on(wanted: Manifest, offered: int, committed: int, *written: int, manifest: Manifest = MANIFEST) -> Manifest:
    return compare(manifest, wanted, Progress(offered, committed), set(written), "/folder")


@pytest.mark.parametrize(
    ("offered", "committed", "written"),
    [
        (-1, -1, ()),
        (0, -1, ()),
        (0, -1, (0,)),
        (0, 0, (0,)),
        (7, 7, (3,)),
        (7, 7, (7, 6, 2)),
        (8, 7, (7,)),
        (8, 7, (8, 7)),
    ],
)
def test_a_checkpoint_that_fits_goes_on(offered, committed, written):
    assert go_on(MANIFEST, offered, committed, *written) == MANIFEST


@pytest.mark.parametrize("other", [{"pipeline": "q"}, {"component": "others"}, {"uid": "u2"}])
def test_a_checkpoint_of_another_is_refused(other):
    with pytest.raises(WorldError, match=r"'/folder' belongs to component '.*' of pipeline '.*'") as refused:
        go_on(MANIFEST, -1, -1, manifest=replace(MANIFEST, **other))
    assert refused.value.code == "checkpoint"


@pytest.mark.parametrize("inputs", [("in",), ("more", "in"), ("in", "more", "third")])
def test_other_inputs_are_refused_even_where_nothing_was_read(inputs):
    with pytest.raises(WorldError, match="'totals' read in, more when its checkpoint was made, and now") as refused:
        go_on(replace(MANIFEST, inputs=inputs), -1, -1)
    assert refused.value.code == "checkpoint-changed"


def test_state_stays_in_the_backend_that_it_is_in():
    in_memory = replace(MANIFEST, settings=pinned(Settings(state=StateSettings(query_backend="filesystem"))))
    on_disk = replace(MANIFEST, settings=pinned(Settings()))
    for before in (MANIFEST, on_disk):  # an earlier manifest does not say
        same_backend(before, on_disk)
        with pytest.raises(WorldError, match=r"is in a rocksdb checkpoint, and .* is filesystem"):
            same_backend(before, in_memory)
    same_backend(in_memory, in_memory)
    with pytest.raises(WorldError, match="set it to filesystem") as refused:
        same_backend(in_memory, on_disk)
    assert refused.value.code == "checkpoint-changed"


@pytest.mark.parametrize(("offered", "behind"), [(6, 1), (4, 3), (-1, 8)])
def test_an_older_checkpoint_is_refused(offered, behind):
    with pytest.raises(WorldError, match=f"older than what was written: {behind} batch") as refused:
        go_on(MANIFEST, offered, offered, 7, 2)
    assert refused.value.code == "checkpoint-older"
    assert "--accept-repeat" in refused.value.hint


def test_an_older_checkpoint_goes_on_with_a_base_above_all_that_was_written():
    """And the copy that was newest then is refused from there on."""
    repeating = replace(MANIFEST, base=8)
    assert go_on(MANIFEST, 4, 4, 7, manifest=repeating).base == 8
    assert go_on(MANIFEST, -1, -1, 7, manifest=repeating).base == 8
    assert go_on(MANIFEST, 5, 4, 7, 13, manifest=repeating).base == 8, "batch 5 is half done under its new number"
    with pytest.raises(WorldError, match="older"):
        go_on(MANIFEST, 7, 7, 7, 13)


def test_a_change_while_a_batch_is_half_done_is_refused():
    with pytest.raises(WorldError, match="'totals' was changed while batch 8 was half done") as refused:
        go_on(CHANGED, 8, 7, 8)
    assert refused.value.code == "checkpoint-changed"
    with pytest.raises(WorldError, match="batch 8"):
        go_on(CHANGED, 8, 7, 18, manifest=replace(MANIFEST, base=10))


def test_settings_that_decide_on_partitions_stay_those_of_the_first_start():
    assert go_on(RESIZED, 8, 7, 8).settings == MANIFEST.settings


@pytest.mark.parametrize(("offered", "committed", "written"), [(8, 8, (8,)), (8, 7, (7,)), (8, 7, ()), (-1, -1, ())])
def test_a_change_between_batches_or_before_anything_is_written_is_fine(offered, committed, written):
    assert go_on(CHANGED, offered, committed, *written).fingerprint == CHANGED.fingerprint


def test_what_the_checkpoint_knows_is_kept():
    """Where reading began, and the base: what is wanted now does not say."""
    known = replace(MANIFEST, starts={"in": {"t": {"0": 5}}}, base=3, run=9)
    assert go_on(CHANGED, 4, 4, 7, manifest=known) == replace(known, fingerprint="as it is")


def test_a_batch_is_in_doubt_while_it_is_offered_and_not_committed():
    assert [Progress(-1, -1).in_doubt, Progress(3, 3).in_doubt, Progress(4, 3).in_doubt] == [None, None, 4]


def test_a_manifest_survives_its_bytes():
    known = replace(MANIFEST, starts={"in": {"t": {"0": 5}}}, base=3, run=9)
    assert Manifest.decode(known.encode()) == known
    with pytest.raises(WorldError, match="newer Whorl"):
        Manifest.decode(known.encode().replace(b'"version": 1', b'"version": 2'))


def test_a_checkpoint_that_is_gone_says_where_it_was():
    assert "'/folder'" in str(gone("totals", "/folder")) and gone("totals", "/folder").code == "checkpoint-gone"
