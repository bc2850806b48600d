"""Makes page views of a shop as JSON lines, the same ones for the same seed: python generate.py [COUNT] [SEED]"""

import json
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
PAGES = {"home": 8, "search": 5, "product": 6, "basket": 2, "checkout": 1}


def views(count: int, seed: int = 5) -> Iterator[dict]:
    chance = random.Random(seed)
    now = START
    for n in range(count):
        now += timedelta(milliseconds=chance.expovariate(0.02))
        (page,) = chance.choices(list(PAGES), list(PAGES.values()))
        paid = round(chance.lognormvariate(3.4, 0.7), 2) if page == "checkout" else 0.0
        visitor = f"v-{chance.randrange(200):03}"
        yield {
            "id": n,
            "page": page,
            "visitor": visitor,
            "millis": chance.randrange(20, 900),
            "paid": paid,
            "at": now.isoformat().replace("+00:00", "Z"),
        }


if __name__ == "__main__":
    for row in views(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, int(sys.argv[2]) if len(sys.argv) > 2 else 5):
        print(json.dumps(row))
