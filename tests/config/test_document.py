from __future__ import annotations

import json
import math

import pytest

from whorl.config.document import read, scalar
from whorl.errors import Location


def places(document):
    return [f"{f.at} {f.code}" for f in document.findings]


def test_every_key_and_value_knows_its_place(write):
    write(p="name: orders\nsources:\n  in:\n    topic: a\nlist:\n  - x\n  - {k: v}\n")
    document = read("p.yaml")
    assert document.data == {"name": "orders", "sources": {"in": {"topic": "a"}}, "list": ["x", {"k": "v"}]}
    assert document.at(("name",)) == Location("p.yaml", 1, 7)
    assert document.key_at(("sources", "in")) == Location("p.yaml", 3, 3)
    assert document.key_at(("sources", "in", "topic")) == Location("p.yaml", 4, 5)
    assert document.at(("sources", "in", "topic")) == Location("p.yaml", 4, 12)
    assert document.at(("list", 1, "k")) == Location("p.yaml", 7, 9)


def test_what_is_not_written_is_where_the_value_around_it_is(write):
    write(p="a:\n  b: 1\n")
    assert read("p.yaml").at(("a", "x", "y")) == Location("p.yaml", 2, 3)


@pytest.mark.parametrize(
    "text, value",
    [
        ("", None), ("~", None), ("null", None), ("true", True), ("FALSE", False), ("4", 4), ("-4", -4), ("007", 7),
        ("100_000", 100_000), ("0x1F", 31), ("0o17", 15), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5), ("-.inf", -math.inf),
        ("no", "no"), ("on", "on"), ("12:30", "12:30"), ("2026-01-31", "2026-01-31"), ("1.2.3", "1.2.3"), ("1__0", "1__0"),
        ("9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_words_are_typed_as_in_yaml_1_2(text, value):
    assert scalar(text) == value and type(scalar(text)) is type(value)


def test_json_is_yaml(write):
    data = {"a": [1, 2.5, True, None, "x\ty"], "b": {"c": "1"}}
    write(p=json.dumps(data))
    assert read("p.yaml").data == data


def test_variables_are_filled_in_before_values_are_typed(write):
    write(p='a: ${N:-4}\nb: "${N:-4}"\nc: ${HOST}:${PORT:-9092}\nd: $${HOST}\ne: ${EMPTY:-x}\nf: ${NONE:-}\n')
    document = read("p.yaml", {"HOST": "h", "EMPTY": ""})
    assert document.data == {"a": 4, "b": "4", "c": "h:9092", "d": "${HOST}", "e": "x", "f": None}
    assert document.findings == ()


def test_unset_and_malformed_variables_are_found(write):
    write(p='a: x-${NOPE}\nb: "y ${NOPE}"\nc: ${9}\nd: |\n  ${NOPE}\n')
    assert places(read("p.yaml", {})) == [
        "p.yaml:1:4 variable", "p.yaml:2:4 variable", "p.yaml:3:4 variable", "p.yaml:4:4 variable",
    ]  # fmt: skip


def test_keys_that_stand_twice(write):
    write(p="a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    document = read("p.yaml")
    assert places(document) == ["p.yaml:4:3 duplicate-key", "p.yaml:5:1 duplicate-key"]
    assert "line 3" in document.findings[0].hint
    assert document.data == {"a": 1, "b": {"c": 1}}


@pytest.mark.parametrize(
    "text, place",
    [
        ("a: b: c\n", "1:5"), ("a: [1, 2\nb: 3\n", "2:2"), ("a: 'x\n", "2:1"), ("a: 1\n---\nb: 2\n", "2:1"),
        ("a: *nope\n", "1:4"), ("a: \x01\n", "1:4"), ("a: !env X\n", "1:4"), ("a: &x [*x]\n", "1:4"), ("? [a]\n: 1\n", "1:3"),
    ],
)  # fmt: skip
def test_bad_yaml_is_found_with_its_place(write, text, place):
    write(p=text)
    assert places(read("p.yaml")) == [f"p.yaml:{place} yaml"]


def test_aliases_that_unfold_without_end_are_refused(write):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    write(p="\n".join(lines))
    assert [f.code for f in read("p.yaml").findings] == ["yaml"]


def test_anchors_and_merge_keys(write):
    write(p="base: &b {x: 1, y: 2}\nown:\n  <<: *b\n  y: 3\n")
    document = read("p.yaml")
    assert document.data["own"] == {"x": 1, "y": 3}
    assert document.at(("own", "x")) == Location("p.yaml", 1, 14)


def test_files_that_cannot_be_read(folder):
    (folder / "latin.yaml").write_bytes(b"a: \xff\xfe\n")
    assert places(read("nope.yaml")) == ["nope.yaml:1:1 file"]
    assert places(read("latin.yaml")) == ["latin.yaml:1:1 file"]
    assert places(read(".")) == [".:1:1 file"]


def test_include_lies_under_the_including_file(write):
    write(
        p="include: [parts/one.yaml, parts/two.yaml]\nsettings: {tasks: 3}\noperators:\n  - {id: c}\n",
        parts__one="settings: {tasks: 1, edges: topics}\noperators:\n  - {id: a}\n",
        parts__two="include: deep.yaml\nsettings: {edges: fused}\noperators: [{id: b}]\n",
        parts__deep="sources: {s: {type: list}}\n",
    )
    document = read("p.yaml")
    assert document.data == {
        "settings": {"tasks": 3, "edges": "fused"},
        "operators": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
        "sources": {"s": {"type": "list"}},
    }
    assert document.at(("settings", "tasks")) == Location("p.yaml", 2, 19)
    assert document.key_at(("settings", "edges")) == Location("parts/two.yaml", 2, 12)
    assert document.at(("operators", 0, "id")) == Location("parts/one.yaml", 3, 10)
    assert document.at(("sources", "s", "type")) == Location("parts/deep.yaml", 1, 21)


def test_includes_that_fail_are_found_where_they_are_named(write):
    write(
        p="include: [no.yaml, list.yaml, 3, a.yaml]\n", list="- 1\n", a="include: b.yaml\n", b="x: 1\ninclude: a.yaml\n"
    )
    document = read("p.yaml")
    assert places(document) == [
        "p.yaml:1:11 include", "p.yaml:1:20 include", "p.yaml:1:31 include", "b.yaml:2:10 include",
    ]  # fmt: skip
    assert "a.yaml -> b.yaml -> a.yaml" in document.findings[3].message
