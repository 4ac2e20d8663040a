"""Images: a picture that follows from the prompt unless a rule pins one.

A turn is `Image(bytes)`, one for each image that is asked for or one for all, or `Image(url)` where the API gives URLs. Answers
with a URL as recorded (2023-10 to 2026-03), those of GPT Image by the types of OpenAI's SDK and its schema (3.57, 2026-11), as
are those of Together (3.1), xAI and Imagen (google-genai 3.6). What they share with chat, errors and headers, is chat's.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import CREATED, Delta, Exchange, WireEvent, media, message
from fake_llm._dialects import gemini, openai_chat
from fake_llm._dialects.openai_chat import refused, wrong_type
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._failures import Usual
from fake_llm._model import Fault, Request, Response, Usage, View
from fake_llm._services._base import Memory, Store
from fake_llm._services._samples import PICTURES, picture
from fake_llm._tokens import tokens
from fake_llm._turns import Error, Image, Reply

__all__ = ["GEMINI", "KEPT", "OPENAI", "PLACES", "TOGETHER", "XAI", "fetched"]

PLACES: Final[Mapping[str, str]] = {
    "openai": "https://oaidalleapiprodscus.blob.core.windows.net/private/org-fakellm/user-fakellm/img-{name}.{kind}",
    "azure": "https://dalleproduse.blob.core.windows.net/private/images/{name}/generated_00.{kind}",
    "together": "https://api.together.ai/imgproxy/{name}.{kind}",
    "xai": "https://imgen.x.ai/xai-imgen/xai-tmp-imgen-{name}.{kind}",
}
"""Where an image is fetched from, by provider; without the query, in which the real ones are signed."""

_SHELF: Final = "images"
_SIZE: Final = re.compile(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", re.ASCII)
_TOKENS: Final = {"low": 272, "medium": 1056, "high": 4160}
"""Of an image of 1024 by 1024, by its quality (OpenAI's prices, 2026)."""
_INPUT_IMAGE: Final = 194


# --- what is asked ------------------------------------------------------------------------------


def _whole_number(value: Any) -> int | None:
    """A number in JSON, or the text of one in a form."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _count(body: Mapping[str, Any], name: str = "n") -> int:
    return _whole_number(body.get(name)) or 1


def _given(body: Mapping[str, Any]) -> list[Any]:
    """The images that come with the request."""
    found = body.get("image", body.get("images", body.get("image_url")))
    return found if isinstance(found, list) else [] if found is None else [found]


def _verb(request: Request) -> str:
    return request.path.rstrip("/").rpartition("/")[2]


def _edits(request: Request) -> bool:
    return _verb(request) == "edits"


_NOT_PARAMS: Final = frozenset({"prompt", "model", "image", "images", "image_url", "mask", "stream"})
_NUMBERS: Final = frozenset({"n", "partial_images", "output_compression"})


def _read(request: Request, body: Any) -> View:
    prompt = body.get("prompt")
    texts = [prompt] if isinstance(prompt, str) else []
    params = {
        name: _whole_number(value) if name in _NUMBERS else value
        for name, value in body.items()
        if name not in _NOT_PARAMS and value is not None
    }
    return View((message("user", [*texts, *(media("[image]") for _ in _given(body))]),), params=params)


def _stream(request: Request, body: Any) -> bool:
    return isinstance(body, dict) and body.get("stream") in (True, "true", "True")


# --- refusals -----------------------------------------------------------------------------------

_CHOSEN: Final[Mapping[str, Sequence[str]]] = {
    "response_format": ("url", "b64_json"),
    "output_format": tuple(PICTURES),
    "background": ("transparent", "opaque", "auto"),
    "moderation": ("low", "auto"),
}
_MOST: Final = 10


def _missing(name: str) -> Error:
    return refused(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")


def _check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return refused(openai_chat.BAD_JSON)
    prompt = body.get("prompt")
    if _verb(request) != "variations":
        if prompt is None:
            return _missing("prompt")
        if not isinstance(prompt, str):
            return wrong_type("prompt", "a string", prompt)
    if _verb(request) != "generations" and not _given(body):
        return _missing("image")
    return _check_settings(body)


def _check_settings(body: Mapping[str, Any]) -> Error | None:
    for name, values in _CHOSEN.items():
        value = body.get(name)
        if value is not None and value not in values:
            said = ", ".join(f"'{one}'" for one in values[:-1])
            return refused(
                f"Invalid value: '{value}'. Supported values are: {said} and '{values[-1]}'.", name, "invalid_value"
            )
    for name, least, most in (("n", 1, _MOST), ("partial_images", 0, 3)):
        value = body.get(name)
        number = _whole_number(value)
        if value is not None and number is None:
            return wrong_type(name, "an integer", value)
        if number is not None and not least <= number <= most:
            below = number < least
            return refused(
                f"Invalid '{name}': integer {'below minimum' if below else 'above maximum'} value. "
                f"Expected a value {'>=' if below else '<='} {least if below else most}, but got {number} instead.",
                name,
                f"integer_{'below_min' if below else 'above_max'}_value",
            )
    size = body.get("size")
    if size is not None and size != "auto" and not (isinstance(size, str) and _SIZE.fullmatch(size)):
        return refused(
            f"Invalid value: '{size}'. Supported values are: '1024x1024', '1024x1536', '1536x1024', and 'auto'.",
            "size",
            "invalid_value",
        )
    return None


# --- pictures -----------------------------------------------------------------------------------


def _pixels(exchange: Exchange) -> tuple[int, int]:
    body = exchange.body
    found = _SIZE.fullmatch(body["size"]) if isinstance(body.get("size"), str) else None
    if found is not None:
        return int(found[1]), int(found[2])
    return _whole_number(body.get("width")) or 1024, _whole_number(body.get("height")) or 1024


def _kind(exchange: Exchange) -> str:
    return exchange.body.get("output_format") or "png"


def _prompt(exchange: Exchange) -> str:
    said = exchange.view.messages[0]
    return said.text if said.plain is None else said.plain


def _images(exchange: Exchange, count: int, size: tuple[int, int], kind: str) -> list[Image]:
    """One for each that is asked for: those of the turn, else made up."""
    pinned: tuple[Image, ...] = exchange.choice.of(Image)
    if not pinned:
        body = exchange.body
        transparent = body.get("background") == "transparent"
        prompt = _prompt(exchange)
        seeds = [prompt if index == 0 else f"{prompt}\n{index}" for index in range(count)]
        return [Image(picture(seed, *size, kind, transparent=transparent), PICTURES[kind]) for seed in seeds]
    if len(pinned) == 1:
        return [pinned[0]] * count
    if len(pinned) != count:
        raise ScriptMismatchError(
            sentence(
                f"The turn has {len(pinned)} images.",
                f"The request asks for {count} (n={count}).",
                f"Write {count} of them, or one Image(…) for all.",
            )
        )
    return list(pinned)


def _encoded(image: Image) -> str:
    if isinstance(image.data, bytes):
        return image.base64
    raise ScriptMismatchError(
        sentence(
            f"The turn has {image!r}.",
            "The answer to this request has the bytes of the image, in base64.",
            "Write Image(png_bytes), or let the code ask for a URL.",
        )
    )


def _url(exchange: Exchange, image: Image) -> str:
    if isinstance(image.data, str):
        return image.data
    place = PLACES.get(exchange.provider, PLACES["openai"])
    kind = next((name for name, kind in PICTURES.items() if kind == image.media_type), "png")
    return place.format(name=blake2b(image.data, digest_size=12).hexdigest(), kind=kind)


_SIGNED: Final = (
    "?st=2025-12-31T23%3A00%3A00Z&se=2026-01-01T01%3A00%3A00Z&sp=r&sv=2026-02-06&sr=b&rscd=inline&rsct=image/{kind}"
    "&skoid=00000000-0000-0000-0000-000000000000&sktid=00000000-0000-0000-0000-000000000000"
    "&skt=2025-12-31T00%3A00%3A00Z&ske=2026-01-01T00%3A00%3A00Z&sks=b&skv=2026-02-06&sig=fake"
)


def _link(exchange: Exchange, image: Image) -> str:
    """The URL as it is given: of Azure's storage, signed."""
    url = _url(exchange, image)
    signed = isinstance(image.data, bytes) and ".blob.core.windows.net/" in url
    return url + _SIGNED.format(kind=url.rpartition(".")[2]) if signed else url


def _as_links(exchange: Exchange) -> bool:
    """Whether an answer has URLs: where they are asked for, or nothing is said; GPT Image never gives one."""
    if exchange.asked.dialect.name == "openai_images" and _is_gpt(exchange):
        return False
    return bool(exchange.body.get("response_format", "url") == "url")


def _is_gpt(exchange: Exchange) -> bool:
    """Whether it is a model of GPT Image: all but those of before, which are named, or are meant where none is."""
    model = exchange.asked.dialect.model(exchange.request, exchange.body).lower()
    return bool(model) and "dall" not in model and _verb(exchange.request) != "variations"


# --- OpenAI -------------------------------------------------------------------------------------


def _quality(exchange: Exchange) -> str:
    asked = exchange.body.get("quality")
    return asked if isinstance(asked, str) and asked not in ("auto", "standard") else "medium"


def _counted(exchange: Exchange) -> Usage:
    """The prompt and the images that came with it; for each image that is made a number by its size and quality."""
    body = exchange.body
    prompt = body.get("prompt")
    seen = _INPUT_IMAGE * len(_given(body))
    spent = tokens(prompt) if isinstance(prompt, str) else 0
    width, height = _pixels(exchange)
    made = round(_TOKENS.get(_quality(exchange), _TOKENS["high"]) * width * height / 1024**2) * _count(body)
    return Usage(spent + seen, made)


def _usage(exchange: Exchange, *, whole: bool) -> dict[str, Any]:
    usage = exchange.usage
    seen = min(usage.input_tokens, _INPUT_IMAGE * len(_given(exchange.body)))
    details = {"image_tokens": seen, "text_tokens": usage.input_tokens - seen}
    made = {"output_tokens_details": {"image_tokens": usage.output_tokens, "text_tokens": 0}} if whole else {}
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": details,
        "output_tokens": usage.output_tokens,
        **made,
        "total_tokens": usage.total,
        **usage.details,
    }


def _form(exchange: Exchange) -> dict[str, str]:
    """What the answer says of its images."""
    body = exchange.body
    size = body.get("size")
    return {
        "background": "transparent" if body.get("background") == "transparent" else "opaque",
        "output_format": _kind(exchange),
        "quality": _quality(exchange),
        "size": size if isinstance(size, str) and size != "auto" else "1024x1024",
    }


def _openai_images(exchange: Exchange) -> list[Image]:
    kind = _kind(exchange) if _is_gpt(exchange) else "png"
    return _images(exchange, _count(exchange.body), _pixels(exchange), kind)


def _document(exchange: Exchange) -> dict[str, Any]:
    found = _openai_images(exchange)
    if not _is_gpt(exchange):
        revised = {"revised_prompt": exchange.body.get("prompt", "")} if "dall-e-3" in exchange.model else {}
        data = [{**revised, **_datum(exchange, image)} for image in found]
        return exchange.extend({"created": exchange.created, "data": data})
    form = _form(exchange)
    return exchange.extend(
        {
            "created": exchange.created,
            "background": form["background"],
            "data": [{"b64_json": _encoded(image)} for image in found],
            "output_format": form["output_format"],
            "quality": form["quality"],
            "size": form["size"],
            "usage": _usage(exchange, whole=True),
        }
    )


def _datum(exchange: Exchange, image: Image) -> dict[str, Any]:
    return {"url": _link(exchange, image)} if _as_links(exchange) else {"b64_json": _encoded(image)}


def _events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """Partial images, as many as are asked for, then the whole one; made up, each is as good as the last."""
    kind = "image_edit" if _edits(exchange.request) else "image_generation"
    found = _openai_images(exchange)
    form = _form(exchange)
    said = {
        "created_at": CREATED,
        "size": form["size"],
        "quality": form["quality"],
        "background": form["background"],
        "output_format": form["output_format"],
    }
    partial = _whole_number(exchange.body.get("partial_images")) or 0
    content: list[WireEvent] = [
        Delta(type=f"{kind}.partial_image", b64_json=_encoded(image), **said, partial_image_index=index)
        for image in found
        for index in range(partial)
    ]
    usage = _usage(exchange, whole=False)
    closing: list[WireEvent] = [
        exchange.extend({"type": f"{kind}.completed", "b64_json": _encoded(image), **said, "usage": usage})
        for image in found
    ]
    return content, closing


def _parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these images again."""
    media_type = PICTURES.get(document.get("output_format") or "png", "image/png")
    usage = document.get("usage") or {}
    read, made = usage.get("input_tokens"), usage.get("output_tokens")
    return Reply(
        *(
            Image(base64.b64decode(item["b64_json"]), media_type) if item.get("b64_json") else Image(item["url"])
            for item in document["data"]
        ),
        usage=Usage(read, made) if isinstance(read, int) and isinstance(made, int) else None,
    )


_BLOCKED: Final = (
    "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com "
    "and include the request ID {id}. safety_violations=[violence]."
)


_ERRORS: Final = replace(
    openai_chat.ERRORS,
    usual={
        **openai_chat.ERRORS.usual,
        "content_filter": Usual(
            400, "image_generation_user_error", _BLOCKED, "moderation_blocked", None, "application/json"
        ),
    },
)
"""Those of chat, but for what is blocked (users reported it from 2025 on)."""
_BY_MODEL: Final = replace(_ERRORS, encode=_json.pretty)


def _failure(exchange: Exchange, error: Error) -> Response:
    blocked = error.name == "content_filter"
    return _BY_MODEL.failure(exchange, error) if blocked else openai_chat.DIALECT.failure(exchange, error)


OPENAI: Final = replace(
    openai_chat.DIALECT,
    name="openai_images",
    label="OpenAI images",
    failure=_failure,
    failure_events=_ERRORS.failure_events,
    read=_read,
    check=_check,
    stream=_stream,
    document=_document,
    events=_events,
    parts=_parts,
    carries=frozenset({Image}),
    choices=False,
    shaping=None,
    counted=_counted,
    sdk_types=("openai.types.images_response.ImagesResponse",),
)
"""`POST /v1/images/generations`, `/v1/images/edits` and `/v1/images/variations`."""


# --- Together -----------------------------------------------------------------------------------


def _together_images(exchange: Exchange) -> list[Image]:
    kind = "png" if exchange.body.get("output_format") == "png" else "jpeg"
    return _images(exchange, _count(exchange.body), _pixels(exchange), kind)


def _together_document(exchange: Exchange) -> dict[str, Any]:
    kind = "url" if _as_links(exchange) else "b64_json"
    found = _together_images(exchange)
    data = [{"index": index, "type": kind, **_datum(exchange, image)} for index, image in enumerate(found)]
    return exchange.extend(
        {"id": exchange.id or exchange.ids.alnum(24), "model": exchange.model, "object": "list", "data": data}
    )


def _together_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return refused(openai_chat.BAD_JSON)
    for name in ("model", "prompt"):
        if not isinstance(body.get(name), str):
            return _missing(name) if body.get(name) is None else wrong_type(name, "a string", body[name])
    form = body.get("response_format")
    if form not in (None, "url", "base64", "b64_json"):
        return refused(f"Invalid value: '{form}'. Supported values are: 'url' and 'base64'.", "response_format")
    return None


TOGETHER: Final = replace(
    OPENAI,
    name="together_images",
    label="Together images",
    check=_together_check,
    stream=lambda request, body: False,
    document=_together_document,
    sdk_types=("together.types.image_file.ImageFile",),
)
"""`POST /v1/images/generations` of Together."""


# --- xAI ----------------------------------------------------------------------------------------


def _xai_images(exchange: Exchange) -> list[Image]:
    return _images(exchange, _count(exchange.body), (1024, 768), "jpeg")


def _xai_document(exchange: Exchange) -> dict[str, Any]:
    found = _xai_images(exchange)
    return exchange.extend(
        {"data": [{**_datum(exchange, image), "mime_type": image.media_type, "revised_prompt": ""} for image in found]}
    )


XAI: Final = replace(
    OPENAI,
    name="xai_images",
    label="xAI images",
    stream=lambda request, body: False,
    document=_xai_document,
    sdk_types=(),
)
"""`POST /v1/images/generations` and `/v1/images/edits` of xAI, always JPEG (its documentation, 2026)."""


# --- Imagen -------------------------------------------------------------------------------------

_RATIOS: Final = {"1:1": (1024, 1024), "3:4": (896, 1280), "4:3": (1280, 896), "9:16": (768, 1408), "16:9": (1408, 768)}


def _instances(body: Any) -> list[Any]:
    found = body.get("instances") if isinstance(body, dict) else None
    return found if isinstance(found, list) else [] if found is None else [found]


def _parameters(body: Mapping[str, Any]) -> Mapping[str, Any]:
    found = body.get("parameters")
    return found if isinstance(found, dict) else {}


def _gemini_read(request: Request, body: Any) -> View:
    prompts = [item["prompt"] for item in _instances(body)]
    return View(tuple(message("user", [prompt]) for prompt in prompts), params=dict(_parameters(body)))


def _gemini_check(request: Request, body: Any) -> Error | None:
    instances = _instances(body)
    if not instances:
        return gemini.DIALECT.check(request, body) if not isinstance(body, dict) else Error(400, "Empty instances.")
    if not all(isinstance(item, dict) and isinstance(item.get("prompt"), str) for item in instances):
        return Error(400, "Text prompt must be provided.")
    count = _whole_number(_parameters(body).get("sampleCount", 1))
    if count is None or not 1 <= count <= 8:
        return Error(400, "sampleCount must be between 1 and 8.")
    return None


def _gemini_document(exchange: Exchange) -> dict[str, Any]:
    asked = _parameters(exchange.body)
    output = asked.get("outputOptions")
    jpeg = isinstance(output, dict) and output.get("mimeType") == "image/jpeg"
    size = _RATIOS.get(asked.get("aspectRatio", "1:1"), _RATIOS["1:1"])
    found = _images(exchange, _count(asked, "sampleCount"), size, "jpeg" if jpeg else "png")
    predictions = [{"mimeType": image.media_type, "bytesBase64Encoded": _encoded(image)} for image in found]
    return exchange.extend({"predictions": predictions})


def _gemini_parts(document: Mapping[str, Any]) -> Reply:
    return Reply(
        *(Image(base64.b64decode(item["bytesBase64Encoded"]), item["mimeType"]) for item in document["predictions"])
    )


GEMINI: Final = replace(
    gemini.DIALECT,
    name="gemini_images",
    label="Imagen",
    read=_gemini_read,
    check=_gemini_check,
    stream=lambda request, body: False,
    document=_gemini_document,
    parts=_gemini_parts,
    carries=frozenset({Image}),
    choices=False,
    shaping=None,
    counted=lambda exchange: Usage(sum(tokens(item["prompt"]) for item in _instances(exchange.body)), 0),
    sdk_types=(),
)
"""`:predict` of Imagen's models, on the Gemini API and on Vertex AI."""


# --- what URLs are fetched from -----------------------------------------------------------------

_MADE: Final[Mapping[str, Callable[[Exchange], list[Image]]]] = {
    "openai_images": _openai_images,
    "together_images": _together_images,
    "xai_images": _xai_images,
}


def _keep(store: Store, exchange: Exchange, answer: Response | Fault) -> None:
    if exchange.choices and isinstance(answer, Response) and _as_links(exchange):
        for image in _MADE[exchange.asked.dialect.name](exchange):
            store.shelf(_SHELF)[_url(exchange, image)] = image


KEPT: Final = Memory(recall=lambda store, exchange: (), keep=_keep)
"""Images that were answered with a URL can be fetched from it, as long as the fake is asked."""

_GONE: Final = (
    b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?><Error><Code>BlobNotFound</Code>'
    b"<Message>The specified blob does not exist.</Message></Error>"
)


def fetched(store: Store, exchange: Exchange) -> Response:
    """`GET` of the URL in an answer."""
    request = exchange.request
    image = store.shelf(_SHELF).get(f"https://{request.host}{request.path}")
    if image is None:
        return Response(404, (("content-type", "application/xml"),), _GONE)
    return Response(200, (("content-type", image.media_type),), image.data)
