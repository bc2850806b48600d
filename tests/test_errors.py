"""Errors cross process borders whole, and say code, place and remedy."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest

import whorl
from whorl.errors import (
    CheckFailed,
    Finding,
    Location,
    OperatorFailed,
    PipelineError,
    PreflightFailed,
    Retry,
    UsageError,
    WhorlError,
    WorldError,
)

FINDINGS = (
    Finding("column", "the column 'amout' does not exist", "did you mean 'amount'?", Location("a.yaml", 3, 7)),
    Finding("unused", "nobody reads 'x'"),
)
WITH_FINDINGS = (CheckFailed, PreflightFailed)


def _classes(of: type[WhorlError] = WhorlError) -> Iterator[type[WhorlError]]:
    yield of
    for below in of.__subclasses__():
        yield from _classes(below)


for _module in walk_packages(whorl.__path__, "whorl."):
    if not _module.name.endswith("__main__"):
        import_module(_module.name)
ALL = sorted(set(_classes()), key=lambda cls: cls.__name__)


def _made(cls: type[WhorlError]) -> WhorlError:
    if issubclass(cls, WITH_FINDINGS):
        return cls(FINDINGS)
    if cls is OperatorFailed:
        return OperatorFailed("judge", "ValueError: no", place="steps.py:12", position="in/0/7", trace="Traceback …")
    return cls("'x' is wrong", hint="write y", where="a.yaml:3")


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_an_error_comes_back_equal_from_another_process(cls: type[WhorlError]) -> None:
    error = _made(cls)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is cls
    assert (str(back), back.args, back.__dict__) == (str(error), error.args, error.__dict__)
    assert (back.code, back.exit_code, back.retryable) == (error.code, error.exit_code, error.retryable)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_an_error_says_code_place_and_hint(cls: type[WhorlError]) -> None:
    text = str(_made(cls))
    if cls is OperatorFailed:
        assert text == "steps.py:12: [operator-failed] operator 'judge' failed: ValueError: no at in/0/7"
    elif issubclass(cls, WITH_FINDINGS):
        first, second = text.splitlines()
        assert first == "a.yaml:3:7: [column] the column 'amout' does not exist (did you mean 'amount'?)"
        assert second == "[unused] nobody reads 'x'"
    else:
        assert text == f"a.yaml:3: [{cls.code}] 'x' is wrong (write y)"


def test_every_class_has_a_code_of_its_own() -> None:
    assert len({cls.code for cls in ALL}) == len(ALL)


def test_exit_codes_say_whose_turn_it_is() -> None:
    for cls in ALL:
        if cls is not WhorlError:
            kind = next(base for base in (PipelineError, UsageError, WorldError) if issubclass(cls, base))
            assert cls.exit_code == {PipelineError: 1, UsageError: 2, WorldError: 3}[kind]


def test_a_code_may_be_given() -> None:
    assert str(WorldError("the disk is full", code="disk")) == "[disk] the disk is full"
    assert pickle.loads(pickle.dumps(WorldError("x", code="disk"))).code == "disk"


def test_a_retry_keeps_its_wait_and_its_reason() -> None:
    back = pickle.loads(pickle.dumps(Retry(2.5, "the shop is down")))
    assert (back.after, back.reason) == (2.5, "the shop is down")
    assert not isinstance(back, WhorlError)
