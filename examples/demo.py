"""What `make demo` runs: a broker, 20,000 payments, the payments pipeline on Spark, and a look at what came out."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from payments.generate import payments
from rich.console import Console
from rich.table import Table

from whorl.broker import Broker

PIPELINE = str(Path(__file__).parent / "payments" / "pipeline.yaml")
COUNT = 20_000
console = Console(highlight=False, soft_wrap=True)


def whorl(*arguments: str, shown: bool = True) -> str:
    """Runs the command that a user would type, and shows it; gives back its output where that is not shown."""
    if shown:
        console.print(f"\n[bold cyan]$ whorl {' '.join(arguments)}[/]")
    output = None if shown else subprocess.PIPE
    return (
        subprocess.run([sys.executable, "-m", "whorl", *arguments], check=True, text=True, stdout=output).stdout or ""
    )


def rows(topic: str, address: str) -> list[dict[str, object]]:
    lines = whorl("consume", topic, "--json", "--broker", address, shown=False).splitlines()
    return [json.loads(line)["value"] for line in lines]


def verdicts(flagged: list[dict[str, object]]) -> Table:
    table = Table(title="flagged payments by verdict and score", title_justify="left")
    for name in ("verdict", "score", "payments"):
        table.add_column(name, justify="right" if name != "verdict" else "left")
    bands = Counter((str(row["verdict"]), int(row["score"]) // 10 * 10) for row in flagged)  # type: ignore[call-overload]
    for (verdict, band), count in sorted(bands.items(), key=lambda item: item[0][1], reverse=True):
        table.add_row(verdict, f"{band}-{band + 9}", f"{count:,}")
    return table


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="whorl-demo-") as folder:
        data = Path(folder) / "payments.jsonl"
        data.write_text("".join(json.dumps(payment) + "\n" for payment in payments(COUNT)))
        whorl("broker", "start", "--data", f"{folder}/broker")
        broker = Broker(Path(folder) / "broker")
        try:
            address = broker.address
            whorl("plan", PIPELINE)
            whorl("topics", "create", "payments", "--partitions", "4", "--broker", address)
            whorl("produce", "payments", str(data), "--key", "account", "--broker", address)
            whorl("run", PIPELINE, "--until-caught-up", "--broker", address)
            flagged, receipts = rows("flagged", address), rows("receipts", address)
            dead = rows("payments.dead", address)
        finally:
            broker.stop()
    console.print(verdicts(flagged))
    total = len(flagged) + len(receipts) + len(dead)
    word = "ok" if total == COUNT else "failed"
    console.print(
        f"demo {word}: {COUNT} payments in, {len(flagged)} flagged + {len(receipts)} receipts + {len(dead)} dead letters = {total}"
    )
    return 0 if total == COUNT else 1


if __name__ == "__main__":
    sys.exit(main())
