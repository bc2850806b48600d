"""SQL of a query, looked at without Spark: statements, tables, columns, and what must not be in them."""

from whorl.operators.sql.shape import INPUT, SqlShape, TableName, shape, wrong_statement

__all__ = ["INPUT", "SqlShape", "TableName", "shape", "wrong_statement"]
