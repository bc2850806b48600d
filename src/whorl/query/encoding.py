"""Rows that leave in a format that only Python writes. One that the format does not take has failed, as in any operator before it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from whorl.formats.options import AvroFormat, FormatOptions, ProtobufFormat, XmlFormat
from whorl.plan.plan import Output
from whorl.query.attempts import failure
from whorl.query.codecs import in_codec
from whorl.query.frames import ENCODED, ERROR, FAILED, columns, once
from whorl.query.steps import able_to_fail


def ready(frame: DataFrame, output: Output) -> DataFrame:
    """With what the output's codec makes of each row, where Spark cannot."""
    if not _in_python(output.format):
        return frame
    able = able_to_fail(frame)
    tried = able.withColumn(ENCODED, once(in_codec(able, output.format)))
    error = F.col(ENCODED).getField("error")
    kept = [name for name in tried.columns if name not in (ERROR, FAILED)]
    return tried.select(*columns(kept), *failure(tried, [(error.isNotNull(), error)], output.id, "dead_letter"))


def _in_python(format: FormatOptions) -> bool:
    match format:
        case AvroFormat(has_number=True) | ProtobufFormat() | XmlFormat():
            return True
        case _:
            return False
