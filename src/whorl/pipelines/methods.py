"""A method for each operator, source and sink, with its options. Written by `python -m docs.generate`; change the models, not this module."""

# fmt: off
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypedDict, Unpack, overload

from whorl.pipelines.builder import Builder, Code, Common, Duration, Edges, OnError, Size


class KafkaSource(TypedDict, total=False):
    """Options of a kafka source."""

    to: Edges
    on_error: OnError
    topic: str
    topics: Sequence[str]
    pattern: str
    key: str | Sequence[str]
    format: str | Mapping[str, Any]
    schema: Mapping[str, str] | Literal["infer"]
    drift: Literal["ignore", "add", "dead_letter", "fail"]
    start: str | Mapping[str, Any]
    start_from: str
    on_gap: Literal["fail", "earliest"]
    partitioner: Literal["murmur2", "crc32"]
    watermark: Mapping[str, Any]
    max_rate: float
    max_per_batch: int
    table: bool

class FileSource(TypedDict, total=False):
    """Options of a file source."""

    to: Edges
    on_error: OnError
    path: str
    format: Literal["json", "csv", "parquet", "orc", "avro", "text", "xml"]
    header: bool
    delimiter: str
    row_tag: str
    schema: Mapping[str, str] | Literal["infer"]
    static: bool
    refresh: Duration
    max_files: int
    watermark: Mapping[str, Any]

class ListSource(TypedDict, total=False):
    """Options of a list source."""

    to: Edges
    on_error: OnError
    rows: Sequence[Mapping[str, Any]]
    keys: Sequence[str]

class RateSource(TypedDict, total=False):
    """Options of a rate source."""

    to: Edges
    on_error: OnError
    rows_per_second: float
    partitions: int
    limit: int
    watermark: Mapping[str, Any]

class JdbcSource(TypedDict, total=False):
    """Options of a jdbc source."""

    to: Edges
    on_error: OnError
    schema: Mapping[str, str] | Literal["infer"]
    refresh: Duration
    url: str
    user: str
    password: str
    table: str
    query: str
    driver: str

class DeltaSource(TypedDict, total=False):
    """Options of a delta source."""

    to: Edges
    on_error: OnError
    schema: Mapping[str, str] | Literal["infer"]
    refresh: Duration
    path: str
    static: bool
    max_files: int
    watermark: Mapping[str, Any]

class HiveSource(TypedDict, total=False):
    """Options of a hive source."""

    to: Edges
    on_error: OnError
    schema: Mapping[str, str] | Literal["infer"]
    refresh: Duration
    table: str

class KafkaSink(TypedDict, total=False):
    """Options of a kafka sink."""

    from_: Edges
    topic: str
    key: str | Sequence[str]
    format: str | Mapping[str, Any]
    headers: bool

class FileSink(TypedDict, total=False):
    """Options of a file sink."""

    from_: Edges
    path: str
    format: Literal["json", "csv", "parquet", "orc", "avro", "text", "xml"]
    header: bool
    delimiter: str
    row_tag: str
    partition_by: str | Sequence[str]

class ConsoleSink(TypedDict, total=False):
    """Options of a console sink."""

    from_: Edges
    limit: int

class ListSink(TypedDict, total=False):
    """Options of a list sink."""

    from_: Edges

class PythonSink(TypedDict, total=False):
    """Options of a python sink."""

    from_: Edges
    function: Code
    class_: Code
    args: Mapping[str, Any]
    idempotent_by: str | Sequence[str]
    store: str
    in_doubt: Literal["tell", "repeat", "skip"]
    ttl: Duration
    on_error: OnError

class JdbcSink(TypedDict, total=False):
    """Options of a jdbc sink."""

    from_: Edges
    patience: Duration
    url: str
    user: str
    password: str
    table: str
    key: str | Sequence[str]

class DeltaSink(TypedDict, total=False):
    """Options of a delta sink."""

    from_: Edges
    patience: Duration
    path: str
    key: str | Sequence[str]
    partition_by: str | Sequence[str]

class HiveSink(TypedDict, total=False):
    """Options of a hive sink."""

    from_: Edges
    patience: Duration
    table: str
    partition_by: str | Sequence[str]
    format: Literal["parquet", "orc"]

class HttpSink(TypedDict, total=False):
    """Options of a http sink."""

    from_: Edges
    patience: Duration
    url: str
    method: Literal["POST", "PUT", "PATCH"]
    headers: Mapping[str, str]
    rows_per_request: int
    timeout: Duration

class Methods(Builder):
    """Each adds one part and gives the pipeline back, so that calls can be chained."""

    @overload
    def source(self, id: str, *, type: Literal["kafka"] = "kafka", **options: Unpack[KafkaSource]) -> Self: ...

    @overload
    def source(self, id: str, *, type: Literal["file"], **options: Unpack[FileSource]) -> Self: ...

    @overload
    def source(self, id: str, *, type: Literal["list"], **options: Unpack[ListSource]) -> Self: ...

    @overload
    def source(self, id: str, *, type: Literal["rate"], **options: Unpack[RateSource]) -> Self: ...

    @overload
    def source(self, id: str, *, type: Literal["jdbc"], **options: Unpack[JdbcSource]) -> Self: ...

    @overload
    def source(self, id: str, *, type: Literal["delta"], **options: Unpack[DeltaSource]) -> Self: ...

    @overload
    def source(self, id: str, *, type: Literal["hive"], **options: Unpack[HiveSource]) -> Self: ...

    def source(self, id: str, *, type: str = "kafka", **options: Any) -> Self:
        """A source: kafka, file, list, rate, jdbc, delta, hive."""
        return self._end("sources", id, {"type": type, **options})

    @overload
    def sink(self, id: str, *, type: Literal["kafka"] = "kafka", **options: Unpack[KafkaSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["file"], **options: Unpack[FileSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["console"], **options: Unpack[ConsoleSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["list"], **options: Unpack[ListSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["python"], **options: Unpack[PythonSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["jdbc"], **options: Unpack[JdbcSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["delta"], **options: Unpack[DeltaSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["hive"], **options: Unpack[HiveSink]) -> Self: ...

    @overload
    def sink(self, id: str, *, type: Literal["http"], **options: Unpack[HttpSink]) -> Self: ...

    def sink(self, id: str, *, type: str = "kafka", **options: Any) -> Self:
        """A sink: kafka, file, console, list, python, jdbc, delta, hive, http."""
        return self._end("sinks", id, {"type": type, **options})

    def forward(self, id: str = "", **common: Unpack[Common]) -> Self:
        """Passes every row on as it is."""
        return self._operator("forward", id, {}, common)

    def add(self, id: str = "", *, value: int | float | None = None, column: str | None = None, **common: Unpack[Common]) -> Self:
        """Adds a constant to a number. Whole numbers stay whole, text stays text: '41' gives '42'."""
        return self._operator("add", id, {"value": value, "column": column}, common)

    def filter(self, id: str = "", *, where: str, **common: Unpack[Common]) -> Self:
        """Passes the rows for which a condition is true."""
        return self._operator("filter", id, {"where": where}, common)

    def map(self, id: str = "", *, columns: Mapping[str, str], **common: Unpack[Common]) -> Self:
        """Sets columns by expressions over the row as it came; all other columns stay."""
        return self._operator("map", id, {"columns": columns}, common)

    def select(self, id: str = "", *, columns: Sequence[str] | Mapping[str, str], **common: Unpack[Common]) -> Self:
        """Exactly these columns, in this order; no others."""
        return self._operator("select", id, {"columns": columns}, common)

    def drop(self, id: str = "", *, columns: Sequence[str], **common: Unpack[Common]) -> Self:
        """Leaves columns out."""
        return self._operator("drop", id, {"columns": columns}, common)

    def rename(self, id: str = "", *, columns: Mapping[str, str], **common: Unpack[Common]) -> Self:
        """Gives columns other names; their order stays."""
        return self._operator("rename", id, {"columns": columns}, common)

    def cast(self, id: str = "", *, columns: Mapping[str, str], **common: Unpack[Common]) -> Self:
        """Converts columns to other types, as Spark's CAST does."""
        return self._operator("cast", id, {"columns": columns}, common)

    def fill(self, id: str = "", *, columns: Mapping[str, bool | int | float | str] | None = None, value: bool | int | float | str | None = None, **common: Unpack[Common]) -> Self:
        """Replaces nulls by a value."""
        return self._operator("fill", id, {"columns": columns, "value": value}, common)

    def flatten(self, id: str = "", *, columns: str | Sequence[str] | None = None, separator: str | None = None, levels: int | None = None, **common: Unpack[Common]) -> Self:
        """Makes columns of the fields of structs, in the place of the struct; where a struct is null, they are. Where columns are not declared, every map in a row is taken for a struct."""
        return self._operator("flatten", id, {"columns": columns, "separator": separator, "levels": levels}, common)

    def explode(self, id: str = "", *, column: str, as_: str | None = None, outer: bool | None = None, **common: Unpack[Common]) -> Self:
        """A row for each element of an array column, as `flat_map` makes them."""
        return self._operator("explode", id, {"column": column, "as": as_, "outer": outer}, common)

    def flat_map(self, id: str = "", *, explode: str, as_: str | None = None, outer: bool | None = None, **common: Unpack[Common]) -> Self:
        """A row for each element of an array; the other columns are repeated."""
        return self._operator("flat_map", id, {"explode": explode, "as": as_, "outer": outer}, common)

    def mask(self, id: str = "", *, columns: Mapping[str, str], salt: str | None = None, replacement: str | None = None, **common: Unpack[Common]) -> Self:
        """Hashes, redacts or shortens columns; what was null stays null, and a masked column is text. Equal values have equal hashes, so that they can still be counted and joined."""
        return self._operator("mask", id, {"columns": columns, "salt": salt, "replacement": replacement}, common)

    def sample(self, id: str = "", *, fraction: float, by: str | Sequence[str], seed: str | None = None, **common: Unpack[Common]) -> Self:
        """Passes the rows of a share of keys, chosen by their hash: the same ones on every machine, on both hosts, and when a batch is repeated."""
        return self._operator("sample", id, {"fraction": fraction, "by": by, "seed": seed}, common)

    def key_by(self, id: str = "", *, key: str | Sequence[str], **common: Unpack[Common]) -> Self:
        """Gives rows a new key: one value as text, several as a JSON array; a null key where the one value is null. Rows stay as they are."""
        return self._operator("key_by", id, {"key": key}, common)

    def branch(self, id: str = "", *, outputs: Sequence[Mapping[str, Any]], default: str | None = None, **common: Unpack[Common]) -> Self:
        """Sends each row to the first output whose condition is true."""
        return self._operator("branch", id, {"outputs": outputs, "default": default}, common)

    def union(self, id: str = "", **common: Unpack[Common]) -> Self:
        """Brings several inputs together; rows pass as they are, in the order they come."""
        return self._operator("union", id, {}, common)

    def validate(self, id: str = "", *, rules: Mapping[str, str], **common: Unpack[Common]) -> Self:
        """Passes rows that keep every rule; a row for which one is not true fails, and goes the way of `on_error`."""
        return self._operator("validate", id, {"rules": rules}, common)

    def python(self, id: str = "", *, function: Code | None = None, class_: Code | None = None, per: Literal["record", "bulk"] | None = None, args: Mapping[str, Any] | None = None, key: str | Sequence[str] | None = None, outputs: Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, returns: Mapping[str, str] | None = None, **common: Unpack[Common]) -> Self:
        """Calls Python code. A dict is one row, None drops the record, a list or generator is several rows, a Record sets key, headers or timestamp too. A class may have open() and close()."""
        return self._operator("python", id, {"function": function, "class": class_, "per": per, "args": args, "key": key, "outputs": outputs, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "returns": returns}, common)

    def sql(self, id: str = "", *, query: str, udfs: Mapping[str, Mapping[str, Any]] | None = None, watermark: Mapping[str, Any] | None = None, mode: Literal["", "append", "update"] | None = None, **common: Unpack[Common]) -> Self:
        """Any SQL of Spark. Without `from` it reads the sources and operators that the query names. A SELECT of one table with columns and a WHERE alone works row by row: key, time and headers of a record stay."""
        return self._operator("sql", id, {"query": query, "udfs": udfs, "watermark": watermark, "mode": mode}, common)

    def aggregate(self, id: str = "", *, columns: Mapping[str, str], by: Sequence[str] | None = None, window: Mapping[str, Any] | None = None, watermark: Mapping[str, Any] | None = None, mode: Literal["", "append", "update"] | None = None, **common: Unpack[Common]) -> Self:
        """Brings rows together by columns and by windows of time: one row for each."""
        return self._operator("aggregate", id, {"columns": columns, "by": by, "window": window, "watermark": watermark, "mode": mode}, common)

    def sort(self, id: str = "", *, by: str | Sequence[str], **common: Unpack[Common]) -> Self:
        """Brings the rows of each batch into order before they are written. A stream has no end, so no order holds beyond a batch; each partition of a batch is sorted for itself, as it is written for itself."""
        return self._operator("sort", id, {"by": by}, common)

    def distinct(self, id: str = "", *, columns: Sequence[str] | None = None, **common: Unpack[Common]) -> Self:
        """Each combination of values once, for ever; no other columns."""
        return self._operator("distinct", id, {"columns": columns}, common)

    def deduplicate(self, id: str = "", *, columns: Sequence[str] | None = None, within_watermark: bool | None = None, message_id: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, **common: Unpack[Common]) -> Self:
        """Passes one row of each combination of values, whole; later ones are left out. It runs in a query; with `message_id` in tasks, at once, and a record that passes keeps its headers and its time."""
        return self._operator("deduplicate", id, {"columns": columns, "within_watermark": within_watermark, "message_id": message_id, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict}, common)

    def join(self, id: str = "", *, on: str | Sequence[str], kind: Literal["inner", "left", "right", "full", "semi"] | None = None, within: Duration | None = None, time: Sequence[str] | None = None, **common: Unpack[Common]) -> Self:
        """Rows of two inputs that belong together, side by side; of `from: [left, right]`, each a stream or a static file. If the right is a table (`tables`), each row gets what the table has for it at that moment, and `on` names the columns that hold the table's key. Streams are joined in a query; in tasks, where `on` names columns, `within` is there, and the columns of `time` are those of the sources' watermarks: a row without a partner leaves when the watermark has passed its interval, one behind the watermark is left out, and one without a key goes the way of `on_error`."""
        return self._operator("join", id, {"on": on, "kind": kind, "within": within, "time": time}, common)

    def count(self, id: str = "", *, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, keep: str | Sequence[str] | None = None, as_: str | None = None, **common: Unpack[Common]) -> Self:
        """The running number of records of each key: a row for each record."""
        return self._operator("count", id, {"key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "keep": keep, "as": as_}, common)

    def sum(self, id: str = "", *, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, keep: str | Sequence[str] | None = None, as_: str | None = None, of: str | None = None, count: str | None = None, **common: Unpack[Common]) -> Self:
        """The running sum of a column for each key: a row for each record. Nulls count for nothing; whole numbers and decimals are added up exactly; of text, a value that is no number fails the record."""
        return self._operator("sum", id, {"key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "keep": keep, "as": as_, "of": of, "count": count}, common)

    def min(self, id: str = "", *, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, keep: str | Sequence[str] | None = None, as_: str | None = None, of: str | None = None, **common: Unpack[Common]) -> Self:
        """The least value of a column so far for each key: a row for each record. Nulls count for nothing; text rows hold numbers, and one that holds none fails."""
        return self._operator("min", id, {"key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "keep": keep, "as": as_, "of": of}, common)

    def max(self, id: str = "", *, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, keep: str | Sequence[str] | None = None, as_: str | None = None, of: str | None = None, **common: Unpack[Common]) -> Self:
        """The greatest value of a column so far for each key: a row for each record. Nulls count for nothing; text rows hold numbers, and one that holds none fails."""
        return self._operator("max", id, {"key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "keep": keep, "as": as_, "of": of}, common)

    def reduce(self, id: str = "", *, with_: str, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, keep: str | Sequence[str] | None = None, as_: str | None = None, init: bool | int | float | str | None = None, **common: Unpack[Common]) -> Self:
        """A running value for each key, which an SQL expression makes from the one before (`acc`) and the record: a row for each record."""
        return self._operator("reduce", id, {"with": with_, "key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "keep": keep, "as": as_, "init": init}, common)

    def average(self, id: str = "", *, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, keep: str | Sequence[str] | None = None, as_: str | None = None, of: str | None = None, window: Duration | None = None, every: Duration | None = None, time: str | None = None, **common: Unpack[Common]) -> Self:
        """The average of a column for each key, a row for each record: of all so far, or of the window that the record falls in; where windows slide, of the one that ends with its step. Nulls count for nothing. A window of event time is over when the watermark has passed it, or, where no source has a watermark, a newer record of the key; a record that comes later counts nowhere, and gives no row."""
        return self._operator("average", id, {"key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "keep": keep, "as": as_, "of": of, "window": window, "every": every, "time": time}, common)

    def latest(self, id: str = "", *, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, time: str | None = None, **common: Unpack[Common]) -> Self:
        """Keeps the last record of each key, and passes each that becomes it; older ones are left out. Of two of the same time the one that comes later is the last."""
        return self._operator("latest", id, {"key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict, "time": time}, common)

    def limit(self, id: str = "", *, rows: int, key: str | Sequence[str] | None = None, ttl: Duration | None = None, ttl_time: Literal["processing", "event"] | None = None, max_keys: int | None = None, max_bytes: Size | None = None, evict: Literal["oldest"] | None = None, **common: Unpack[Common]) -> Self:
        """Passes the first rows of each key and leaves out those behind them, for ever or until `ttl` is over. For so many of all rows together, give them one key before: `{type: key_by, key: "'all'"}`."""
        return self._operator("limit", id, {"rows": rows, "key": key, "ttl": ttl, "ttl_time": ttl_time, "max_keys": max_keys, "max_bytes": max_bytes, "evict": evict}, common)

    def sessionize(self, id: str = "", *, gap: Duration, key: str | Sequence[str] | None = None, time: str | None = None, aggregates: Mapping[str, str] | None = None, **common: Unpack[Common]) -> Self:
        """Brings records of a key together that come close after each other: a row when nothing has come for the length of `gap`, with the key's columns, `session_start` and `session_end` (the times of the first record and the last), `count`, and aggregates. In event time a session ends when the watermark, or, where no source has a watermark, a newer record of the key has passed its gap; a record between two sessions makes them one, and a record of a session that has ended counts nowhere."""
        return self._operator("sessionize", id, {"gap": gap, "key": key, "time": time, "aggregates": aggregates}, common)

    def connected_components(self, id: str = "", *, source: str | None = None, target: str | None = None, **common: Unpack[Common]) -> Self:
        """Which vertices hang together: keeps for each the smallest vertex that it hangs together with, whatever way edges lead. Edges are added for ever; components grow together as they come."""
        return self._operator("connected_components", id, {"source": source, "target": target}, common)

    def shortest_paths(self, id: str = "", *, root: int | str, source: str | None = None, target: str | None = None, directed: bool | None = None, weight: str | None = None, **common: Unpack[Common]) -> Self:
        """The distance of each vertex from one of them, as far as it can be reached; it becomes shorter as edges come."""
        return self._operator("shortest_paths", id, {"root": root, "source": source, "target": target, "directed": directed, "weight": weight}, common)

    def reachability(self, id: str = "", *, roots: str | Sequence[int | str], source: str | None = None, target: str | None = None, directed: bool | None = None, **common: Unpack[Common]) -> Self:
        """From which of some vertices each can be reached; ever more of them as edges come."""
        return self._operator("reachability", id, {"roots": roots, "source": source, "target": target, "directed": directed}, common)

    def pagerank(self, id: str = "", *, source: str | None = None, target: str | None = None, directed: bool | None = None, weight: str | None = None, damping: float | None = None, tolerance: float | None = None, **common: Unpack[Common]) -> Self:
        """The rank of each vertex by the ranks of those that lead to it. Divided by the sum of all, ranks are shares; they are followed as edges come, without computing anything anew."""
        return self._operator("pagerank", id, {"source": source, "target": target, "directed": directed, "weight": weight, "damping": damping, "tolerance": tolerance}, common)

    def label_propagation(self, id: str = "", *, source: str | None = None, target: str | None = None, weight: str | None = None, changes: int | None = None, **common: Unpack[Common]) -> Self:
        """Communities: each vertex takes the label that most of its neighbours have, by weight."""
        return self._operator("label_propagation", id, {"source": source, "target": target, "weight": weight, "changes": changes}, common)
