"""Whether a value fits a JSON schema that a request carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fake_llm import _json

__all__ = ["misfit"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

_VALIDATORS: dict[bytes, Any] = {}


def misfit(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Why a value doesn't fit, in one line; `None` when it fits or the schema itself can't be used."""
    if not schema:
        return None
    try:
        if _plainly_fits(value, schema):
            return None
    except RecursionError:
        return None
    key = _json.compact(schema)
    validator = _VALIDATORS.get(key)
    if validator is None:
        if len(_VALIDATORS) > 512:
            _VALIDATORS.clear()
        validator = _VALIDATORS[key] = _validator(schema)
    if validator is None:
        return None
    try:
        error = next(iter(validator.iter_errors(value)), None)
    except Exception:  # noqa: BLE001 - a reference that can't be resolved, a broken pattern: the vendor's to refuse
        return None
    if error is None:
        return None
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    return f"{where}: {error.message}" if where else str(error.message)


def _plainly_fits(value: Any, schema: Any) -> bool:
    """Whether a value fits a schema of the plain words that nearly all tools have.

    `False` says nothing: then jsonschema decides, which takes ten times as long, and a tenth of a second to load.
    """
    if not isinstance(schema, dict):
        return False
    for word, wanted in schema.items():
        fits = _PLAIN.get(word)
        if fits is None or not fits(value, wanted, schema):
            return False
    return True


def _is_of_type(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    return isinstance(wanted, str) and type(value) in _TYPES.get(wanted, ())


def _has_properties(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(wanted, dict)
        and all(_plainly_fits(value[name], inner) for name, inner in wanted.items() if name in value)
    )


def _has_required(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(wanted, list)
        and all(isinstance(name, str) and name in value for name in wanted)
    )


def _has_no_others(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    if wanted is True:
        return True
    known = schema.get("properties", {})
    return wanted is False and isinstance(value, dict) and isinstance(known, dict) and value.keys() <= known.keys()


def _has_items(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    return isinstance(value, list) and all(_plainly_fits(item, wanted) for item in value)


def _is_among(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    return type(value) is str and isinstance(wanted, list) and value in wanted


def _is_told(value: Any, wanted: Any, schema: dict[str, Any]) -> bool:
    return True


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_PLAIN: Final[Mapping[str, Callable[[Any, Any, dict[str, Any]], bool]]] = {
    "type": _is_of_type,
    "properties": _has_properties,
    "required": _has_required,
    "additionalProperties": _has_no_others,
    "items": _has_items,
    "enum": _is_among,
    "title": _is_told,
    "description": _is_told,
    "default": _is_told,
}


def _validator(schema: Mapping[str, Any]) -> Any:
    import jsonschema
    import jsonschema.validators
    import referencing.jsonschema

    try:
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        kind.check_schema(dict(schema))
    except Exception:  # noqa: BLE001 - no schema, or one that goes too deep: the vendor's to refuse
        return None
    return kind(dict(schema), registry=referencing.jsonschema.EMPTY_REGISTRY)
