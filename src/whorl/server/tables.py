"""Tables of jobs: topics that hold the newest row of each key, kept current for all who look at them."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.config.settings import Settings
from whorl.errors import WorldError
from whorl.jobs.address import clients_of
from whorl.reading.live import LiveTable, LiveTables, Row
from whorl.server.pipelines import settings_of
from whorl.server.records import JobRecord
from whorl.server.schemas import StateEntry, TableName, TablePage
from whorl.server.store import Store


class Tables:
    def __init__(self, store: Store, broker: str | None) -> None:
        self._store, self._broker, self._live = store, broker, LiveTables()

    def names(self) -> list[TableName]:
        """Those of the newest jobs first, each topic once."""
        named = [table for record in self._store.jobs() for table in tables_of(record)]
        return list({table.topic: table for table in named}.values())[::-1]

    def entry(self, topic: str, key: str) -> StateEntry:
        found = self._table(topic).row(key)
        if found is None:
            raise WorldError(f"topic '{topic}' has nothing for key '{key}'", code="state-key")
        return _entry(topic, found)

    def page(self, topic: str, limit: int, offset: int, sort: str) -> TablePage:
        found = self._table(topic).rows(limit, offset, sort)
        rows = [_entry(topic, row) for row in found.rows]
        return TablePage(topic=topic, total=found.total, offset=offset, rows=rows)

    def close(self) -> None:
        self._live.close()

    def _table(self, topic: str) -> LiveTable:
        clients = clients_of(self._settings(topic))
        return self._live.of(clients.address, clients, topic)

    def _settings(self, topic: str) -> Settings:
        """Of the job that fills it; else with the server's broker, or of the newest job."""
        jobs = self._store.jobs()[::-1]
        filling = [record for record in jobs if any(table.topic == topic for table in tables_of(record))]
        if not filling and self._broker:
            return Settings(broker=self._broker)
        return next((settings_of(record) for record in (*filling, *jobs)), Settings())


def tables_of(record: JobRecord) -> Iterator[TableName]:
    """As its plan has them: topics of sinks with a key, and those that show what an operator keeps."""
    for component in record.known.plan.get("components", ()):
        for output in component["outputs"]:
            if output["type"] == "sink" and output["topic"] and output["key"]:
                yield _named(record, output["topic"], output["columns"] or {})
        for topic in component.get("publishes", {}).values():
            yield _named(record, topic, {})


def _named(record: JobRecord, topic: str, columns: dict[str, str]) -> TableName:
    return TableName(topic=topic, job=record.id, pipeline=record.pipeline, columns=columns)


def _entry(topic: str, row: Row) -> StateEntry:
    return StateEntry(operator=topic, key=row.key, value=row.value, lp=row.partition, position=row.offset)
