"""The short form of a pipeline file: a list of processors `{id, type, to}` beside a `config.yaml`.

A processor to which no arc leads reads `source_topic`; the word `sink` in `to` writes `sink_topic`. Values are text.
`sum` adds the constant `value` (1) to the number in the message: the full form calls that `add`. `parallelism` is the
setting `tasks`, any other setting may stand in config.yaml too, and arcs that are topics have no prefix.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pydantic import ConfigDict, Field

from whorl.config.document import Document, read
from whorl.config.fields import Topic
from whorl.config.full import Name, Reader, duplicates
from whorl.config.sinks import KafkaSink
from whorl.config.sources import KafkaSource
from whorl.config.spec import Link, OperatorSpec, PipelineSpec, SinkSpec, SourceSpec
from whorl.config.tree import Tree, empty, merge
from whorl.config.validation import names_of, validate
from whorl.errors import Finding, Location
from whorl.formats import parse_format
from whorl.operators.operator import Options

CONFIG = "config.yaml"
SOURCE, SINK = "source", "sink"


class ShortConfig(Options):
    """What config.yaml holds beside settings."""

    model_config = ConfigDict(extra="ignore")

    name: Name | None = Field(default=None, description="the pipeline's name; without it the file's")
    source_topic: Topic = Field(description="what processors read to which no arc leads")
    sink_topic: Topic = Field(description="what `to: sink` writes")
    parallelism: int | None = Field(default=None, ge=1, description="the setting `tasks`")


SHORT_KEYS = tuple(names_of(ShortConfig))


def read_short(
    document: Document, default_name: str, variables: Mapping[str, str]
) -> tuple[PipelineSpec, Tree, list[Finding]]:
    """The spec, its layer of settings, and what is wrong."""
    root, config, findings = _config(os.path.join(os.path.dirname(document.file), CONFIG), variables)
    settings = _settings(root, config)
    reader = Reader(document.tree)
    operators = reader.operators(document.tree, ())
    spec = PipelineSpec(
        name=config.name if config and config.name else default_name,
        sources=(_source(config, root),),
        operators=tuple(_reading_source(_renamed(operator), operators) for operator in operators),
        sinks=(_sink(config, root),),
        settings=settings.plain(),
        file=document.file,
    )
    return spec, merge(_defaults(document), settings), [*findings, *reader.findings, *duplicates(spec)]


def _config(file: str, variables: Mapping[str, str]) -> tuple[Tree, ShortConfig | None, list[Finding]]:
    document = read(file, variables)
    root, findings = document.tree, list(document.findings)
    if not isinstance(root.value, dict):
        hint = "write `source_topic: ...` and `sink_topic: ...`"
        return empty(file), None, [*findings, Finding("value", f"'{file}' is not a map", hint, root.at)]
    if any(finding.code in ("file", "yaml") for finding in findings):
        return root, None, findings
    config, wrong = validate(ShortConfig, root, root.at, f"'{file}'")
    return root, config, findings + wrong


def _source(config: ShortConfig | None, root: Tree) -> SourceSpec:
    options = KafkaSource(topic=config.source_topic, format=parse_format("text")) if config else None
    return SourceSpec(id=SOURCE, type="kafka", options=options, at=root.key_at(("source_topic",)))


def _sink(config: ShortConfig | None, root: Tree) -> SinkSpec:
    options = KafkaSink(topic=config.sink_topic, format=parse_format("text")) if config else None
    return SinkSpec(id=SINK, type="kafka", options=options, at=root.key_at(("sink_topic",)))


def _renamed(operator: OperatorSpec) -> OperatorSpec:
    if operator.type != "sum":
        return operator
    return operator.model_copy(update={"type": "add", "options": {"value": 1, **operator.options}})


def _reading_source(operator: OperatorSpec, operators: list[OperatorSpec]) -> OperatorSpec:
    pointed = {link.id for other in operators for link in other.to}
    if operator.from_ or operator.id in pointed:
        return operator
    return operator.model_copy(update={"from_": (Link(id=SOURCE),)})


def _settings(root: Tree, config: ShortConfig | None) -> Tree:
    parallelism = root.child("parallelism")
    layer = root.without(*SHORT_KEYS)
    if parallelism is None or config is None or config.parallelism is None:
        return layer
    at = root.keys["parallelism"]
    return merge(Tree({"tasks": parallelism}, at, {"tasks": at}), layer)


def _defaults(document: Document) -> Tree:
    at = Location(document.file)
    return Tree({"topic_prefix": Tree(False, at)}, at, {"topic_prefix": at})
