"""Makes card transactions as JSON lines, the same ones for the same seed: python generate.py [COUNT] [SEED]

Some are large, some come from countries that are watched, some cards pay many times within a minute; some records come late, twice, or make no sense.
"""

import json
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHOPS = ("grocer", "fuel", "books", "casino", "travel")


def transactions(count: int, seed: int = 11) -> Iterator[dict]:
    chance = random.Random(seed)
    now = START
    for n in range(count):
        now += timedelta(seconds=chance.expovariate(0.5))
        card = f"c-{chance.randrange(40):03}" if chance.random() > 0.15 else "c-007"
        late = timedelta(seconds=chance.choice([0, 0, 0, 8]))
        row = {
            "id": n,
            "card": card,
            "amount": -1.0 if n % 97 == 96 else round(chance.lognormvariate(3.5, 1.3), 2),
            "country": chance.choice(["NL", "DE", "FR", "XK"] if n % 9 == 0 else ["NL", "DE", "FR"]),
            "shop": chance.choice(SHOPS),
            "at": (now - late).isoformat().replace("+00:00", "Z"),
        }
        yield row
        if n % 50 == 49:
            yield row  # sent twice


if __name__ == "__main__":
    for row in transactions(
        int(sys.argv[1]) if len(sys.argv) > 1 else 500, int(sys.argv[2]) if len(sys.argv) > 2 else 11
    ):
        print(json.dumps(row))
