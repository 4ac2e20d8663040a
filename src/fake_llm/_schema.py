"""Whether a value fits a JSON schema that a request carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fake_llm import _json

__all__ = ["misfit"]

_VALIDATORS: dict[bytes, Any] = {}


def misfit(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Why a value doesn't fit, in one line; `None` when it fits or the schema itself can't be used."""
    if not schema:
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


def _validator(schema: Mapping[str, Any]) -> Any:
    import jsonschema
    import jsonschema.validators
    import referencing.jsonschema

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
    except jsonschema.SchemaError:
        return None
    return kind(dict(schema), registry=referencing.jsonschema.EMPTY_REGISTRY)
