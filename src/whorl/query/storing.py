"""One batch into a store, with its dead letters.

What failed before, and what the store refuses, goes to the dead-letter topic before the batch is committed there: a dead letter may be
written twice, and is never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from whorl.config.stores import StoreSink
from whorl.plan.plan import Output
from whorl.query.action import write_at_least_once
from whorl.query.frames import ERROR, FAILED, SKIPPED, good
from whorl.query.steps import able_to_fail
from whorl.query.stores.make import store_of
from whorl.query.stores.patience import Patience
from whorl.query.stores.store import ROW, Order
from whorl.query.write import Topics, dead_records


@dataclass(frozen=True)
class Stored:
    written: int
    dead: int


class Storing:
    def __init__(
        self,
        session: SparkSession,
        output: Output,
        dead_letter: str,
        kafka: Mapping[str, str],
        say: Callable[[str], None],
        is_over: Callable[[], bool],
    ) -> None:
        assert isinstance(output.sink, StoreSink)
        self._id = output.id
        self._store = store_of(session, output.id, output.sink)
        self._patience = Patience(output.id, output.sink.patience, say, is_over)
        self._topics, self._kafka = Topics((dead_letter,), {}, dead_letter), kafka
        self._refused: dict[int, str] = {}

    def write(self, frame: DataFrame, order: Order) -> Stored:
        """The rows are kept while they are written: they are looked at more than once, and the state behind them moves only once."""
        rows = frame.withColumn(ROW, F.monotonically_increasing_id()).persist()
        try:
            fit = self._patience.with_(lambda: self._store.fitted(rows))
            sound, dead = _counted(fit)
            if dead:
                self._bury(fit)
            self._refused = {}
            new = bool(sound) and self._patience.with_(lambda: self._store.write(good(fit), order, self._reject(fit)))
            return Stored(sound - len(self._refused) if new else 0, dead + len(self._refused))
        finally:
            rows.unpersist()

    def _reject(self, rows: DataFrame) -> Callable[[Mapping[int, str]], None]:
        def reject(refused: Mapping[int, str]) -> None:
            fresh = {row: why for row, why in refused.items() if row not in self._refused}
            self._refused |= fresh
            if fresh:
                self._bury(_failed(rows, fresh, self._id))

        return reject

    def _bury(self, rows: DataFrame) -> None:
        failed = rows.where(F.col(ERROR).isNotNull())
        write_at_least_once(dead_records(failed, self._topics), self._topics.names, self._kafka)


def _failed(rows: DataFrame, refused: Mapping[int, str], id: str) -> DataFrame:
    """These rows, each with its reason."""
    reasons = F.create_map(*[F.lit(each) for pair in refused.items() for each in pair])
    chosen = able_to_fail(rows.where(F.col(ROW).isin(*refused)))
    return chosen.withColumn(ERROR, F.element_at(reasons, F.col(ROW))).withColumn(FAILED, F.lit(id))


def _counted(rows: DataFrame) -> tuple[int, int]:
    """How many are sound, and how many are dead. It reads all of them, whatever comes of it: Spark keeps its state only then."""
    if ERROR not in rows.columns:
        return rows.count(), 0
    sound = F.count_if(F.col(ERROR).isNull())
    dead = F.count_if(F.col(ERROR).isNotNull() & (F.col(ERROR) != SKIPPED))
    found = rows.agg(sound.alias("sound"), dead.alias("dead")).head()
    return (int(found.sound), int(found.dead)) if found else (0, 0)
