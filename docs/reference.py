"""The pipeline reference, made from the models that read pipeline files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from docs.models import markdown, table
from pydantic import BaseModel

from whorl.config.settings import Settings
from whorl.config.short import ShortConfig
from whorl.config.sinks import SINKS
from whorl.config.sources import SOURCES, Start, Watermark
from whorl.config.spec import Link, OperatorSpec, PipelineSpec, SinkSpec, SourceSpec
from whorl.formats import FORMATS
from whorl.operators import expressions
from whorl.operators.builtin import BUILTIN
from whorl.operators.builtin.aggregate import TimeWindow
from whorl.operators.builtin.branch import BranchOutput
from whorl.operators.builtin.sql import Udf
from whorl.operators.expressions import FUNCTIONS
from whorl.operators.expressions.registry import REPLAY
from whorl.operators.operator import ErrorPolicy
from whorl.schema import ALIASES, UNKNOWN
from whorl.testing.cases import Case, CaseFile, ExpectedDead

WITHOUT_EFFECT = {
    "engine": "every other word is refused, with the reason",
}
"""Settings that nothing reads yet."""

EXAMPLES = {
    "forward": "{id: copy, type: forward, from: payments}",
    "add": "{id: more, type: add, from: payments, column: amount, value: 10}",
    "filter": "{id: large, type: filter, from: payments, where: amount > 1000 AND country <> 'NL'}",
    "map": "{id: priced, type: map, from: payments, columns: {cents: 'CAST(round(amount * 100) AS bigint)', country: lower(country)}}",
    "select": "{id: short, type: select, from: payments, columns: [account, amount]}",
    "drop": "{id: less, type: drop, from: payments, columns: [country]}",
    "rename": "{id: named, type: rename, from: payments, columns: {account: customer}}",
    "cast": "{id: typed, type: cast, from: payments, columns: {amount: 'decimal(12,2)'}}",
    "fill": "{id: filled, type: fill, from: payments, columns: {country: unknown}}",
    "flatten": "{id: flat, type: flatten, from: payments, separator: '.'}",
    "explode": "{id: each, type: explode, from: payments, column: tags, as: tag}",
    "flat_map": "{id: tagged, type: flat_map, from: payments, explode: tags, as: tag}",
    "mask": "{id: masked, type: mask, from: payments, columns: {account: hash, country: redact}, salt: '${SALT:-pepper}'}",
    "sample": "{id: some, type: sample, from: payments, fraction: 0.1, by: account}",
    "key_by": "{id: keyed, type: key_by, from: payments, key: country}",
    "branch": "{id: size, type: branch, from: payments, outputs: [{name: large, where: amount > 1000}], default: small}",
    "union": "{id: all, type: union, from: [payments, refunds]}",
    "validate": "{id: sound, type: validate, from: payments, rules: {positive: amount > 0, named: account IS NOT NULL}, on_error: dead_letter}",
    "sql": "{id: spend, type: sql, query: 'SELECT country, sum(amount) AS total FROM payments GROUP BY country'}",
    "aggregate": "{id: spend, type: aggregate, from: payments, by: [country], columns: {total: sum(amount), n: count(*)}}",
    "sort": "{id: ordered, type: sort, from: payments, by: [account, amount desc]}",
    "distinct": "{id: countries, type: distinct, from: payments, columns: [country]}",
    "deduplicate": "{id: once, type: deduplicate, from: payments, columns: [account, amount]}",
    "join": "{id: named, type: join, from: [payments, customers], on: account, kind: left}",
    "count": "{id: seen, type: count, from: payments, key: account}",
    "sum": "{id: spent, type: sum, from: payments, key: account, of: amount, as: spent, count: payments}",
    "min": "{id: least, type: min, from: payments, key: account, of: amount}",
    "max": "{id: most, type: max, from: payments, key: account, of: amount, keep: country}",
    "reduce": "{id: decayed, type: reduce, from: payments, key: account, init: 0, with: acc * 0.9 + amount, as: level}",
    "average": "{id: usual, type: average, from: payments, key: account, of: amount, window: 1m, every: 10s}",
    "latest": "{id: last, type: latest, from: payments, key: account, ttl: 30d}",
    "limit": "{id: first, type: limit, from: payments, key: account, rows: 3, ttl: 1d}",
    "sessionize": "{id: visits, type: sessionize, from: payments, key: account, gap: 30m, aggregates: {spent: sum(amount), last: last(country)}}",
    "connected_components": "{id: rings, type: connected_components, from: payments, source: account, target: country, publish: rings}",
    "shortest_paths": "{id: near, type: shortest_paths, from: payments, source: account, target: country, weight: amount, root: a1}",
    "reachability": "{id: reached, type: reachability, from: payments, source: account, target: country, roots: [a1, a2]}",
    "pagerank": "{id: ranks, type: pagerank, from: payments, source: account, target: country, weight: amount}",
    "label_propagation": "{id: groups, type: label_propagation, from: payments, source: account, target: country}",
    "python": "{id: judge, type: python, from: payments, function: judging.judge}",
}
"""One for each operator, over rows {account, amount, country, tags}; the tests check each."""

_PARTS = {
    "branch": [("Each of `outputs`:", BranchOutput)],
    "sql": [("Each of `udfs`:", Udf)],
    "aggregate": [("`window`:", TimeWindow)],
}
"""Maps inside the options of operators."""

_HEAD = """\
<!-- Written by `python -m docs.generate`; change the models, not this page. -->
# Pipeline reference

A pipeline is a YAML file. This page is made from the models that read it; `whorl check FILE` says what does not fit, with its line.

```yaml
name: payments
sources:
  payments: {type: kafka, topic: payments, key: account, schema: {account: string, amount: double}}
operators:
  - {id: large, type: filter, from: payments, where: amount > 1000}
sinks:
  flagged: {type: kafka, topic: flagged, from: large}
settings:
  tasks: 2
```

In every value `${NAME}` is an environment variable and `${NAME:-default}` one with a default; `$${` is a plain `${`. Inside `{…}` and
`[…]` it needs quotes. A duration is a number with its unit (`100ms`, `5s`, `1h30m`), a size likewise (`512KB`, `64MB`).
"""

_FILE = {
    "name": "text",
    "sources": "{id: map}",
    "tables": "{id: map}",
    "operators": "list of maps",
    "sinks": "{id: map}",
    "settings": "map",
    "include": "path, or a list",
}

_EDGES = """\
## Edges

An edge is written at one of its ends: `from` names what is read, `to` who reads. An id holds no dot; `from: size.large` reads the output
`large` of the operator `size`. Who says nothing reads what stands before: the first operator the only source, an operator the one written
before it, a sink the last operator. Where that would be a guess, `whorl check` asks.

An end is an id, `id.output`, a list of them, or a map:

"""

_ON_ERROR = """\
## When a record fails

`on_error` of a source or operator: a word (`on_error: skip`), or a map. A record is processed whole or not at all: if any operator fails on
it, nothing of it is written anywhere, and the policy of the operator (or source) that failed decides.

"""

_RETRY = """
User code that finds something outside down raises `whorl.Retry(after=5.0)`: that partition waits so many seconds and tries the record again,
as often as it takes, whatever `on_error` says. Other partitions go on.
"""

_SETTINGS = """\
## Settings

From weak to strong: the defaults here, `whorl.yaml` beside the pipeline or in a folder above it, its profile (`--profile NAME` or
`WHORL_PROFILE`), the pipeline's `settings`, `--set name=value`. Maps are merged key by key. `whorl plan FILE --settings` shows each value
and where it came from. [All of them, each with its unit and test](settings.md).

```yaml
# whorl.yaml
commit_interval: 50ms
profiles:
  staging: {broker: "${KAFKA:-localhost:9092}", create_topics: false}
```

"""

_SHORT = """\
## The short form

A bare list of processors `{id, type, to}`, beside a `config.yaml`. A processor to which no arc leads reads `source_topic`; the word `sink`
in `to` writes `sink_topic`. Values are text. `type` is any operator; `sum` adds `value` (1) to the number in the message, which the full
form calls `add`. `config.yaml` holds the keys below and any setting.

"""

_CASES = """\
## Test cases

`whorl test pipeline.yaml` runs the cases in `pipeline.test.yaml` and in `tests/*.yaml` beside it, through the same task loop as on Spark, with a broker in
memory. [The greenhouse's](../examples/greenhouse/pipeline.test.yaml) are an example. In Python, `whorl.testing.PipelineHarness` does the same.

"""


def page() -> str:
    return "\n".join(
        [_HEAD, *_file(), _EDGES + table(Link), *_sources(), *_operators(), *_sinks(), *_formats(), *_errors(), *_types(), *_sql(),
         *_settings(), _SHORT + table(ShortConfig), *_cases()]
    )  # fmt: skip


def _file() -> Iterator[str]:
    told = {name: field.description or "" for name, field in PipelineSpec.model_fields.items()}
    told["tables"] = (
        "topics of which operators with state look up the last row of their key, by id: a kafka source's options"
    )
    told["include"] = "files whose content lies under this one's; their operators come first"
    yield "## The file\n"
    yield markdown(("key", "value", "meaning"), [(f"`{name}`", value, told[name]) for name, value in _FILE.items()])


def _sources() -> Iterator[str]:
    yield "## Sources\n\n`sources:` is a map from id to options. Every source has:\n"
    yield table(SourceSpec, without=["id", "path", "at", "options", "type"])
    for name, model in SOURCES.items():
        yield f"### {name} source\n\n{_told(model)}\n"
        yield table(model, without=["type"])
    yield "`start` is a word or a map. It counts at a pipeline's first start only; afterwards its own positions do.\n"
    yield table(Start)
    yield f"`watermark` of a source or operator. {_told(Watermark)}\n"
    yield table(Watermark)


def _operators() -> Iterator[str]:
    yield "## Operators\n\n`operators:` is a list. Every operator has:\n"
    yield table(OperatorSpec, without=["path", "at", "options"])
    yield markdown(("type", "what it does"), [(f"[`{o.type}`](#{o.type})", o.summary) for o in BUILTIN])
    for operator in BUILTIN:
        yield f"### {operator.type}\n\n{operator.summary}\n\n```yaml\n- {EXAMPLES[operator.type]}\n```\n"
        yield table(operator.Options) or "It has no options of its own.\n"
        for told, model in _PARTS.get(operator.type, ()):
            yield f"{told}\n"
            yield table(model)


def _sinks() -> Iterator[str]:
    yield "## Sinks\n\n`sinks:` is a map from id to options. Every sink has:\n"
    yield table(SinkSpec, without=["id", "path", "at", "options", "type"])
    for name, model in SINKS.items():
        yield f"### {name} sink\n\n{_told(model)}\n"
        yield table(model, without=["type"]) or "It has no options of its own.\n"


def _formats() -> Iterator[str]:
    yield '## Formats\n\n`format: json`, or a map with its options: `format: {type: csv, delimiter: ";"}`.\n'
    for name, model in FORMATS.items():
        if name != "rows":
            yield f"### {name} format\n\n{_told(model)}\n"
            yield table(model, without=["type"]) or "It has no options.\n"


def _errors() -> Iterator[str]:
    yield _ON_ERROR + table(ErrorPolicy) + _RETRY


def _types() -> Iterator[str]:
    others = {
        kind: sorted(word for word, is_ in ALIASES.items() if is_ == kind != word)
        for kind in dict.fromkeys(ALIASES.values())
    }
    rows = [
        (f"`{kind}`", ", ".join(f"`{word}`" for word in words)) for kind, words in others.items() if kind != UNKNOWN
    ]
    yield "## Types\n\nSpark's names. Also `decimal(p,s)`, `array<t>`, `map<k,v>` and `struct<name:type,…>`, nested at will.\n"
    yield markdown(("type", "also written"), rows)


def _sql() -> Iterator[str]:
    law, subset, values = inspect.getdoc(expressions).split("\n\n")[1:4]  # type: ignore[union-attr]
    yield "## SQL expressions\n"
    yield _paragraph(law.partition("The law: ")[2][0].upper() + law.partition("The law: ")[2][1:])
    yield _paragraph(_as_code(subset).replace("the functions in `FUNCTIONS`", "the functions below"))
    yield _paragraph(values)
    yield markdown(("function", "what it gives"), sorted((f"`{f.signature}`", f.summary) for f in FUNCTIONS.values()))
    yield f"Refused, since their value changes when a record is processed again: {', '.join(f'`{name}`' for name in sorted(REPLAY))}.\n"


def _as_code(subset: str) -> str:
    """Operators in backticks, since Markdown would take `*` and `<` for its own."""
    parts = [part.strip() for part in subset.split(";")]
    return "; ".join(
        f"`{part}`" if "`" not in part and not any(map(str.isalpha, part.replace("div", ""))) else part
        for part in parts
    )


def _settings() -> Iterator[str]:
    yield _SETTINGS + table(Settings, notes=WITHOUT_EFFECT)
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield f"`{name}`:\n"
            yield table(field.annotation)


def _cases() -> Iterator[str]:
    yield _CASES + table(CaseFile)
    yield "A case:\n"
    yield table(Case)
    yield "Each of `expect_dead`:\n"
    yield table(ExpectedDead)


def _told(model: type) -> str:
    return inspect.getdoc(model) or ""


def _paragraph(text: str) -> str:
    return " ".join(text.split()) + "\n"
