"""As `whorl.sinks.kafka`, in a component that is in a loop: records carry the round that they are in as long as they stay in the loop."""

from __future__ import annotations

from collections.abc import Callable

from whorl.kafka.partitioner import partition_of
from whorl.operators.record import UNCHANGED, Addressed, Metadata, Row, round_of, with_round
from whorl.plan.plan import Output
from whorl.sinks.kafka import Encode, Entry, emitter


def round_emitter(
    output: Output, encode: Encode, partitions: int, limit: int, append: Callable[[Entry], None]
) -> Callable[[Row, Metadata], None]:
    """As `emitter`. What leads back is in the next round, and is placed here: whoever reads it may be this task."""
    if output.rounds == "next":
        return _placed(output, encode, partitions, limit, append)
    emit, stays = emitter(output, encode, partitions, limit, append), output.rounds == "same"

    def emit_in_round(row: Row, meta: Metadata) -> None:
        round = round_of(meta.message) if stays else 0
        emit(row, _in_round(meta, round, output.headers))

    return emit_in_round


def _placed(
    output: Output, encode: Encode, partitions: int, limit: int, append: Callable[[Entry], None]
) -> Callable[[Row, Metadata], None]:
    made: list[Entry] = []
    emit = emitter(output, encode, partitions, limit, made.append)

    def emit_back(row: Row, meta: Metadata) -> None:
        emit(row, _in_round(meta, round_of(meta.message) + 1, output.headers))
        entry = made.pop()
        key = entry[2]
        if meta.__class__ is Addressed:
            partition = meta.to
        elif key is None:
            partition = (meta.message.partition() or 0) % partitions
        else:
            partition = partition_of(key, partitions)
        append((*entry[:3], partition, *entry[4:]))

    return emit_back


def _in_round(meta: Metadata, round: int, with_headers: bool) -> Metadata:
    """0: out of the loop."""
    message, headers = meta.message, meta.own_headers
    if headers is UNCHANGED:
        headers = message.headers() if with_headers else None
    return Metadata(message, meta.key, with_round(headers, round), meta.own_timestamp)
