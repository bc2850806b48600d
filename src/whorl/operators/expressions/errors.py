"""What is wrong with an expression, found when it is compiled: never while rows pass."""

from __future__ import annotations

from whorl.errors import PipelineError


class ExpressionError(PipelineError):
    """`code` is one of: expression (does not parse), column (no such column), unsupported (outside the subset, or types
    that do not fit), replay (gives another value when a record is processed again)."""

    code = "expression"
