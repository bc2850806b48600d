"""From what pydantic says of a value to findings with a place in the file. Bad values never raise here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from whorl.config.codes import did_you_mean, suggest
from whorl.config.tree import Key, Path, Tree
from whorl.errors import Finding, Location

Model = TypeVar("Model", bound=BaseModel)

_EXPECTED = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a number", "bool_type": "true or false",
    "bool_parsing": "true or false", "string_type": "text", "list_type": "a list", "tuple_type": "a list",
    "dict_type": "a map", "model_type": "a map", "model_attributes_type": "a map", "dataclass_type": "a map",
    "mapping_type": "a map", "none_required": "empty",
}  # fmt: skip
_GROUPS = {"extra_forbidden": "unknown", "invalid_key": "unknown", "missing": "missing"}
_RANGES = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
_WORDS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


class Problem(ValueError):
    """Raised by validators to give their finding its own code and hint."""

    def __init__(self, message: str, *, code: str = "value", hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def validate(
    model: type[Model], tree: Tree, at: Location, what: str, also: Iterable[str] = ()
) -> tuple[Model | None, list[Finding]]:
    """The model of a map, and what is wrong with it; None if it is not a model even without its wrong keys.

    `at` is where `what` stands, `also` are keys that are right beside the model's own.
    """
    try:
        return model.model_validate(tree.plain()), []
    except ValidationError as error:
        findings = _Translator(model, tree, at, what, tuple(also)).findings(error)
    try:
        return model.model_validate(right_part(model, tree).plain()), findings
    except ValidationError:
        return None, findings


def right_part(model: type[BaseModel], tree: Tree) -> Tree:
    """A map less the keys whose values are wrong."""
    try:
        model.model_validate(tree.plain())
    except ValidationError as error:
        places = ((*prefix, *detail["loc"])[:1] for prefix, detail in _flat(error))
        return tree.without(*(key for place in places for key in place))
    return tree


def names_of(model: type[BaseModel]) -> list[str]:
    """The keys of a model as they are written."""
    return [field.alias or name for name, field in model.model_fields.items()]


class _Translator:
    def __init__(self, model: type[BaseModel], tree: Tree, at: Location, what: str, also: Sequence[str]) -> None:
        self.model, self.tree, self.at, self.what, self.also = model, tree, at, what, also

    def findings(self, error: ValidationError) -> list[Finding]:
        grouped: dict[tuple[str, Path], list[dict[str, Any]]] = {}
        for prefix, detail in _flat(error):
            place = self._written((*prefix, *detail["loc"]))
            group = _GROUPS.get(detail["type"], "value")
            place = (*place, detail["loc"][-1]) if group == "missing" else place
            grouped.setdefault((group, place), []).append(detail)
        found = {name: self._finding(*name, details) for name, details in grouped.items()}
        meant = {(place[:-1], finding.hint) for (group, place), finding in found.items() if group == "unknown"}
        # A key that is missing only because it is misspelt is not missed as well.
        return [
            f for (group, at), f in found.items() if group != "missing" or (at[:-1], did_you_mean(at[-1])) not in meant
        ]

    def _finding(self, group: str, place: Path, details: list[dict[str, Any]]) -> Finding:
        if group == "unknown":
            return self._unknown_key(place)
        if group == "missing":
            holder = place[:-1]
            at = self.tree.key_at(holder) if holder else self.at
            of = f"'{_dotted(holder)}' of {self.what}" if holder else self.what
            return Finding("missing-key", f"{of} has no '{place[-1]}'", f"add `{place[-1]}: ...`", at)
        return self._bad_value(place, details)

    def _unknown_key(self, place: Path) -> Finding:
        holder, key = place[:-1], place[-1]
        known = names_of(_model_at(self.model, self.tree, holder)) if holder else [*names_of(self.model), *self.also]
        of = f"'{_dotted(holder)}' of {self.what}" if holder else self.what
        hint = suggest(str(key), known, "known keys")
        return Finding("unknown-key", f"unknown key '{key}' in {of}", hint, self.tree.key_at(place))

    def _bad_value(self, place: Path, details: list[dict[str, Any]]) -> Finding:
        at = self.tree.value_at(place) if place else self.at
        name = f"'{_dotted(place)}' of {self.what}" if place else self.what
        for detail in details:
            raised = detail.get("ctx", {}).get("error")
            if raised is not None:
                code, message, hint = _raised(raised)
                return Finding(code, f"{name}: {message}", hint, at)
        written = self.tree.find(place)
        value = written.plain() if written else details[0]["input"]
        expected = " or ".join(dict.fromkeys(_expected(detail) for detail in details))
        hint = next((hint for detail in details if (hint := _hint(value, detail))), f"write {expected}")
        return Finding("value", f"{name} is {_shown(value)}, not {expected}", hint, at)

    def _written(self, loc: Path) -> Path:
        """The part of pydantic's path that the file has; pydantic adds names of union members and of shorthands."""
        tree, path = self.tree, []
        for key in loc:
            child = tree.child(key)
            if child is not None:
                tree = child
                path.append(key)
        return tuple(path)


def _flat(error: ValidationError, prefix: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each error by itself, also those of a validation within a validator."""
    for detail in error.errors(include_url=False):
        inner = detail.get("ctx", {}).get("error")
        if isinstance(inner, ValidationError):
            yield from _flat(inner, (*prefix, *detail["loc"]))
        else:
            yield prefix, dict(detail)


def _expected(detail: dict[str, Any]) -> str:
    kind, ctx = detail["type"], detail.get("ctx", {})
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    if kind in _RANGES:
        return f"{_WORDS[_RANGES[kind]]} {ctx[_RANGES[kind]]}"
    if kind == "literal_error":
        return f"one of {ctx['expected']}"
    return str(detail["msg"]).removeprefix("Input should be ")


def _hint(value: Any, detail: dict[str, Any]) -> str:
    if detail["type"] == "string_type":
        return "put it in quotes" if isinstance(value, int | float) else ""
    if detail["type"] != "literal_error":
        return ""
    parts = str(detail["ctx"]["expected"]).replace(" or ", ", ").split(", ")
    return suggest(str(value), [part.strip("'") for part in parts], "one of")


def _raised(raised: Exception) -> tuple[str, str, str]:
    """Code, message and hint of an error that a validator raised."""
    message, such_as, examples = str(raised).partition(" such as ")
    # whorl.units says what it expected in its message; its errors carry no code.
    code = next((unit for unit in ("duration", "size") if message.endswith(f" is not a {unit}")), "")
    if code and such_as:
        return code, message, f"write a number with its unit: {examples}"
    hint = getattr(raised, "hint", "") or "see the pipeline reference"
    return getattr(raised, "code", "value"), str(raised), hint


def _model_at(model: type[BaseModel], tree: Tree, path: Path) -> type[BaseModel]:
    """The model of a nested map, as far as the fields' types tell; of several the one whose `type` is written."""
    for index, key in enumerate(path):
        field = next((f for name, f in model.model_fields.items() if (f.alias or name) == key), None)
        written = tree.find((*path[: index + 1], "type"))
        inner = _models_in(field.annotation) if field else []
        named = [each for each in inner if written and _type_of(each) == written.value]
        model = next(iter(named or inner), model)
    return model


def _type_of(model: type[BaseModel]) -> Any:
    return model.model_fields["type"].default if "type" in model.model_fields else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _dotted(path: Sequence[Key]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")
