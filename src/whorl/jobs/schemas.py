"""Columns that a pipeline leaves to be found: pinned at the first start of each source, and the same ever after.

Looked for in this order: the source's own pin, what any pipeline has published of its topic or path, a sample of it. Nothing is published by
looking; `pinned` writes what a start has settled on, with the columns of the topics that the pipeline itself writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from whorl.config.loader import Loaded
from whorl.config.sources import FileSource, KafkaSource
from whorl.config.spec import SourceSpec
from whorl.errors import CheckFailed, Finding, PipelineError, WhorlError
from whorl.jobs.address import clients_of
from whorl.kafka.topics import Cluster
from whorl.plan.plan import OutputKind, Plan
from whorl.schemas.published import Entry, of_path, of_topic, pin, publish, published
from whorl.schemas.sampling import sample_files, sample_topics

Open = FileSource | KafkaSource
"""Sources whose columns may be inferred."""


@dataclass(frozen=True)
class Found:
    """What a source that infers will read."""

    source: str
    options: Open
    entry: Entry
    known: str
    """`pinned`, `published` or `sampled`."""

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {kind}{self._sure(name)}" for name, kind in self.entry.columns.items())
        return f"source '{self.source}': columns {self.known} ({self.entry.origin}): {columns}"

    def _sure(self, column: str) -> str:
        return f" ({self.entry.sure[column]:.0%} sure)" if self.entry.sure.get(column, 1.0) < 0.99 else ""


def infers(loaded: Loaded) -> list[SourceSpec]:
    return [source for source in loaded.spec.sources if source.options is not None and source.options.infers]


def settle(loaded: Loaded, cluster: Cluster | None = None, fresh: bool = False) -> tuple[Loaded, list[Found]]:
    """The pipeline with every column known, and what was found; all that cannot be found at once, as findings."""
    wanted = infers(loaded)
    if not wanted:
        return loaded, []
    cluster = cluster or Cluster(clients_of(loaded.settings))
    known = published(cluster)
    found, wrong = [], []
    for source in wanted:
        try:
            found.append(_found(loaded.spec.name, source, cluster, known, fresh))
        except WhorlError as error:
            wrong.append(Finding(error.code, f"source '{source.id}': {error.message}", error.hint, source.at))
    if wrong:
        raise CheckFailed(wrong)
    return _with(loaded, {each.source: each.entry for each in found}), found


def _found(pipeline: str, source: SourceSpec, cluster: Cluster, known: Mapping[str, Entry], fresh: bool) -> Found:
    options = cast(Open, source.options)
    own = known.get(pin(pipeline, source.id))
    if own and not fresh:
        return Found(source.id, options, own, "pinned")
    for key in _keys(options):
        if key in known and not fresh:
            return Found(source.id, options, known[key], "published")
    return Found(source.id, options, _sampled(options, cluster), "sampled")


def _sampled(options: Open, cluster: Cluster) -> Entry:
    if isinstance(options, FileSource):
        found = sample_files(options)
        return Entry.of(found, f"{found.rows:,} lines of '{options.path}'")
    if options.pattern:
        hint = "write the columns, or name the topics"
        raise PipelineError("columns are not inferred for a pattern of topics", hint=hint, code="schema")
    found = sample_topics(cluster, options.names, options.format)
    return Entry.of(found, f"{found.rows:,} records of {', '.join(repr(name) for name in options.names)}")


def _keys(options: Open) -> list[str]:
    return [of_path(options.path)] if isinstance(options, FileSource) else [of_topic(name) for name in options.names]


def _with(loaded: Loaded, entries: Mapping[str, Entry]) -> Loaded:
    sources = tuple(_known(source, entries.get(source.id)) for source in loaded.spec.sources)
    return replace(loaded, spec=loaded.spec.model_copy(update={"sources": sources}))


def _known(source: SourceSpec, entry: Entry | None) -> SourceSpec:
    if entry is None:
        return source
    given = cast(Open, source.options)
    watched = {"drift": given.drift or "ignore"} if isinstance(given, KafkaSource) else {}
    options = given.model_copy(update={"schema_": entry.schema, **watched})
    return source.model_copy(update={"options": options})


def pinned(cluster: Cluster, plan: Plan, found: list[Found]) -> None:
    """What a start has settled on, for its own later ones and for other pipelines."""
    entries = {**dict(_written(plan)), **dict(_settled(plan.pipeline, found))}
    known = published(cluster) if entries else {}
    publish(
        cluster, {key: entry for key, entry in entries.items() if known.get(key) != entry}, plan.settings.replication
    )


def _settled(pipeline: str, found: list[Found]) -> Iterator[tuple[str, Entry]]:
    for each in found:
        if each.known != "pinned":
            yield pin(pipeline, each.source), each.entry
        if each.known == "sampled":
            yield from ((key, each.entry) for key in _keys(each.options))


def _written(plan: Plan) -> Iterator[tuple[str, Entry]]:
    for output in plan.outputs:
        if output.kind is OutputKind.SINK and output.schema is not None and output.format.type == "json":
            yield of_topic(output.topic), Entry.declared(output.schema, f"written by pipeline '{plan.pipeline}'")
