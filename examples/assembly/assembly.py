"""What must be bought to build what was ordered: a part that is made of others is replaced by them, until nothing is made of anything."""

from __future__ import annotations

from whorl import Context, KeyedOperator, Row


class Explode(KeyedOperator):
    """Its output `parts` leads back to itself; there the parts meet their own recipes."""

    def process(self, key: str, record: Row, context: Context) -> None:
        recipe = context.table("recipes")
        if recipe is None:
            context.emit(record, to="bought")
            return
        for part, count in recipe["needs"].items():
            context.emit({**record, "part": part, "count": record["count"] * count}, to="parts")
