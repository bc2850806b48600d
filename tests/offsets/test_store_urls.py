from __future__ import annotations

import pytest

from whorl.config.offset_stores import start_url, store_url
from whorl.config.validation import Problem


@pytest.mark.parametrize(
    ("text", "host", "path", "group", "plain"),
    [
        ("zookeeper://a:1,b:2/kafka", "a:1,b:2", "/kafka", "", "zookeeper://a:1,b:2/kafka"),
        ("zookeeper://a:1?group=billing", "a:1", "", "billing", "zookeeper://a:1"),
        ("redis://a:1/0?group=g&db=2", "a:1", "/0", "g", "redis://a:1/0?db=2"),
        ("file:some/where.json", "", "some/where.json", "", "file:some/where.json"),
        ("file:///abs.json?group=g", "", "/abs.json", "g", "file:///abs.json"),
        ("kafka:billing", "", "billing", "billing", "kafka:billing"),
        ("kafka://a:1,b:2/billing", "a:1,b:2", "/billing", "billing", "kafka://a:1,b:2/billing"),
    ],
)
def test_urls(text: str, host: str, path: str, group: str, plain: str) -> None:
    url = store_url(text)
    assert (url.host, url.path, url.group, url.plain) == (host, path, group, plain)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("redos://a:1", "there is no offset store 'redos'"),
        ("/some/where", "is not the URL of an offset store"),
        ("kafka:", "names no group"),
        ("redis:///0", "names no host"),
        ("file:", "names no file"),
    ],
)
def test_what_is_wrong_with_a_url(text: str, said: str) -> None:
    with pytest.raises(Problem, match=said) as problem:
        store_url(text)
    assert problem.value.hint


def test_passwords_are_not_shown() -> None:
    assert str(store_url("redis://me:secret@a:1/0")) == "redis://***@a:1/0"


def test_where_to_start_from() -> None:
    assert start_url("offsets+kafka:billing").group == "billing"
    with pytest.raises(Problem, match="nothing to start from"):
        start_url("kafka:billing")
    with pytest.raises(Problem, match="does not say whose offsets"):
        start_url("offsets+redis://a:1/0")
