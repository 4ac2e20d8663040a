"""Made-up embeddings: the same everywhere, of length 1, and close where texts are about the same thing."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import math
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _pairs import PAIRS
from fake_llm import _vectors
from fake_llm._vectors import LARGEST, size_of, vector

SIZES = (1, 2, 7, 64, 256, 384, 768, 1000, 1024, 1536, 2560, 3072, 4096)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("size", "ordered", "found"), [(3072, 100, 99), (1536, 100, 99), (256, 100, 97), (64, 99, 78)])
def test_texts_on_the_same_thing_are_closer_than_others(size: int, ordered: int, found: int) -> None:
    """Of 100 pairs: each half is closer to its partner than to another text; and that many are the closest of all."""
    assert len(PAIRS) == 100
    left, right = ([vector(text, size) for text in half] for half in zip(*PAIRS, strict=True))
    near = [cosine(one, other) for one, other in zip(left, right, strict=True)]
    far = [cosine(one, right[index - 50]) for index, one in enumerate(left)]
    assert sum(a > b for a, b in zip(near, far, strict=True)) >= ordered
    closest = [max(range(100), key=lambda other: cosine(one, right[other])) for one in left]
    assert sum(index == other for index, other in enumerate(closest)) >= found


def test_they_are_closer_by_far() -> None:
    near = sorted(cosine(vector(one), vector(other)) for one, other in PAIRS)
    far = sorted(cosine(vector(one), vector(PAIRS[index - 50][1])) for index, (one, _) in enumerate(PAIRS))
    assert near[10] > far[-10] + 0.05
    assert near[50] > far[50] + 0.25


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("refund", "refunds", "funding"),
        ("cancel", "cancellation", "candle"),
        ("Paris", "PARIS", "Parsons"),
        ("café", "cafe", "coffee cup"),
        ("the dog", "a dog", "the cat"),
        ("don\u2019t panic", "don't panic", "panic"),
        ("Zürich", "Zu\u0308rich", "Zur"),
        ("天気はどうですか", "天気がいい", "犬が好き"),
    ],
)
def test_spellings_of_a_word_are_near(one: str, near: str, far: str) -> None:
    assert cosine(vector(one), vector(near)) > cosine(vector(one), vector(far))


def test_spellings_that_say_the_same_are_the_same() -> None:
    assert vector("Zürich") == vector("zu\u0308rich") == vector("ZURICH")
    assert vector("a b\n c") == vector("a   b c")
    assert vector("dog bites man") != vector("man bites dog")


def test_a_vector_is_the_same_in_every_process() -> None:
    code = "from fake_llm._vectors import vector; import struct, hashlib\n"
    code += "print(hashlib.sha256(struct.pack('<1536d', *vector('The quick brown fox, überall!'))).hexdigest())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    here = hashlib.sha256(struct.pack("<1536d", *vector("The quick brown fox, überall!"))).hexdigest()
    assert found == {here}


def test_a_vector_is_the_same_in_every_version() -> None:
    """People keep indexes and snapshots: whoever alters the algorithm says so in the changelog."""
    whole = vector("The quick brown fox jumps over the lazy dog.", 1536)
    assert [(place, value) for place, value in enumerate(whole) if value][:4] == PINNED


PINNED = [(1, -0.026426255702972412), (2, 0.015922486782073975), (3, 0.03207653760910034), (4, -0.02718132734298706)]


@given(st.text(max_size=40), st.sampled_from(SIZES))
def test_any_text_has_a_unit_vector(text: str, size: int) -> None:
    made = vector(text, size)
    assert len(made) == size
    assert math.sqrt(cosine(made, made)) == pytest.approx(1, abs=2e-6)
    assert made == vector(text, size)
    assert [struct.unpack("<f", struct.pack("<f", number))[0] for number in made] == made, "it fits 32 bits"


@given(st.lists(st.integers(0, 200_000), max_size=20), st.sampled_from(SIZES))
def test_any_tokens_have_a_unit_vector(tokens: list[int], size: int) -> None:
    made = vector(tokens, size)
    assert len(made) == size
    assert math.sqrt(cosine(made, made)) == pytest.approx(1, abs=2e-6)


def test_tokens_that_are_shared_are_near() -> None:
    one, near, far = vector([9906, 1917, 0]), vector([9906, 1917]), vector([17, 4, 88])
    assert cosine(one, near) > 0.5
    assert cosine(one, far) < 0.2


@pytest.mark.parametrize("size", [1, 64, 100, 256, 512, 1024, 1535])
def test_a_smaller_vector_is_the_beginning_of_the_larger_one(size: int) -> None:
    for text, _ in PAIRS[:20]:
        cut = vector(text, 1536)[:size]
        length = math.sqrt(cosine(cut, cut))
        if length > 1e-3:
            assert [number / length for number in cut] == pytest.approx(vector(text, size), abs=5e-5 / length)


def test_the_largest_vector() -> None:
    assert len(vector("x", LARGEST)) == LARGEST


def test_numbers_are_spread_over_the_whole_vector() -> None:
    made = vector(" ".join(one for one, _ in PAIRS), 1536)
    assert all(any(made[start : start + 64]) for start in range(0, 1536, 64))
    assert max(map(abs, made)) < 0.2


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What is hashed; no word is known yet."""
    parts: list[bytes] = []
    monkeypatch.setattr(_vectors, "blake2b", lambda part: parts.append(part) or hashlib.blake2b(part))
    _vectors._spread.cache_clear()
    yield parts
    _vectors._spread.cache_clear()


def test_words_of_a_large_vocabulary_are_looked_at_once(hashed: list[bytes]) -> None:
    words = [f"word{number}" for number in range(8000)]
    chunks = [" ".join(words[start : start + 400]) for start in range(0, 8000, 400)]
    first: list[Any] = []
    again: list[Any] = []
    for made in (first, again):
        made += [vector(chunk, 64) for chunk in chunks]
        made.append(len(hashed))

    assert first[:-1] == again[:-1]
    assert again[-1] - first[-1] == sum(len(chunk.split()) - 1 for chunk in chunks), "only pairs of words"


def test_twice_the_text_is_twice_the_work(hashed: list[bytes]) -> None:
    vector(" ".join(f"{number:06}" for number in range(1000)), 64)
    once = len(hashed)
    vector(" ".join(f"{number:06}" for number in range(1000, 3000)), 64)

    assert len(hashed) - once <= 2 * once + 1


def test_of_what_is_no_word_only_the_beginning_is_looked_at_closely(hashed: list[bytes]) -> None:
    data = hashlib.shake_256(b"x").hexdigest(50_000)

    made = vector(data, 64)

    assert len(hashed) < 1000
    assert made != vector(data + "0", 64), "all of it tells it apart"


@pytest.mark.parametrize("size", SIZES)
def test_a_thing_stands_once_in_each_block(size: int) -> None:
    blocks = bisect.bisect_left(_vectors._BORDERS, size)
    parts = [b"%d" % number for number in range(2000)]
    places = _vectors._places(parts, blocks)

    for block, (start, end) in enumerate(itertools.pairwise(_vectors._BORDERS[: blocks + 1])):
        found = {place // 2 for place in places[block::blocks]}
        assert start <= min(found) <= max(found) < end
        assert len(found) > 0.8 * min(end - start, 1000), "all of it is used"
        assert {place % 2 for place in places[block::blocks]} == {0, 1}


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("text-embedding-3-small", 1536),
        ("text-embedding-3-large", 3072),
        ("text-embedding-ada-002", 1536),
        ("openai/text-embedding-3-large", 3072),
        ("our-text-embedding-3-large-eu", 3072),
        ("gemini-embedding-001", 3072),
        ("models/text-embedding-004", 768),
        ("nomic-embed-text:latest", 768),
        ("BAAI/bge-small-en-v1.5", 384),
        ("sentence-transformers/all-MiniLM-L6-v2", 384),
        ("Qwen/Qwen3-Embedding-4B", 2560),
        ("mistral-embed", 1024),
        ("amazon.titan-embed-text-v2:0", 1024),
        ("my-deployment", None),
        ("", None),
    ],
)
def test_sizes_of_models(model: str, size: int | None) -> None:
    assert size_of(model) == size
    assert len(vector("x", size)) == (size or 1536)
