"""Makes payments as JSON lines, the same ones for the same seed: python generate.py [COUNT] [SEED]"""

import json
import random
import sys


def payments(count: int, seed: int = 7):
    chance = random.Random(seed)
    for n in range(count):
        amount = round(chance.lognormvariate(5.5, 1.2), 2)
        yield {
            "account": f"acc-{chance.randrange(500):03}" if n % 1000 else "",
            "amount": 0.0 if n % 500 == 250 else amount,
            "currency": chance.choice(["EUR", "USD"]),
            "country": chance.choice(["DE", "FR", "IT", "XA", "XB"]),
            "at": f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z",
        }


if __name__ == "__main__":
    for payment in payments(
        int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, int(sys.argv[2]) if len(sys.argv) > 2 else 7
    ):
        print(json.dumps(payment))
