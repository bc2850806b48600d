"""Event time, and how late a row may be, as sources and operators of queries declare it."""

from __future__ import annotations

from pydantic import Field

from whorl.operators.operator import Options
from whorl.units import Duration


class Watermark(Options):
    """How late a row may be: what is older than the newest by more than `delay` is late, and windows before that are final."""

    column: str = Field(description="the column of event time, a timestamp")
    delay: Duration = Field(default=10.0, ge=0, description="how far behind the newest row another may be")
    idle: Duration = Field(
        default=30.0,
        gt=0,
        description="of tasks: an input that is silent for so long holds back the time of others no more",
    )
