"""`Auto()`: what is made up fits the request's own schema, for any schema and for every vendor."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fake_llm
from _asking import ask
from _capability import needs
from fake_llm import Auto, FakeLLM, Reply, ScriptMismatchError
from fake_llm._auto import UnmadeError, automatic, value_for
from fake_llm._model import Message, ToolChoice, ToolResult, ToolSpec, View


def fits(value: Any, schema: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


NODE = {
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["value", "next", "children"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/Node",
}
KINDS = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": kind}, "at": {"type": inner}}, "required": ["kind", "at"]}
        for kind, inner in (("number", "integer"), ("word", "string"))
    ]
}
SCHEMAS: dict[str, Any] = {
    "object": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
    "all types": {
        "type": "object",
        "properties": {
            name: {"type": name} for name in ("string", "integer", "number", "boolean", "null", "array", "object")
        },
        "required": ["string", "integer", "number", "boolean", "null", "array", "object"],
    },
    "enum": {"enum": [None, "b", 3]},
    "enum with a type": {"type": "integer", "enum": ["a", 7]},
    "const": {"const": {"a": [1]}},
    "several types": {"type": ["null", "integer"], "minimum": 5},
    "no type": {"properties": {"a": {"minimum": 3}}, "required": ["a"]},
    "bounds": {"type": "integer", "minimum": 10, "exclusiveMaximum": 12},
    "open bounds": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
    "negative": {"type": "number", "maximum": -3.5},
    "multiple": {"type": "integer", "minimum": 1, "multipleOf": 7},
    "decimal multiple": {"type": "number", "minimum": 0.35, "maximum": 0.45, "multipleOf": 0.1},
    "draft 4": {"type": "integer", "minimum": 1},
    "length": {"type": "string", "minLength": 30, "maxLength": 31},
    "short": {"type": "string", "maxLength": 2},
    "items": {"type": "array", "items": {"type": "string"}, "minItems": 3},
    "unique": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": True},
    "unique booleans": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True},
    "unique objects": {
        "type": "array",
        "items": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}, "required": ["a"]},
        "minItems": 5,
        "uniqueItems": True,
    },
    "tuple": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "minItems": 2},
    "contains": {"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 9}, "minItems": 2},
    "recursive": NODE,
    "any of": {"anyOf": [{"type": "null"}, {"type": "string", "minLength": 20}]},
    "one of": KINDS,
    "one of that overlap": {"oneOf": [{"type": "integer"}, {"type": "number", "maximum": 3}]},
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"a": {"minLength": 9}, "b": {"type": "boolean"}}, "required": ["b"]},
        ]
    },
    "all of references": {
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
        "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"a": {"minimum": 40}}}],
    },
    "not": {"type": "integer", "not": {"const": 1}},
    "if": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"required": ["n"]},
    },
    "at least": {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}},
    "names": {
        "type": "object",
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "dependent": {
        "type": "object",
        "properties": {"a": {}, "b": {"type": "integer"}},
        "required": ["a"],
        "dependentRequired": {"a": ["b"]},
    },
    "default": {"type": "string", "default": "blue"},
    "a default that doesn't fit": {"type": "integer", "default": None},
    "beside a reference": {"$defs": {"S": {"type": "string"}}, "$ref": "#/$defs/S", "minLength": 12},
    "definitions": {"definitions": {"a/b": {"const": 4}}, "$ref": "#/definitions/a~1b"},
    "of properties": {"properties": {"a": {"const": 4}, "b": {"$ref": "#/properties/a"}}, "required": ["b"]},
}
PATTERNS = (
    r"^[A-Z]{3}-\d{4}$",
    r"^\w+@\w+\.(com|org)$",
    r"^(red|green)\s\d+$",
    r"^#[0-9a-fA-F]{6}$",
    r"^[^@]+@[^@]+$",
    r"^a*b+c?.$",
    r"^(?:\d{1,3}\.){3}\d{1,3}$",
    r"^(?P<year>\d{4})-(0[1-9]|1[0-2])$",
    r"x",
    r"^[a-z_][a-z0-9_]*$",
    r"^\+?[1-9]\d{7,14}$",
    r"^[\w.-]{2,}$",
)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_value_fits_its_schema(name: str) -> None:
    schema = SCHEMAS[name]
    value = value_for(schema)

    jsonschema.Draft202012Validator(schema).validate(value)
    assert json.dumps(value_for(json.loads(json.dumps(schema)))) == json.dumps(value)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("least", [0, 12])
def test_a_pattern(pattern: str, least: int) -> None:
    bounded = re.search(r"\{\d+\}\$|\{3\}\\d|\]\)\$|,14", pattern) is not None
    schema = {"type": "string", "pattern": pattern, **({} if bounded else {"minLength": least})}
    assert fits(value_for(schema), schema)
    listed = {"type": "array", "items": schema, "minItems": 2, "uniqueItems": True}
    assert pattern == "x" or fits(value_for(listed), listed)


FORMATS = {
    "date": r"\d{4}-\d\d-\d\d",
    "date-time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "time": r"\d\d:\d\d:\d\dZ",
    "email": r"\w+@\w+\.com",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "uri": r"https://.+",
    "ipv4": r"\d+\.\d+\.\d+\.\d+",
    "ipv6": r"[0-9a-f:]+",
    "duration": r"PT\d+H",
    "hostname": r"[\w.]+",
}


@pytest.mark.parametrize("form", FORMATS)
def test_a_format(form: str) -> None:
    values = value_for(
        {"type": "array", "items": {"type": "string", "format": form}, "minItems": 3, "uniqueItems": True}
    )

    assert len(set(values)) == 3
    assert all(re.fullmatch(FORMATS[form], value) for value in values)


def test_what_the_schema_names_is_taken() -> None:
    asked = {
        "properties": {"city": {"type": "string", "examples": ["Paris"]}, "unit": {"default": "C"}},
        "required": ["city", "unit"],
    }

    assert value_for(asked) == {"city": "Paris", "unit": "C"}
    assert value_for({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}) == {
        "city": "city"
    }


def test_gemini_types() -> None:
    assert value_for(
        {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}, "required": ["n"]}
    ) == {"n": 1}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"not": {}},
        {"enum": []},
        {"type": "string", "pattern": r"^(?=a)b$"},
        {"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True},
        {"$ref": "#/$defs/Gone"},
        {
            "$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"]}},
            "$ref": "#/$defs/A",
        },
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
    ],
    ids=repr,
)
def test_what_no_value_fits(schema: Any) -> None:
    with pytest.raises(UnmadeError):
        value_for(schema)


# --- any schema --------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "city", "näme", "x-1"])


def ranges(least: str, most: str, values: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, int]]:
    return st.tuples(values, values).map(lambda pair: {least: min(pair), most: max(pair)}) | st.just({})


def with_type(kind: str, *more: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*more).map(
        lambda found: {"type": kind} | {key: value for one in found for key, value in one.items()}
    )


LEAVES = st.one_of(
    with_type("integer", ranges("minimum", "maximum", st.integers(-50, 50))),
    with_type("number", ranges("exclusiveMinimum", "maximum", st.integers(-50, 50))).filter(
        lambda schema: "maximum" not in schema or schema["exclusiveMinimum"] < schema["maximum"]
    ),
    with_type(
        "integer",
        st.integers(1, 9).map(lambda step: {"multipleOf": step}),
        st.integers(-9, 9).map(lambda low: {"minimum": low}),
    ),
    with_type("string", ranges("minLength", "maxLength", st.integers(0, 12))),
    with_type("string", st.sampled_from(PATTERNS).map(lambda pattern: {"pattern": pattern})),
    with_type("string", st.sampled_from([*FORMATS]).map(lambda form: {"format": form})),
    st.sampled_from(["boolean", "null"]).map(lambda kind: {"type": kind}),
    st.lists(st.none() | st.booleans() | st.integers() | st.text(max_size=4), min_size=1, max_size=4).map(
        lambda found: {"enum": found}
    ),
    (st.none() | st.integers() | st.text(max_size=4)).map(lambda value: {"const": value}),
    st.just({"$ref": "#/$defs/Tree"}),
)
TREE = {
    "type": "object",
    "properties": {"leaf": {"type": "integer"}, "trees": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["leaf"],
}


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, inner, max_size=3))
    required = draw(st.lists(st.sampled_from([*properties]), unique=True)) if properties else []
    closed = draw(st.sampled_from([{}, {"additionalProperties": False}]))
    return {"type": "object", "properties": properties, "required": required, **closed}


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    bounds = draw(ranges("minItems", "maxItems", st.integers(0, 4)))
    return {"type": "array", "items": draw(inner), **bounds}


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    options = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        objects(inner),
        arrays(inner),
        options.map(lambda found: {"anyOf": found}),
        objects(inner).flatmap(
            lambda one: objects(inner).map(lambda other: {"anyOf": [one, other], "title": "Either"})
        ),
        inner.map(lambda one: {"allOf": [one, {"description": "The same."}]}),
        inner.map(lambda one: {"oneOf": [one, {"type": "object", "required": ["nobody", "has"]}]}),
    )


ANY_SCHEMA = st.recursive(LEAVES, nested, max_leaves=8)
PACE = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@PACE
@given(ANY_SCHEMA)
def test_a_value_fits_any_schema(inner: Any) -> None:
    schema = {"$defs": {"Tree": TREE}, "type": "object", "properties": {"it": inner}, "required": ["it"]}
    value = value_for(schema)

    jsonschema.Draft202012Validator(schema).validate(value)
    assert value_for(schema) == value


@PACE
@given(
    st.integers(1, 4),
    st.sampled_from(["string", "integer", "number"]).map(lambda kind: {"type": kind}) | objects(LEAVES),
)
def test_items_that_differ(count: int, inner: Any) -> None:
    schema = {"$defs": {"Tree": TREE}, "type": "array", "items": inner, "minItems": count, "uniqueItems": True}
    try:
        value = value_for(schema)
    except UnmadeError:  # an object of constants has no second one
        assert inner["type"] == "object"
        return
    jsonschema.Draft202012Validator(schema).validate(value)


# --- which turn --------------------------------------------------------------------------------------

TOOLS = {
    name: ToolSpec(name, {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
    for name in ("one", "two")
}
USER = Message("user", "Hi")
SHAPE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def answered(*names: str) -> list[Message]:
    return [Message("tool", "ok", (), (ToolResult(None, name, "ok"),)) for name in names]


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (View((USER,)), "This is an automatic answer."),
        (View((USER,), schema=SHAPE), '{"n":1}'),
        (View((USER,), schema={}), "{}"),
        (View((USER,), tools=TOOLS), "one"),
        (View((USER,), tools=TOOLS, schema=SHAPE), '{"n":1}'),
        (View((USER,), tools=TOOLS, tool_choice=ToolChoice("tool", "two"), schema=SHAPE), "two"),
        (View((USER,), tools=TOOLS, tool_choice=ToolChoice("none")), "This is an automatic answer."),
        (View((USER,), tools=TOOLS, tool_choice=ToolChoice("auto", None, frozenset({"two"}))), "two"),
        (View((USER, *answered("one")), tools=TOOLS), "This is an automatic answer."),
        (View((USER, *answered("one"), USER), tools=TOOLS), "one"),
        (View((USER, *answered("one")), tools=TOOLS, tool_choice=ToolChoice("any")), "two"),
        (View((USER, *answered("one", "two")), tools=TOOLS, tool_choice=ToolChoice("any")), "two"),
    ],
)
def test_what_is_said(view: View, said: str) -> None:
    found = automatic(view)

    assert (found if isinstance(found, str) else found.name) == said
    if not isinstance(found, str):
        assert found.arguments == {"q": "q"}


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"type": "string", "pattern": "(?=a)b"}])
def test_a_tool_that_it_cannot_call(schema: Any) -> None:
    view = View((USER,), tools={"odd": ToolSpec("odd", schema)})
    with pytest.raises(ScriptMismatchError, match=r"Write the value yourself: ToolCall\('odd', \{…\}\)"):
        automatic(view)


@fake_llm.intercept(default=Auto())
def test_by_default(fake: FakeLLM) -> None:
    assert ask() == "This is an automatic answer."
    assert ask() == "This is an automatic answer."
    assert repr(fake.calls[0].reply) == "Reply(Auto())"


def test_anywhere() -> None:
    with fake_llm.intercept([Auto(), Reply("Well. ", Auto())]) as fake:
        fake.when(input="again").reply(Auto())
        texts = [ask(text) for text in ("Hi", "Hi", "Hi again")]

    assert texts == [
        "This is an automatic answer.",
        "Well. This is an automatic answer.",
        "This is an automatic answer.",
    ]
    assert "This is an automatic answer." in str(fake.transcript())


@needs("openai>=2", "pydantic")
def test_with_a_model_and_a_tool() -> None:
    import openai
    import pydantic

    class Step(pydantic.BaseModel):
        what: str
        minutes: int = pydantic.Field(ge=5)
        then: Step | None

    tool = {
        "type": "function",
        "function": {
            "name": "look",
            "parameters": {"type": "object", "properties": {"where": {"enum": ["up"]}}, "required": ["where"]},
        },
    }
    asked: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "Go"}]}
    with fake_llm.intercept(default=Auto()):
        client = openai.OpenAI()
        parsed = client.chat.completions.parse(**asked, response_format=Step).choices[0].message.parsed
        called = client.chat.completions.create(**asked, tools=[tool]).choices[0].message.tool_calls
        vector = client.embeddings.create(model="text-embedding-3-small", input="a").data[0].embedding

    assert parsed == Step(what="what", minutes=5, then=Step(what="what", minutes=5, then=None))
    assert [(call.function.name, call.function.arguments) for call in called] == [("look", '{"where":"up"}')]
    assert len(vector) == 1536


HOSTILE: list[Any] = [
    {"type": "string", "minLength": 10**9},
    {"type": "string", "minLength": 900_000, "pattern": "^[ab]{3}$"},
    {"type": "string", "pattern": "a{1000000000}"},
    {"type": "string", "pattern": "((a{1000}){1000}){1000}"},
    {"type": "object", "minProperties": 10**8},
    {"type": "array", "minItems": 10**8},
    {"type": "number", "multipleOf": 0},
    {"type": "string", "minLength": "x"},
    {"type": "object", "required": 5},
    {"$ref": "#/anyOf/" + "9" * 5_000, "anyOf": [{"type": "string"}]},
    {"$ref": "#/anyOf/\u00b2", "anyOf": [{"type": "string"}]},
    {
        "$ref": "#/$defs/a0",
        "$defs": {
            **{f"a{n}": {"type": "array", "minItems": 2, "items": {"$ref": f"#/$defs/a{n + 1}"}} for n in range(40)},
            "a40": {"type": "string"},
        },
    },
]


@pytest.mark.parametrize("schema", HOSTILE, ids=lambda schema: ascii(schema)[:60])
def test_a_schema_that_nothing_can_be_made_by_is_a_mismatch(schema: Any) -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "x"}], "response_format": asked}
    with (
        pytest.raises(ScriptMismatchError, match=r"The turn is Auto\(\)"),
        fake_llm.intercept([Auto()]),
    ):
        httpx.post("https://api.openai.com/v1/chat/completions", json=body)
