"""The driver's eyes: who hangs, who is given up, who asks to skip a record."""

from __future__ import annotations

from whorl.config.settings import Restart
from whorl.tasks.control import Skip, Status
from whorl.tasks.watch import DRIVER, Watch


def status(component="a", layout=1, task=0, attempt=0, state="running", error="", stuck=None, **figures):
    return Status("uid", component, layout, task, attempt, "host", 1, state, 0.0, figures, error, stuck or {})


def beats(number):
    return [status(DRIVER)] * number


def watching(tasks=1, **restart):
    watch = Watch(Restart(**restart))
    watch.expect("a", 1, tasks)
    return watch, watch.components["a"]


def test_silence_is_counted_in_heartbeats_of_the_driver():
    watch, view = watching()
    watch.take([status(), *beats(10)])
    assert not view.tasks[0].is_hung
    watch.take(beats(1))
    assert view.tasks[0].is_hung
    watch.take([status()])
    assert not view.tasks[0].is_hung


def test_a_task_that_never_spoke_has_longer_and_one_that_ended_is_never_hung():
    watch, view = watching(tasks=2)
    watch.take([status(task=1, state="ended"), *beats(90)])
    assert [task.is_hung for task in view.tasks] == [False, False]
    watch.take(beats(10))
    assert [task.is_hung for task in view.tasks] == [True, False]


def test_news_of_other_layouts_and_components_mean_nothing():
    watch, view = watching()
    watch.take([status(layout=2, state="ended"), status("b", state="retrying")])
    assert view.tasks[0].status is None
    assert watch.given_up() is None


def test_a_component_that_fails_more_often_than_allowed_is_given_up():
    watch, _ = watching(attempts=2)
    failing = status(state="retrying", error="broken")
    watch.take([failing, failing])
    assert watch.given_up() is None
    watch.take([failing])
    component, view = watch.given_up()
    assert (component, view.last_error) == ("a", "broken")


def test_failures_long_ago_do_not_count_and_a_new_layout_keeps_the_others():
    watch, view = watching(attempts=1, window="10s")
    watch.take([status(state="retrying", error="once")] * 2)
    at, task = view.failures[0]
    view.failures[0] = (at - 11, task)
    assert watch.given_up() is None
    watch.expect("a", 2, 1)
    watch.take([status(layout=2, state="retrying", error="twice")])
    assert watch.given_up() is not None


def test_without_restarts_the_first_failure_is_the_last():
    watch, _ = watching(strategy="none")
    watch.take([status(state="retrying", error="x")])
    assert watch.given_up() is not None


def test_a_worker_that_died_without_a_word_is_a_failure():
    watch, view = watching(strategy="none")
    watch.take([status(attempt=0), status(attempt=1)])
    assert view.last_error == "its Python worker died"
    assert watch.given_up() is not None


def test_a_task_that_hung_on_a_record_asks_to_skip_it():
    watch, view = watching()
    skip = {"topic": "in", "partition": 0, "offset": 7, "operator": "work"}
    assert watch.take([status(state="failed", error="hung", stuck=skip)]) == [Skip("in", 0, 7, "work")]
    assert len(view.failures) == 1


def test_figures_and_positions_are_those_of_all_tasks():
    watch, view = watching(tasks=2)
    watch.take([status(task=0, read=3, positions={"in": {"0": 5}}), status(task=1, read=4, positions={"in": {"1": 6}})])
    assert view.total("read") == 7
    assert view.positions == {("in", 0): 5, ("in", 1): 6}


def test_one_incident_that_strikes_all_tasks_is_not_failing_again_and_again():
    watch = Watch(Restart(attempts=1))
    watch.expect("c", 1, 16)
    for task in range(16):
        watch.components["c"].note_failure(task, "its executor died")
    assert watch.given_up() is None
    watch.components["c"].note_failure(3, "it died again")
    assert watch.given_up() is not None


def test_a_task_that_falls_silent_counts_as_failed():
    watch = Watch(Restart())
    watch.expect("c", 1, 2)
    view = watch.components["c"]
    assert not view.note_hung()
    view.tasks[1].missed = 10_000
    assert view.note_hung()
    assert [task for _, task in view.failures] == [1] and "silent" in view.last_error


def test_what_a_standby_says_counts_for_nothing():
    watch = Watch(Restart(strategy="none"))
    watch.expect("a", 1, 1, standbys=1)
    working, failing = (
        status(read=3, step="running"),
        status(task=1, state="failed", error="x", read=90, step="resting"),
    )
    watch.take([working, failing, *beats(95), working])
    view = watch.components["a"]
    assert (view.total("read"), view.steps, view.following) == (3, {"running"}, 0)
    assert (watch.failure(), watch.given_up(), view.note_hung()) == ("", None, False)
    watch.take([status(task=1, attempt=1, step="following")])
    assert view.following == 1 and watch.given_up() is None
