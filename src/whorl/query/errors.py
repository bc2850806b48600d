"""What Spark says is wrong, as Whorl says it: the line in the pipeline, Spark's error class, the column; never a trace of the JVM."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException

from whorl.errors import Location, OperatorFailed, PipelineError, Superseded, Unavailable, WhorlError
from whorl.operators.operator import OperatorType
from whorl.plan.plan import Component
from whorl.query.failing import MARK

Path = tuple[str | int, ...]
Places = Callable[[str, Path, int], Location | None]
"""(node, path inside its options, offset in the text there) to where that is in the pipeline file."""
Text = tuple[str, Path, str]
"""(node, path inside its options, what is written there)."""

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ?")
_WRAPPERS = (
    "STREAM_FAILED",
    "FAILED_EXECUTE_UDF",
    "TASK_WRITE_FAILED",
    "INTERNAL_ERROR",
    "FOREACH_BATCH_USER_FUNCTION_ERROR",
)
_DATA_LOSS = "KAFKA_DATA_LOSS"
_TWO_DRIVERS = "CONCURRENT_STREAM_LOG_UPDATE"
_FAILED = re.compile(MARK + r" \{(.*?)\} \{(.*?)\} ([^\n]*)")
_UNDERLINED = re.compile(r"== SQL .*?\(line (\d+), position (\d+)\) ==\n(.*?)\n *\^+", re.DOTALL)
_AT = re.compile(r"\(line (\d+), pos (\d+)\)")
_PYTHON = re.compile(r"^((?:\w+\.)*\w+(?:Error|Exception)): (.*)$", re.MULTILINE)
_END = re.compile(r" ?SQLSTATE: |\n== |\n\tat |\nJVM stacktrace|\n\n|\nDriver stacktrace")
_OWN_COLUMN = re.compile(r"`__whorl_\w+`(?:, )?")
_AWAY = (
    "TimeoutException",
    "DisconnectException",
    "No resolvable bootstrap",
    "NotLeaderOrFollower",
    "ConnectException",
)

# PySpark also logs every error of analysis, as JSON.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).setLevel(logging.CRITICAL)


@contextmanager
def told(id: str, component: Component, places: Places) -> Iterator[None]:
    """What Spark raises inside is the fault of this node."""
    try:
        yield
    except PySparkException as error:
        raise as_whorl_error(error, component, places, only=id) from error


def as_whorl_error(error: BaseException, component: Component, places: Places, only: str = "") -> WhorlError:
    """`only`: the node that is known to be at fault."""
    if isinstance(error, WhorlError):
        return error
    text = str(error)
    if failed := _FAILED.search(text):
        operator, position, message = failed.groups()
        return OperatorFailed(operator, _plain(message), position=position)
    sentence = _sentence(text)
    if _DATA_LOSS in sentence or "failOnDataLoss" in text:
        return _lost(sentence)
    if _TWO_DRIVERS in sentence:
        return Superseded(f"another driver runs '{component.id}' now", hint="this one ends; nothing was written twice")
    texts = [each for each in _texts(component) if only in ("", each[0])]
    found = _place(error, text, texts)
    if sentence.startswith("[") or only:
        return _wrong(sentence, found or ((only, (), 0) if only else None), places)
    if raised := _raised_by_user(text, component):
        return PipelineError(f"Python code in '{component.id}' raised {raised}", code="udf")
    return _away(sentence, text, component)


def _wrong(sentence: str, found: tuple[str, Path, int] | None, places: Places) -> PipelineError:
    if found is None:
        return PipelineError(sentence, code="spark-sql")
    at = places(*found)
    return PipelineError(f"'{found[0]}': {sentence}", where=str(at) if at else "", code="spark-sql")


def _raised_by_user(text: str, component: Component) -> str:
    """What the user's own code raised in a Python worker; our writer runs in one, too."""
    has_code = any(list(operator.import_paths()) for operator in _operators(component))
    found = _PYTHON.findall(text) if has_code and "Traceback (most recent call last)" in text else []
    return ": ".join(found[-1]) if found and not found[-1][0].startswith(("whorl.", "cimpl.")) else ""


def _lost(sentence: str) -> Unavailable:
    """The next start counts what is gone, and goes on or ends as `on_gap` says."""
    hint = "records are gone before they were read: start anew with 'whorl run --fresh', or raise the topic's retention"
    return Unavailable(sentence, hint=hint, code="data-lost")


def _away(sentence: str, text: str, component: Component) -> WhorlError:
    """Something around the query failed; whatever it is, a new start may help."""
    broker = any(word in text for word in _AWAY)
    hint = "is the broker up?" if broker else "--verbose shows what Spark says"
    return Unavailable(
        f"the query '{component.id}' failed: {sentence}", hint=hint, code="unavailable" if broker else "spark"
    )


# -- the sentence ---------------------------------------------------------------------------------------------------------------------


def _sentence(text: str) -> str:
    """Spark's error class and what it says of it; without a class, the first line that says something."""
    for match in _CLASS.finditer(text):
        if match[1].split(".")[0] not in _WRAPPERS:
            return _plain(text[match.start() :])
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("\tat", "Traceback"))]
    return _plain(lines[0]) if lines else "no reason given"


def _plain(text: str) -> str:
    whole = _OWN_COLUMN.sub("", _END.split(text, maxsplit=1)[0])
    return re.sub(r"\s+", " ", whole.replace(", ]", "]")).strip()


# -- the place ------------------------------------------------------------------------------------------------------------------------


def _texts(component: Component) -> list[Text]:
    """Every piece of text in the options of its operators, expressions first."""
    texts: list[Text] = []
    for placed, operator in zip(component.operators, _operators(component), strict=True):
        texts += [(placed.node.id, tuple(path), sql) for path, sql in operator.expressions()]
        texts += [(placed.node.id, path, leaf) for path, leaf in _leaves(operator.options.model_dump(by_alias=True))]
    return texts


def _operators(component: Component) -> list[OperatorType]:
    return [placed.node.what for placed in component.operators if isinstance(placed.node.what, OperatorType)]


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, (*path, name))
    elif isinstance(value, Sequence):
        for index, each in enumerate(value):
            yield from _leaves(each, (*path, index))


def _place(error: BaseException, text: str, texts: Sequence[Text]) -> tuple[str, Path, int] | None:
    """Where the SQL stands that Spark speaks of: it names a start and a fragment, or a line and a position in it."""
    for start, fragment in _fragments(error):
        if found := _find(texts, start, fragment):
            return found
    if underlined := _UNDERLINED.search(text):
        line, position, shown = int(underlined[1]), int(underlined[2]), underlined[3].split("\n")
        return _on_line(texts, line, position - 1, shown[0].strip("."))
    if at := _AT.search(text):
        return _on_line(texts, int(at[1]), int(at[2]), "")
    return None


def _fragments(error: BaseException) -> list[tuple[int, str]]:
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else None
    return [(each.startIndex(), each.fragment()) for each in contexts or [] if each.contextType().name == "SQL"]


def _find(texts: Sequence[Text], start: int, fragment: str) -> tuple[str, Path, int] | None:
    for node, path, text in texts:
        if fragment and text.startswith(fragment, start):
            return node, path, start
    # A query that works row by row is taken apart, and each part is counted from its own start.
    for node, path, text in texts:
        if fragment and fragment in text:
            return node, path, text.index(fragment)
    return None


def _on_line(texts: Sequence[Text], line: int, position: int, shown: str) -> tuple[str, Path, int] | None:
    for node, path, text in texts:
        lines = text.split("\n")
        if len(lines) >= line and shown in lines[line - 1] and position <= len(lines[line - 1]):
            return node, path, sum(len(each) + 1 for each in lines[: line - 1]) + position
    return None
