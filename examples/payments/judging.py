"""User code of the payments example: an ordinary function from row to row."""

RISKY = {"XA", "XB"}


def judge(row: dict) -> dict:
    """One verdict a payment. A payment without an account cannot be judged and ends in the dead-letter topic."""
    if not row["account"]:
        raise ValueError("payment has no account")
    score = min(100, int(row["euros"] / 20) + (40 if row.pop("country") in RISKY else 0))
    return {**row, "score": score, "verdict": "block" if score >= 80 else "review" if score >= 45 else "pass"}
