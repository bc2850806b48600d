"""What is wrong with how a pipeline runs, and what to change. Each rule is a pure function of the evidence of one component, or of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whorl.feedback.evidence import Advice, ComponentEvidence, Evidence
from whorl.units import format_duration, format_size

FEW_SECONDS = 10.0
"""Less than that says nothing of how something grows."""
_SMALL_FILE = 1 << 20
_MANY_FILES = 100
_ROWS_OF_A_PARTITION = (1_000, 1_000_000)
"""Fewer are not worth one, more are too many for one."""


def lag_grows(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    samples = component.samples
    if component.seconds < FEW_SECONDS or len(samples) < 4:
        return None
    third = len(samples) // 3 or 1
    first = sum(sample.lag for sample in samples[:third]) / third
    last = sum(sample.lag for sample in samples[-third:]) / third
    if last < 100 or last < 1.5 * first + 10:
        return None
    rate = component.grown("lag") / component.seconds
    told = f"lag went from {first:,.0f} to {last:,.0f} records in {format_duration(round(component.seconds))}, {rate:,.0f} more a second"
    if component.host == "query":
        change = "raise it, or give Spark more cores ('master: local[n]', 'resources.cores'); fewer records a batch do not help"
        return Advice(
            "lag-grows", component.id, "it reads more slowly than records arrive", told, "resources.executors", change
        )
    change = "raise it, up to the number of partitions, or make operators that take long 'isolate: true'"
    return Advice("lag-grows", component.id, "it reads more slowly than records arrive", told, "tasks", change)


def trigger_too_short(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    took = [batch.batch_seconds for batch in component.batches if batch.batch_seconds]
    if len(took) < 3:
        return None
    mean = sum(took) / len(took)
    if evidence.trigger is not None and mean > evidence.trigger:
        told = f"a batch takes {format_duration(round(mean, 2))}, one is due every {format_duration(evidence.trigger)}"
        finding = "batches take longer than the trigger allows, so none begins when it should"
        return Advice("trigger-too-short", component.id, finding, told, "trigger", f"set it above {format_duration(round(mean, 1))}, or 'fast'")  # fmt: skip
    rows = component.grown("read") / max(len(took) - 1, 1)
    if evidence.trigger is None and len(took) >= 10 and rows < 50 and mean > 0.2:
        told = f"{len(took)} batches of {rows:,.0f} rows, {format_duration(round(mean, 2))} each"
        finding = "batches are so small that most of the work is beginning and ending them"
        return Advice("trigger-too-short", component.id, finding, told, "trigger", "set an interval, such as 5s")
    return None


def trigger_too_long(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    took = [batch.batch_seconds for batch in component.batches if batch.batch_seconds]
    if evidence.trigger is None or evidence.trigger < 2 or len(took) < 3:
        return None
    longest, waiting = max(took), max(sample.lag for sample in component.samples)
    if longest * 10 > evidence.trigger or waiting == 0:
        return None
    told = f"a batch takes {format_duration(round(longest, 2))} at most, and begins every {format_duration(evidence.trigger)} while {waiting:,} records wait"
    change = f"{format_duration(round(max(longest * 2, 0.5), 1))} would do"
    return Advice("trigger-too-long", component.id, "records wait for a trigger though there is time", told, "trigger", change)  # fmt: skip


def skewed(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    total = sum(component.places.values())
    if len(component.places) < 2 or total < 1000:
        return None
    place, most = max(component.places.items(), key=lambda item: item[1])
    mean = total / len(component.places)
    if most < 3 * mean and most < 0.9 * total:
        return None
    told = f"{most:,} of {total:,} records were in {place}, the other {len(component.places) - 1} partitions had {(total - most):,}"
    change = "key by a column with more values, or count in two steps; more tasks do not help"
    return Advice("skew", component.id, "one partition has most of the records: few keys are hot", told, "key", change)


def state_partitions(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    if not component.state_partitions or not component.samples:
        return None
    rows, partitions = component.samples[-1].state_rows, component.state_partitions
    fewest, most = _ROWS_OF_A_PARTITION
    told = f"{rows:,} rows of state in {partitions} partitions"
    if rows / partitions > most:
        change = f"{-(-rows // most)} or more; it is fixed at the first start, so by 'whorl rescale --partitions'"
        return Advice("state-partitions", component.id, "each partition of state is large, so a batch waits for the slowest", told, "state_partitions", change)  # fmt: skip
    if 0 < rows / partitions < fewest and partitions > 2 * evidence.cores:
        change = f"{evidence.cores} would do; it is fixed at the first start, so by 'whorl rescale --partitions'"
        return Advice("state-partitions", component.id, "there are more partitions of state than it is worth", told, "state_partitions", change)  # fmt: skip
    return None


def state_only_grows(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    if not component.keeps_state or component.bounded is not False:
        return None
    rows = [sample.state_rows for sample in component.samples]
    if any(rows):
        if len(rows) < 4 or component.seconds < FEW_SECONDS or rows != sorted(rows) or rows[-1] <= rows[0]:
            return None
        told = f"{rows[0]:,} rows of state became {rows[-1]:,} in {format_duration(round(component.seconds))}, and none ever goes"
    elif component.grown("read") > 0:
        told = f"it has read {component.grown('read'):,.0f} more records, and forgets no key"
    else:
        return None
    setting = "watermark" if component.host == "query" else "ttl"
    change = (
        "give the source a watermark, and group by a window"
        if setting == "watermark"
        else "give the operator a 'ttl', or 'max_keys'"
    )
    return Advice("state-grows", component.id, "what it keeps by key only grows", told, setting, change)


def late_rows(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    late, read = component.grown("late"), component.grown("read")
    if late < 1 or late < read * 0.001:
        return None
    told = f"{late:,.0f} of {read:,.0f} rows came behind the watermark and were left out"
    return Advice("late-rows", component.id, "rows are dropped because they are late", told, "watermark.delay", "make it longer; state is kept as much longer")  # fmt: skip


def dead_letters(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    dead, read = component.grown("dead"), component.grown("read")
    if dead < 1 or component.seconds < FEW_SECONDS:
        return None
    told = f"{dead:,.0f} of {read:,.0f} records in {format_duration(round(component.seconds))}"
    change = f"look at them: whorl dead list {evidence.pipeline}; mend the code or the schema, then 'whorl dead replay'"
    return Advice(
        "dead-letters", component.id, f"records keep going to '{evidence.dead_letter}'", told, "on_error", change
    )


def slow_sink(evidence: Evidence, component: ComponentEvidence) -> Advice | None:
    commits, seconds = component.grown("commits"), component.grown("commit_seconds")
    if commits < 3 or component.seconds < FEW_SECONDS:
        return None
    share, each = seconds / component.seconds, seconds / commits
    if each < 0.2 and share < 0.5:
        return None
    told = f"{commits:,.0f} commits of {format_duration(round(each, 3))} each, {share:.0%} of the time"
    change = "make it longer, so that there are fewer; and look at the broker's disks and network"
    return Advice("slow-sink", component.id, "much of its time goes to commits: what it writes to is slow", told, "commit_interval", change)  # fmt: skip


def memory(evidence: Evidence) -> Iterator[Advice]:
    last = evidence.heap[-5:]
    if len(last) >= 3 and min(last) > 0.85:
        told = f"{min(last):.0%} to {max(last):.0%} of the driver's heap in use"
        change = "double it; fewer records a batch ('max_per_batch') take less too"
        yield Advice(
            "memory", "", "the driver is close to the end of its memory", told, "resources.driver_memory", change
        )


def small_files(evidence: Evidence) -> Iterator[Advice]:
    for files in evidence.files:
        if files.count < _MANY_FILES or files.size / files.count > _SMALL_FILE:
            continue
        told = f"{files.count:,} files of {format_size(files.size / files.count)} each in '{files.path}'"
        if files.written:
            change = "make it longer: every batch writes at least one file for each partition"
            yield Advice("small-files", files.id, "it writes many small files", told, "trigger", change)
        else:
            change = "bound it, so that one batch does not list and open them all; let the writer write larger ones"
            yield Advice("small-files", files.id, "it reads many small files", told, "max_files", change)


Rule = Callable[[Evidence, ComponentEvidence], Advice | None]
OF_COMPONENTS: tuple[Rule, ...] = (
    lag_grows, trigger_too_short, trigger_too_long, skewed, state_partitions, state_only_grows, late_rows, dead_letters, slow_sink,
)  # fmt: skip
OF_ALL: tuple[Callable[[Evidence], Iterator[Advice]], ...] = (memory, small_files)


def advice(evidence: Evidence) -> list[Advice]:
    found = [rule(evidence, component) for component in evidence.components for rule in OF_COMPONENTS]
    return [*(each for each in found if each is not None), *(each for rule in OF_ALL for each in rule(evidence))]
