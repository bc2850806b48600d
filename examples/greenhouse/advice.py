from whorl import Metadata, Record


def advise(row: dict, metadata: Metadata) -> Record:
    """One advice for each reading; where it came from goes along as a header."""
    warmest = {"fern": 24, "basil": 30}[row["sensor"]]
    row["do"] = "open the roof" if row["celsius"] > warmest else "nothing"
    return Record(row, headers=[("came-from", repr(metadata).encode())])
