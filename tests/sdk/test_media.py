"""Images and sound, as the SDKs of those who make and hear them ask for it."""

from __future__ import annotations

import asyncio
import base64
import importlib
import io
import itertools
import json
import struct
import wave
from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _capability import has, load, needs
from _driver import Driver
from fake_llm import Audio, Disconnect, Error, FakeLLM, Image, Raw, Reply, ScriptMismatchError, Usage
from fake_llm._turns import ERROR_NAMES

needs_openai = needs("openai>=2")
deprecated = pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff\xe0", "webp": b"RIFF", "gif": b"GIF89a"}
PNG, OTHER = MAGIC["png"] + b"one", MAGIC["png"] + b"two"
CAT = {"model": "gpt-image-2", "prompt": "a cat"}
FORMATS = {"mp3": "audio/mpeg", "opus": "audio/ogg", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav"}


def silence(seconds: float) -> tuple[str, bytes]:
    """A recording as users have it: a file with a name."""
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(8000)
        wav.writeframes(bytes(int(16000 * seconds)))
    return "meeting.wav", file.getvalue()


def client(name: str, kind: str, **options: Any) -> Any:
    openai = importlib.import_module("openai")
    return getattr(openai, ("Async" if kind == "async" else "") + name)(
        max_retries=0, _strict_response_validation=True, **options
    )


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Any:
    load("openai>=2")
    with fake_llm.intercept():
        made = Driver(client("OpenAI", request.param))
    yield made
    made.close()


def bytes_of(answer: Any) -> list[bytes]:
    return [base64.b64decode(item.b64_json) for item in answer.data]


# --- images -------------------------------------------------------------------------------------


@fake_llm.intercept()
def test_a_picture_is_made_up_from_the_prompt(fake: FakeLLM, ask: Driver) -> None:
    first, again = ask("images.generate", **CAT), ask("images.generate", **CAT)
    other = ask("images.generate", **{**CAT, "prompt": "a dog"})
    assert bytes_of(first) == bytes_of(again) != bytes_of(other)
    (data,) = bytes_of(first)
    assert data.startswith(MAGIC["png"])
    assert struct.unpack(">II", data[16:24]) == (1024, 1024)
    assert (first.output_format, first.background, first.quality, first.size) == (
        *("png", "opaque", "medium"),
        "1024x1024",
    )
    call = fake.calls[0]
    assert (call.operation, call.user_texts, call.model) == ("images", ("a cat",), "gpt-image-2")
    assert call.usage == Usage(first.usage.input_tokens, first.usage.output_tokens)
    assert first.usage.total_tokens == first.usage.input_tokens + first.usage.output_tokens
    assert first.usage.input_tokens_details.text_tokens == first.usage.input_tokens


@fake_llm.intercept()
@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", pytest.param("gif", marks=needs("openai>=3"))])
def test_the_format_and_the_size_are_those_that_are_asked_for(ask: Driver, kind: str) -> None:
    answer = ask("images.generate", **CAT, size="1024x1536", output_format=kind)
    (data,) = bytes_of(answer)
    assert data.startswith(MAGIC[kind])
    assert (answer.size, answer.output_format) == ("1024x1536", kind)
    if kind == "png":
        assert struct.unpack(">II", data[16:24]) == (1024, 1536)


@fake_llm.intercept()
def test_several_images_are_different_ones(ask: Driver) -> None:
    answer = ask("images.generate", **CAT, n=3, background="transparent", quality="high")
    assert len(set(bytes_of(answer))) == 3
    assert (answer.background, answer.quality) == ("transparent", "high")


@fake_llm.intercept()
def test_a_rule_pins_images(fake: FakeLLM, ask: Driver) -> None:
    fake.when(operation="images", input="cat").reply(Image(PNG))
    fake.when(operation="images").reply([Image(PNG), Image(OTHER)])
    assert bytes_of(ask("images.generate", **CAT, n=2)) == [PNG, PNG]
    assert bytes_of(ask("images.generate", model="gpt-image-2", prompt="dogs", n=2)) == [PNG, OTHER]


def test_a_rule_has_as_many_images_as_are_asked_for(ask: Driver) -> None:
    with pytest.raises(ScriptMismatchError, match="2 images") as raised, fake_llm.intercept() as fake:
        fake.when(operation="images").reply([Image(PNG), Image(OTHER)])
        ask("images.generate", **CAT, n=3)
    assert "n=3" in str(raised.value)


@fake_llm.intercept()
@pytest.mark.parametrize("pinned", [None, Image(b"\xff\xd8pinned", media_type="image/jpeg")])
def test_a_url_is_fetched_in_the_block(fake: FakeLLM, ask: Driver, pinned: Image | None) -> None:
    import httpx

    if pinned is not None:
        fake.when(operation="images").reply(pinned)
    answer = ask("images.generate", model="dall-e-3", prompt="a cat")
    assert answer.usage is None
    assert answer.data[0].revised_prompt == "a cat"
    got, again = httpx.get(answer.data[0].url), httpx.get(answer.data[0].url)
    assert (got.status_code, got.content) == (200, again.content)
    assert got.headers["content-type"] == ("image/png" if pinned is None else "image/jpeg")
    assert got.content == pinned.data if pinned is not None else got.content.startswith(MAGIC["png"])
    assert len(fake.calls) == 1
    assert [call.operation for call in fake.side_calls] == ["files", "files"]
    missing = httpx.get(answer.data[0].url.replace("img-", "img-0"))
    assert (missing.status_code, "BlobNotFound" in missing.text) == (404, True)


@fake_llm.intercept()
def test_a_url_of_one_s_own(fake: FakeLLM, ask: Driver) -> None:
    fake.when(operation="images").reply(Image("https://images.example/cat.png"))
    answer = ask("images.generate", model="dall-e-2", prompt="a cat")
    assert answer.data[0].url == "https://images.example/cat.png"


def test_gpt_image_gives_no_url(ask: Driver) -> None:
    with pytest.raises(ScriptMismatchError, match="base64"), fake_llm.intercept() as fake:
        fake.when(operation="images").reply(Image("https://images.example/cat.png"))
        ask("images.generate", **CAT)


@fake_llm.intercept()
def test_the_former_models_give_bytes_too(ask: Driver) -> None:
    answer = ask("images.generate", model="dall-e-2", prompt="a cat", response_format="b64_json", size="256x256")
    assert struct.unpack(">II", bytes_of(answer)[0][16:24]) == (256, 256)
    assert answer.output_format is None


@fake_llm.intercept()
def test_an_edit_of_several_images(fake: FakeLLM, ask: Driver) -> None:
    files = [("cat.png", PNG, "image/png"), ("dog.png", OTHER, "image/png")]
    answer = ask("images.edit", image=files, mask=PNG, prompt="both", model="gpt-image-2", n=2)
    assert len(answer.data) == 2
    assert answer.usage.input_tokens_details.image_tokens > 0
    call = fake.calls[0]
    assert (call.user_texts, call.last_user_text) == (("both",), "both\n[image]\n[image]")
    assert call.params["n"] == 2
    assert [(file.filename, file.media_type, file.data) for file in call.body["image"]] == files_of(files)
    assert "one" not in repr(call.body)
    with pytest.raises(TypeError, match="can't be altered"):
        call.body["image"].append(PNG)


def files_of(files: list[tuple[str, bytes, str]]) -> list[tuple[str, str, bytes]]:
    return [(name, kind, data) for name, data, kind in files]


@deprecated
@fake_llm.intercept()
def test_a_variation(ask: Driver) -> None:
    answer = ask("images.create_variation", image=PNG, n=2, response_format="b64_json", size="256x256")
    assert len(answer.data) == 2


@fake_llm.intercept()
@pytest.mark.parametrize("partial", [0, 1, 3])
@pytest.mark.parametrize("verb", ["generate", "edit"])
def test_partial_images_are_streamed(ask: Driver, verb: str, partial: int) -> None:
    image = {"image": ("cat.png", PNG, "image/png")} if verb == "edit" else {}
    *parts, done = ask(f"images.{verb}", **CAT, **image, stream=True, partial_images=partial, output_format="webp")
    kind = "image_edit" if verb == "edit" else "image_generation"
    assert [event.type for event in parts] == [f"{kind}.partial_image"] * partial
    assert [event.partial_image_index for event in parts] == list(range(partial))
    assert (done.type, done.output_format) == (f"{kind}.completed", "webp")
    assert base64.b64decode(done.b64_json)[8:12] == b"WEBP"
    assert done.usage.output_tokens > 0


@fake_llm.intercept()
def test_a_stream_that_breaks_off(fake: FakeLLM, ask: Driver) -> None:
    openai = importlib.import_module("openai")
    fake.when(operation="images").reply(Reply(Image(PNG), then=Error("server_error")))
    with pytest.raises(openai.APIError):
        ask("images.generate", **CAT, stream=True, partial_images=1)


@needs_openai
@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"prompt": None}, "prompt", "missing_required_parameter"),
        ({"prompt": 3}, "prompt", "invalid_type"),
        ({"n": 11}, "n", "integer_above_max_value"),
        ({"n": 0}, "n", "integer_below_min_value"),
        ({"output_format": "bmp"}, "output_format", "invalid_value"),
        ({"size": "large"}, "size", "invalid_value"),
        ({"partial_images": 4}, "partial_images", "integer_above_max_value"),
    ],
)
@fake_llm.intercept()
def test_a_malformed_request_is_refused(fields: dict[str, Any], param: str, code: str) -> None:
    openai = importlib.import_module("openai")
    with pytest.raises(openai.BadRequestError) as raised:
        client("OpenAI", "sync").images.generate(**{**CAT, **fields})
    assert (raised.value.param, raised.value.code) == (param, code)


@needs_openai
@fake_llm.intercept()
def test_errors_of_images(fake: FakeLLM) -> None:
    openai = importlib.import_module("openai")
    fake.when(operation="images").reply(Error("content_filter"), Error(429), Raw({"created": 1, "data": []}))
    made = client("OpenAI", "sync")
    with pytest.raises(openai.BadRequestError) as raised:
        made.images.generate(**CAT)
    assert (raised.value.code, raised.value.type) == ("moderation_blocked", "image_generation_user_error")
    with pytest.raises(openai.RateLimitError):
        made.images.generate(**CAT)
    assert made.images.generate(**CAT).data == []


@needs_openai
@pytest.mark.parametrize("name", ERROR_NAMES)
@fake_llm.intercept()
def test_an_error_in_a_stream_of_images_is_the_plain_one(name: str, fake: FakeLLM) -> None:
    openai = importlib.import_module("openai")
    fake.when(operation="images").reply(Error(name), Reply(Image(PNG), then=Error(name)))
    made = client("OpenAI", "sync")
    said = []
    for stream in (False, True):
        with pytest.raises(openai.APIError) as raised:
            list(made.images.generate(**CAT, stream=stream))
        said.append((raised.value.code, raised.value.type, raised.value.body["message"].split("req_")[0]))
    assert said[0] == said[1]
    assert (said[0][0] == "moderation_blocked") == (name == "content_filter")


@needs_openai
@fake_llm.intercept()
def test_an_sdk_s_own_object(fake: FakeLLM) -> None:
    made = client("OpenAI", "sync")
    answer = made.images.generate(**CAT)
    fake.when(operation="images").reply(answer)
    assert made.images.generate(**CAT) == answer
    *_, done = made.images.generate(**CAT, stream=True)
    assert done.b64_json == answer.data[0].b64_json


@needs_openai
@fake_llm.intercept()
def test_a_retry_of_a_form_is_known(fake: FakeLLM) -> None:
    """Each attempt has another boundary."""
    fake.when(operation="images").reply(Error(500), Error(500), Image(PNG))
    made = importlib.import_module("openai").OpenAI()
    answer = made.images.edit(image=PNG, prompt="a cat", model="gpt-image-2")
    assert bytes_of(answer) == [PNG]
    assert len({call.raw for call in fake.calls}) == 3
    assert [[call.attempt for call in group] for group in fake.calls.grouped()] == [[1, 2, 3]]


@needs_openai
def test_ids_of_a_form_are_the_same_each_time() -> None:
    def once() -> str:
        with fake_llm.intercept() as fake:
            client("OpenAI", "sync").images.edit(image=PNG, prompt="a cat", model="gpt-image-2")
        assert fake.calls[0].response is not None
        return fake.calls[0].response.headers["x-request-id"]

    assert once() == once()


@needs_openai
@fake_llm.intercept()
def test_images_on_azure(fake: FakeLLM) -> None:
    import httpx

    made = client("AzureOpenAI", "sync")
    answer = made.images.generate(model="dall-e-3", prompt="a cat")
    assert fake.calls[0].provider == "azure"
    assert httpx.get(answer.data[0].url).content.startswith(MAGIC["png"])
    assert made.images.edit(image=PNG, model="gpt-image-1.5", prompt="a cat").data
    assert made.audio.speech.create(model="tts-1", voice="alloy", input="Hi").content
    assert made.audio.transcriptions.create(model="whisper-1", file=silence(1)).text


@needs_openai
@fake_llm.intercept()
def test_images_of_xai(fake: FakeLLM) -> None:
    import httpx

    made = importlib.import_module("openai").OpenAI(base_url="https://api.x.ai/v1", api_key="x")
    url = made.images.generate(model="grok-imagine-image", prompt="a cat").data[0].url
    assert httpx.get(url).content.startswith(MAGIC["jpeg"])
    data = made.images.generate(model="grok-imagine-image", prompt="a cat", n=2, response_format="b64_json").data
    assert [base64.b64decode(item.b64_json)[:4] for item in data] == [MAGIC["jpeg"]] * 2


@needs("together>=3")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_images_of_together(kind: str) -> None:
    import httpx

    together = importlib.import_module("together")
    with fake_llm.intercept() as fake:
        ask = Driver(getattr(together, "AsyncTogether" if kind == "async" else "Together")(max_retries=0))
        answer = ask("images.generate", model="black-forest-labs/FLUX.1-schnell", prompt="a cat", n=2)
        assert [item.index for item in answer.data] == [0, 1]
        assert httpx.get(answer.data[0].url).content.startswith(MAGIC["jpeg"])
        fake.when(operation="images").reply(Image(PNG))
        (item,) = ask("images.generate", model="m", prompt="a cat", response_format="base64", width=64, height=64).data
        assert (item.type, base64.b64decode(item.b64_json)) == ("b64_json", PNG)
        with pytest.raises(together.BadRequestError):
            ask("images.generate", model="m", prompt=None)
        ask.close()


@needs("google-genai>=1")
@pytest.mark.filterwarnings("ignore:The generate_images method is deprecated")
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    "provider",
    ["vertex", pytest.param("gemini", marks=needs("google-genai<3"))],  # only on Vertex AI since
)
@fake_llm.intercept()
def test_images_of_imagen(fake: FakeLLM, kind: str, provider: str) -> None:
    genai = importlib.import_module("google.genai")
    made = genai.Client(vertexai=True, project="p", location="global") if provider == "vertex" else genai.Client()

    def generate(**config: Any) -> Any:
        asked = {"model": "imagen-4.0-generate-001", "prompt": "a cat", "config": config}
        if kind == "async":
            return asyncio.run(made.aio.models.generate_images(**asked)).generated_images
        return made.models.generate_images(**asked).generated_images

    first, second = generate(number_of_images=2, aspect_ratio="16:9")
    assert struct.unpack(">II", first.image.image_bytes[16:24]) == (1408, 768)
    assert first.image.image_bytes != second.image.image_bytes
    assert (fake.calls[0].user_texts, fake.calls[0].provider) == (("a cat",), provider)
    assert fake.calls[0].model == "imagen-4.0-generate-001"
    (third,) = generate(number_of_images=1, output_mime_type="image/jpeg")
    assert (third.image.mime_type, third.image.image_bytes[:4]) == ("image/jpeg", MAGIC["jpeg"])
    fake.when(operation="images").reply(Image(PNG))
    assert generate(number_of_images=1)[0].image.image_bytes == PNG


# --- the files themselves -----------------------------------------------------------------------


@needs("av", "openai>=2")
@fake_llm.intercept()
@pytest.mark.parametrize("size", ["1024x1024", "70x133", "64x64"])
@pytest.mark.parametrize("kind", MAGIC)
@pytest.mark.parametrize("background", ["opaque", "transparent"])
def test_a_decoder_reads_the_picture(kind: str, size: str, background: str) -> None:
    av = importlib.import_module("av")
    asked = {**CAT, "size": size, "background": background, "extra_body": {"output_format": kind}}
    answer = importlib.import_module("openai").OpenAI().images.generate(**asked)
    (data,) = bytes_of(answer)
    with av.open(io.BytesIO(data)) as container:
        frame = next(container.decode(video=0))
    assert f"{frame.width}x{frame.height}" == size
    plane = frame.reformat(format="rgba").planes[0]
    pixels = bytes(plane)
    rows = [pixels[start : start + 4 * frame.width] for start in range(0, len(pixels), plane.line_size)]
    assert len({row[at : at + 4] for row in rows for at in range(0, len(row), 4)}) > 1


@needs("av", "openai>=2")
@fake_llm.intercept()
@pytest.mark.parametrize("kind", FORMATS)
def test_a_decoder_reads_the_sound(kind: str) -> None:
    av = importlib.import_module("av")
    made = importlib.import_module("openai").OpenAI()
    data = made.audio.speech.create(model="tts-1", voice="alloy", input="Hi", response_format=kind).content
    with av.open(io.BytesIO(data)) as container:
        frames = list(container.decode(audio=0))
    assert sum(frame.samples / frame.sample_rate for frame in frames) == pytest.approx(0.48, abs=0.04)
    assert not any(any(bytes(frame.planes[0])) for frame in frames)


# --- speech -------------------------------------------------------------------------------------

HI = {"model": "gpt-4o-mini-tts", "voice": "alloy", "input": "Hi there"}


@fake_llm.intercept()
@pytest.mark.parametrize("kind", [None, *FORMATS, "pcm"])
def test_speech_is_silence_in_the_format_that_is_asked_for(fake: FakeLLM, ask: Driver, kind: str | None) -> None:
    answer = ask("audio.speech.create", **HI, **({"response_format": kind} if kind else {}))
    assert answer.response.headers["content-type"] == {**FORMATS, "pcm": "audio/pcm"}[kind or "mp3"]
    starts = {"wav": b"RIFF", "flac": b"fLaC", "opus": b"OggS", "aac": b"\xff\xf1", "pcm": b"\0\0"}
    assert answer.content.startswith(starts.get(kind or "mp3", b"\xff\xf3"))
    call = fake.calls[0]
    assert (call.operation, call.user_texts, call.params["voice"]) == ("speech", ("Hi there",), "alloy")


@fake_llm.intercept()
def test_a_rule_pins_speech(fake: FakeLLM, ask: Driver) -> None:
    fake.when(operation="speech", system="slowly").reply(Reply(Audio(b"slow"), headers={"x-made-by": "me"}))
    fake.when(operation="speech").reply(Audio(b"ID3pinned"))
    assert ask("audio.speech.create", **HI).content == b"ID3pinned"
    slow = ask("audio.speech.create", **HI, instructions="Speak slowly.")
    assert (slow.content, slow.response.headers["x-made-by"]) == (b"slow", "me")


@needs_openai
@fake_llm.intercept()
def test_speech_arrives_while_it_is_spoken(fake: FakeLLM) -> None:
    fake.when(operation="speech").reply(Audio(bytes(range(200))))
    made = client("OpenAI", "sync")
    with made.audio.speech.with_streaming_response.create(**HI) as response:
        assert b"".join(response.iter_bytes(64)) == bytes(range(200))


@needs_openai
def test_speech_arrives_while_it_is_spoken_on_a_loop() -> None:
    async def heard() -> bytes:
        made = client("OpenAI", "async")
        async with made, made.audio.speech.with_streaming_response.create(**HI) as response:
            return b"".join([piece async for piece in response.iter_bytes(64)])

    with fake_llm.intercept() as fake:
        fake.when(operation="speech").reply(Audio(bytes(range(200))))
        assert asyncio.run(heard()) == bytes(range(200))


@needs_openai
@fake_llm.intercept()
def test_speech_as_events(fake: FakeLLM) -> None:
    fake.when(operation="speech").reply(Audio(b"0123456789"))
    made = client("OpenAI", "sync")
    with made.audio.speech.with_streaming_response.create(**HI, stream_format="sse") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line]
    *events, done = map(json.loads, lines[:-1])
    assert lines[-1] == "[DONE]"
    assert b"".join(base64.b64decode(event["audio"]) for event in events) == b"0123456789"
    assert {event["type"] for event in events} == {"speech.audio.delta"}
    assert (done["type"], done["usage"]["total_tokens"]) == ("speech.audio.done", fake.usage.total)


@needs_openai
@fake_llm.intercept()
def test_speech_that_breaks_off(fake: FakeLLM) -> None:
    openai = importlib.import_module("openai")
    fake.when(operation="speech").reply(Reply(Audio(b"ID3"), then=Disconnect()))
    with pytest.raises(openai.APIConnectionError):
        client("OpenAI", "sync").audio.speech.create(**HI)


@needs_openai
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"response_format": "midi"}, "Input should be 'mp3', 'opus', 'aac', 'flac', 'wav' or 'pcm'"),
        ({"voice": None}, "'loc': ('body', 'voice'), 'msg': 'Field required'"),
        ({"input": "a" * 4097}, "String should have at most 4096 characters"),
        ({"input": ""}, "String should have at least 1 character"),
        ({"input": 3}, "Input should be a valid string"),
    ],
)
@fake_llm.intercept()
def test_speech_that_can_t_be_is_refused(fields: dict[str, Any], said: str) -> None:
    openai = importlib.import_module("openai")
    with pytest.raises(openai.BadRequestError) as raised:
        client("OpenAI", "sync").audio.speech.create(**{**HI, **fields})
    assert said in raised.value.body["message"]


def test_a_text_is_no_speech(ask: Driver) -> None:
    with pytest.raises(ScriptMismatchError, match='"speech"'), fake_llm.intercept() as fake:
        fake.when(operation="speech").reply("Hi")
        ask("audio.speech.create", **HI)


# --- transcription ------------------------------------------------------------------------------

HEAR = {"model": "gpt-4o-transcribe", "file": silence(4)}
WHISPER = {"model": "whisper-1", "file": silence(4)}


@fake_llm.intercept()
def test_a_text_is_made_up(fake: FakeLLM, ask: Driver) -> None:
    answer = ask("audio.transcriptions.create", **HEAR, prompt="Names: Ada")
    assert answer.text
    assert (answer.usage.type, answer.usage.input_token_details.audio_tokens) == ("tokens", 40)
    call = fake.calls[0]
    assert (call.operation, call.user_texts, call.last_user_text) == (
        *("transcription", ("Names: Ada",)),
        "Names: Ada\n[audio]",
    )
    assert (call.body["file"].filename, call.body["file"].data) == silence(4)
    assert len(repr(call.body)) < 300
    assert len(fake.transcript()) < 600


@fake_llm.intercept()
def test_a_rule_says_what_is_heard(fake: FakeLLM, ask: Driver) -> None:
    fake.when(lambda call: call.body["file"].filename == "meeting.wav", operation="transcription").reply("Hello.")
    assert ask("audio.transcriptions.create", **HEAR).text == "Hello."
    usage = ask("audio.transcriptions.create", **WHISPER).usage
    assert (usage.type, usage.seconds) == ("duration", 4)


@fake_llm.intercept()
def test_segments_and_words(fake: FakeLLM, ask: Driver) -> None:
    fake.when(operation="transcription").reply(["Hello there.", "Bye."])
    asked = {**WHISPER, "response_format": "verbose_json", "language": "de"}
    answer = ask("audio.transcriptions.create", **asked, timestamp_granularities=["word", "segment"])
    assert (answer.text, answer.duration, answer.language) == ("Hello there. Bye.", 4.0, "german")
    assert [segment.text for segment in answer.segments] == [" Hello there.", " Bye."]
    assert [word.word for word in answer.words] == ["Hello", "there", "Bye"]
    for timed in (answer.segments, answer.words):
        assert timed[0].start == 0
        assert timed[-1].end == 4.0
        assert all(before.end == after.start for before, after in itertools.pairwise(timed))
    assert ask("audio.transcriptions.create", **asked).words is None
    only = ask("audio.transcriptions.create", **asked, timestamp_granularities=["word"])
    assert (only.segments, len(only.words)) == (None, 3)


@deprecated
@fake_llm.intercept()
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text", "Hello. Bye.\n"),
        ("srt", "1\n00:00:00,000 --> 00:00:02,400\nHello.\n\n2\n00:00:02,400 --> 00:00:04,000\nBye.\n\n"),
        ("vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:02.400\nHello.\n\n00:00:02.400 --> 00:00:04.000\nBye.\n\n"),
    ],
)
@pytest.mark.parametrize("verb", ["transcriptions", "translations"])
def test_texts_that_aren_t_json(fake: FakeLLM, ask: Driver, verb: str, kind: str, text: str) -> None:
    fake.when(operation="transcription").reply("Hello. Bye.")
    assert ask(f"audio.{verb}.create", **WHISPER, response_format=kind) == text


@deprecated
@fake_llm.intercept()
def test_a_translation(fake: FakeLLM, ask: Driver) -> None:
    fake.when(operation="transcription").reply("Hello. Bye.")
    assert ask("audio.translations.create", **WHISPER).text == "Hello. Bye."
    verbose = ask("audio.translations.create", **WHISPER, response_format="verbose_json")
    assert (verbose.language, len(verbose.segments), verbose.duration) == ("english", 2, 4.0)


@fake_llm.intercept()
def test_a_transcription_is_streamed(fake: FakeLLM, ask: Driver) -> None:
    fake.when(operation="transcription").reply(Reply("Hello, you there.", chunks=["Hel", "lo, you", " there."]))
    *deltas, done = ask("audio.transcriptions.create", **HEAR, stream=True, include=["logprobs"])
    assert [event.delta for event in deltas] == ["Hel", "lo, you", " there."]
    assert [event.logprobs[0].token for event in deltas] == ["Hel", "lo, you", " there."]
    assert (done.type, done.text, len(done.logprobs)) == ("transcript.text.done", "Hello, you there.", 3)
    assert done.usage.total_tokens == fake.usage.total
    assert fake.calls[0].response is not None
    assert b'"Hel"' in fake.calls[0].response.body
    assert fake.calls[0].response.body.endswith(b"\r\n\r\ndata: [DONE]\r\n\r\n")


@fake_llm.intercept()
def test_speakers(fake: FakeLLM, ask: Driver) -> None:
    fake.when(operation="transcription").reply(["Hello.", "Bye."])
    asked = {"file": silence(4), "model": "gpt-4o-transcribe-diarize", "response_format": "diarized_json"}
    answer = ask("audio.transcriptions.create", **asked, known_speaker_names=["Ada", "Bob"])
    assert [(item.speaker, item.text) for item in answer.segments] == [("Ada", "Hello."), ("Bob", "Bye.")]
    assert answer.text == "Hello. Bye."
    events = ask("audio.transcriptions.create", **asked, stream=True)
    segments = [event for event in events if event.type == "transcript.text.segment"]
    assert [(event.speaker, event.text) for event in segments] == [("A", "Hello."), ("B", "Bye.")]
    assert events[-1].text == "Hello. Bye."


@needs_openai
@fake_llm.intercept()
def test_whisper_does_not_stream() -> None:
    with client("OpenAI", "sync").audio.transcriptions.with_streaming_response.create(**WHISPER, stream=True) as got:
        assert got.headers["content-type"] == "application/json"


@needs_openai
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"file": b""}, "Unrecognized file format."),
        ({"file": ("a.wav", b"")}, "Audio file is too short."),
        ({"file": b"sound without a name"}, "Unrecognized file format."),
        ({"file": ("a.txt", b"text")}, "Invalid file format."),
        ({"file": silence(1), "model": ""}, "you must provide a model parameter"),
        ({"file": silence(1), "response_format": "srt"}, "is not compatible with model"),
    ],
)
@fake_llm.intercept()
def test_what_can_t_be_heard_is_refused(fields: dict[str, Any], said: str) -> None:
    openai = importlib.import_module("openai")
    with pytest.raises(openai.BadRequestError, match=said):
        client("OpenAI", "sync").audio.transcriptions.create(**{"model": "gpt-4o-transcribe", **fields})


def test_a_form_without_a_file_is_refused() -> None:
    import httpx

    with fake_llm.intercept():
        url = "https://api.openai.com/v1/audio/transcriptions"
        answers = [
            httpx.post(url, data={"model": "whisper-1"}, files={"other": b"x"}, verify=False),
            httpx.post(url, json={"model": "whisper-1"}, verify=False),
            httpx.post(url, json=[], verify=False),
        ]
    for answer in answers:
        assert answer.status_code == 400
        assert "'loc': ('body', 'file'), 'msg': 'Field required'" in answer.json()["error"]["message"]


@needs_openai
@fake_llm.intercept()
def test_an_sdk_s_own_transcription(fake: FakeLLM) -> None:
    made = client("OpenAI", "sync")
    verbose = made.audio.transcriptions.create(**WHISPER, response_format="verbose_json")
    fake.when(operation="transcription").reply(verbose)
    assert made.audio.transcriptions.create(**WHISPER, response_format="verbose_json") == verbose
    *_, done = made.audio.transcriptions.create(**HEAR, stream=True)
    assert done.text == verbose.text


# --- Groq ---------------------------------------------------------------------------------------


@needs("groq")
@pytest.mark.parametrize("kind", ["sync", "async"])
@fake_llm.intercept()
def test_groq(fake: FakeLLM, kind: str) -> None:
    groq = importlib.import_module("groq")
    maker: Callable[..., Any] = groq.AsyncGroq if kind == "async" else groq.Groq
    ask = Driver(maker(max_retries=0, _strict_response_validation=True))
    fake.when(operation="transcription").reply("Hello. Bye.")
    asked = {"model": "whisper-large-v3", "file": silence(2)}
    answer = ask("audio.transcriptions.create", **asked)
    assert answer.text == "Hello. Bye."
    assert answer.x_groq["id"].startswith("req_")
    assert ask("audio.translations.create", **asked).text == "Hello. Bye."
    verbose = ask("audio.transcriptions.create", **asked, response_format="verbose_json")
    assert (verbose.language, len(verbose.segments)) == ("English", 2)
    by_url = ask("audio.transcriptions.create", model="whisper-large-v3", url="https://sound.example/a.mp3")
    assert by_url.text == "Hello. Bye."
    speech = {"model": "playai-tts", "voice": "Fritz-PlayAI", "input": "Hi"}
    assert groq.Groq().audio.speech.create(**speech, response_format="wav").read().startswith(b"RIFF")
    with pytest.raises(groq.BadRequestError, match="file"):
        ask("audio.transcriptions.create", model="whisper-large-v3")
    with pytest.raises(groq.BadRequestError, match="response_format"):
        ask("audio.transcriptions.create", **asked, response_format="srt")
    ask.close()


# --- Mistral ------------------------------------------------------------------------------------


def mistral() -> Any:
    return importlib.import_module("mistralai.client" if has("mistralai>=2") else "mistralai").Mistral()


VOXTRAL: dict[str, Any] = {
    "model": "voxtral-mini-latest",
    "file": dict(zip(("file_name", "content"), silence(3), strict=True)),
}


@needs("mistralai>=1.9")
@fake_llm.intercept()
def test_mistral(fake: FakeLLM) -> None:
    fake.when(operation="transcription").reply(["Hello.", "Bye."])
    answer = mistral().audio.transcriptions.complete(**VOXTRAL)
    assert (answer.text, answer.model, answer.segments) == ("Hello. Bye.", "voxtral-mini-latest", [])
    assert answer.usage.prompt_audio_seconds == 3
    timed = mistral().audio.transcriptions.complete(**VOXTRAL, language="en", timestamp_granularities=["segment"])
    assert (timed.language, [item.text for item in timed.segments]) == ("en", ["Hello.", "Bye."])
    with mistral().audio.transcriptions.stream(**VOXTRAL) as stream:
        *deltas, done = [event.data for event in stream]
    assert "".join(delta.text for delta in deltas) == done.text == "Hello. Bye."
    by_url = mistral().audio.transcriptions.complete(
        model="voxtral-mini-latest", file_url="https://sound.example/a.mp3"
    )
    assert by_url.text == "Hello. Bye."


@needs("mistralai>=1.9")
def test_mistral_on_a_loop() -> None:
    async def heard() -> str:
        async with mistral() as made:
            whole = await made.audio.transcriptions.complete_async(**VOXTRAL)
            async with await made.audio.transcriptions.stream_async(**VOXTRAL) as stream:
                *_, done = [event.data async for event in stream]
        assert done.text == whole.text
        return str(whole.text)

    with fake_llm.intercept() as fake:
        fake.when(operation="transcription").reply("Hello.")
        assert asyncio.run(heard()) == "Hello."
    assert fake.calls[0].body["file"].filename == "meeting.wav"


@needs("mistralai>=3")
@fake_llm.intercept()
def test_mistral_refuses_what_has_no_sound() -> None:
    errors = importlib.import_module("mistralai.client.errors")
    with pytest.raises(errors.SDKError, match="Status 422"):
        mistral().audio.transcriptions.complete(model="voxtral-mini-latest")


@needs("mistralai>=3")
@fake_llm.intercept()
def test_mistral_speaks(fake: FakeLLM) -> None:
    spoken = mistral().audio.speech.complete(input="Hi", response_format="wav")
    assert base64.b64decode(spoken.audio_data).startswith(b"RIFF")
    fake.when(operation="speech").reply(Audio(b"0123456789"))
    with mistral().audio.speech.complete(input="Hi", stream=True) as stream:
        *deltas, done = [event.data for event in stream]
    assert b"".join(base64.b64decode(delta.audio_data) for delta in deltas) == b"0123456789"
    assert done.type == "speech.audio.done"


# --- what is shown ------------------------------------------------------------------------------


@needs_openai
@fake_llm.intercept()
def test_no_bytes_are_shown(fake: FakeLLM) -> None:
    fake.when(operation="images", input="pinned").reply(Image(PNG * 100))
    fake.when(operation="speech", input="raw").reply(Raw(b"\xff\xf3\x00" * 100))
    made = client("OpenAI", "sync")
    for prompt in ("made up", "pinned"):
        made.images.generate(model="gpt-image-2", prompt=prompt)
    for text in ("made up", "raw"):
        made.audio.speech.create(**{**HI, "input": text})
    shown = fake.transcript()
    assert "pictures made up" in shown
    assert "[image image/png, 1100 bytes]" in shown
    assert "silence made up" in shown
    assert "200 300 bytes" in shown
    assert repr(Image(PNG * 100)).endswith("1100 bytes)")
    assert len(repr(fake.calls[1].reply)) < 200
