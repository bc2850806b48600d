"""What components read before their first record, where that takes longer than a moment: a bar on a terminal, two lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.progress_bar import ProgressBar
from rich.table import Table

from whorl.tasks.readings import STATE, TABLES, Progress
from whorl.tasks.watch import ComponentView, Mark

_A_MOMENT = 1.0
_BAR = 30
Of = tuple[str, str, int]
"""The component, what it reads, its layout."""
_RECORDS = {STATE: "records of state", TABLES: "records of tables"}


class Restoring:
    def __init__(self) -> None:
        self._over: dict[Of, set[Mark]] = {}
        """Readings that are told: what the same tasks read again, after a failure, counts anew."""
        self._begun: set[Of] = set()

    def bars(self, views: Mapping[str, ComponentView]) -> list[Table]:
        """Of what is read at this moment."""
        table = Table.grid(padding=(0, 1))
        for (component, what, _), progress in self._looked(views):
            if not progress.over and progress.seconds >= _A_MOMENT:
                bar = ProgressBar(max(progress.total, 1), progress.read, width=_BAR)
                table.add_row(component, bar, f"{progress.share:4.0%}", told(what, progress))
        return [table] if table.row_count else []

    def lines(self, views: Mapping[str, ComponentView]) -> Iterator[str]:
        """One when it begins, one when it is over; each once."""
        for of, progress in self._looked(views):
            component, what, _ = of
            if progress.seconds < _A_MOMENT:
                continue
            if progress.over:
                self._begun.discard(of)
                yield f"{component}: {done(what, progress)}"
            elif of not in self._begun and _all_told(views[component], what):
                self._begun.add(of)
                yield f"{component}: reads {progress.total:,} {_RECORDS[what]}"

    def _looked(self, views: Mapping[str, ComponentView]) -> Iterator[tuple[Of, Progress]]:
        for component, view in views.items():
            for what in _RECORDS:
                over = self._over.setdefault((component, what, view.layout), set())
                if new := view.readings(what, over):
                    progress = view.progress(what, over)
                    yield (component, what, view.layout), progress
                    over.update(new if progress.over else ())


def _all_told(view: ComponentView, what: str) -> bool:
    """Whether each task has said how much it has to read."""
    known = [reading for reading in view.readings(what).values() if reading["total"] or reading["over"]]
    return len(known) == len(view.tasks)


def told(what: str, progress: Progress) -> str:
    left = progress.seconds_left
    until = "" if left is None else f", {left:,.0f} s left"
    return f"{progress.read:,} of {progress.total:,} {_RECORDS[what]}, {progress.rate:,.0f}/s{until}"


def done(what: str, progress: Progress) -> str:
    rate = progress.records / progress.seconds
    return f"read {progress.records:,} {_RECORDS[what]} in {progress.seconds:.1f} s, {_rounded(rate):,.0f}/s"


def _rounded(rate: float) -> float:
    """To three digits."""
    return float(f"{rate:.3g}")
