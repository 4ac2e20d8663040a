"""Made-up embeddings: the same text is the same unit vector everywhere, and texts that share words are close.

What a text is made of (its words, their stems, groups of letters, pairs of words) is hashed to places and signs;
nothing is learned and nothing is random. So `refund` is near `refunds` and `refunding`, and a question is near
the document that uses its words, but `car` isn't near `vehicle`: a test that needs that pins vectors by
`Embedding([…])`.

A vector grows in blocks, and each thing that a text is made of stands once in every block. So the first numbers of a
vector, made a unit vector again, are the vector of that size, and a short one tells texts apart nearly as well.
"""

from __future__ import annotations

import math
import re
import struct
import sys
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from operator import sub
from typing import Any, Final, TypeAlias

__all__ = ["LARGEST", "size_of", "vector"]

_DEFAULT_SIZE: Final = 1536
_SIZES: Final = {
    **dict.fromkeys(("text-embedding-3-large", "gemini-embedding-001", "gemini-embedding-exp-03-07"), 3072),
    **dict.fromkeys(("gemini-embedding-2", "gemini-embedding-2-preview"), 3072),
    **dict.fromkeys(("text-embedding-3-small", "text-embedding-ada-002", "codestral-embed", "embed-v4.0"), 1536),
    **dict.fromkeys(("text-embedding-004", "text-embedding-005", "embedding-001", "embeddinggemma"), 768),
    **dict.fromkeys(("text-multilingual-embedding-002", "multilingual-e5-base", "all-mpnet-base-v2"), 768),
    **dict.fromkeys(("nomic-embed-text", "nomic-embed-text-v1", "nomic-embed-text-v1.5", "bge-base-en-v1.5"), 768),
    **dict.fromkeys(("gte-modernbert-base", "m2-bert-80m-8k-retrieval", "m2-bert-80m-32k-retrieval"), 768),
    **dict.fromkeys(("jina-embeddings-v2-base-en", "bert-base-uncased", "paraphrase-multilingual"), 768),
    **dict.fromkeys(("mistral-embed", "embed-english-v3.0", "embed-multilingual-v3.0", "jina-embeddings-v3"), 1024),
    **dict.fromkeys(("voyage-3.5", "voyage-3.5-lite", "voyage-3-large", "voyage-3", "voyage-code-3"), 1024),
    **dict.fromkeys(("voyage-context-3", "voyage-multimodal-3", "voyage-multimodal-3.5", "voyage-law-2"), 1024),
    **dict.fromkeys(("voyage-4", "voyage-4-large", "voyage-4-lite", "voyage-finance-2", "jina-clip-v2"), 1024),
    **dict.fromkeys(("bge-m3", "bge-large", "bge-large-en-v1.5", "mxbai-embed-large", "mxbai-embed-large-v1"), 1024),
    **dict.fromkeys(("snowflake-arctic-embed", "snowflake-arctic-embed2", "multilingual-e5-large-instruct"), 1024),
    **dict.fromkeys(("nv-embedqa-e5-v5", "qwen3-embedding-0.6b", "titan-embed-text-v2:0", "embedding-2"), 1024),
    **dict.fromkeys(
        ("text-embedding-v3", "text-embedding-v4", "pplx-embed-v1-0.6b", "pplx-embed-context-v1-0.6b"), 1024
    ),
    **dict.fromkeys(("embed-english-light-v3.0", "embed-multilingual-light-v3.0", "all-minilm"), 384),
    **dict.fromkeys(("all-minilm-l6-v2", "all-minilm-l12-v2", "bge-small-en-v1.5", "multilingual-e5-small"), 384),
    **dict.fromkeys(("llama-3.2-nv-embedqa-1b-v2", "jina-embeddings-v4", "embedding-3"), 2048),
    **dict.fromkeys(("qwen3-embedding-4b", "pplx-embed-v1-4b", "pplx-embed-context-v1-4b"), 2560),
    **dict.fromkeys(("qwen3-embedding", "qwen3-embedding-8b", "nv-embed-v1", "e5-mistral-7b-instruct"), 4096),
    **dict.fromkeys(("slate-30m-english-rtrvr", "slate-30m-english-rtrvr-v2"), 384),
    **dict.fromkeys(("slate-125m-english-rtrvr", "slate-125m-english-rtrvr-v2"), 768),
    "granite-embedding-107m-multilingual": 384,
    "granite-embedding-278m-multilingual": 768,
    **dict.fromkeys(("titan-embed-image-v1", "embed-english-v3", "embed-multilingual-v3"), 1024),  # Bedrock's names
    "nova-2-multimodal-embeddings": 3072,
    "multimodalembedding": 1408,
    "voyage-3-lite": 512,
}
"""The size of each model's vectors by its name without a maker (the vendors' model pages, 2026-11)."""


def size_of(model: str) -> int | None:
    """The size of a model's vectors, `None` for one that isn't known; what stands around its name doesn't count."""
    name = model.rpartition("/")[2].lower()
    found = _SIZES.get(name)
    if found is None:  # a tag, a date, a deployment that is named after its model
        inside = [known for known in _SIZES if len(known) >= _TELLING and known in name]
        found = _SIZES[max(inside, key=len)] if inside else None
    return found


_TELLING: Final = 12
"""Letters of a name that is found inside a longer one."""


_BORDERS: Final = (
    *(0, 64, 128, 256, 384, 512, 768, 1024, 1536),
    *(2048, 2560, 3072, 4096, 8192, 16_384, 32_768, 65_536),
)
"""Where the blocks of a vector begin and end; usual sizes end a block."""
LARGEST: Final = _BORDERS[-1]
"""The largest vector that can be made."""
_MASKS: Final = [struct.pack("<I", 2 * (end - start) - 1) for start, end in pairwise(_BORDERS)]
_STARTS: Final = [struct.pack("<I", 2 * start) for start in _BORDERS[:-1]]
"""Each block has two places for a number, for what is added and for what is taken away; how many is a power of two."""
_STRENGTHS: Final = tuple(math.sqrt(end - start) for start, end in pairwise(_BORDERS))
_HASHES: Final = struct.Struct("<16I").unpack
_STEP: Final = 2.0**24
"""Numbers are multiples of this one's inverse: the same as 32 bits, as 64 bits and as decimals."""


def vector(item: str | Sequence[int], size: int | None = None) -> list[float]:
    """The unit vector of a text, or of the ids of its tokens.

    Args:
        item: A text, or token ids, which are near other ids only.
        size: How many numbers, 1 to `LARGEST`; without one, that of a model nobody knows.

    >>> words = vector("refund"), vector("refunds"), vector("weather")
    >>> near, far = (sum(a * b for a, b in zip(words[0], other)) for other in words[1:])
    >>> near > 0.5 > 0.2 > far
    True
    """
    size = size or _DEFAULT_SIZE
    blocks = bisect_left(_BORDERS, size)
    sums = [0.0] * (2 * _BORDERS[blocks])
    for places, weight in _words(item, blocks) if isinstance(item, str) else _ids(item, blocks):
        for place in places:
            sums[place] += weight
    values = list(map(sub, sums[1 : 2 * size : 2], sums[: 2 * size : 2]))
    for (start, end), strength in zip(pairwise(_BORDERS[: blocks + 1]), _STRENGTHS, strict=False):
        values[start:end] = [value * strength for value in values[start:end]]
    length = math.sqrt(math.fsum([value * value for value in values if value]))  # `sum` differs between versions
    if not length:  # nothing of it is among so few numbers
        place = _HASHES(blake2b(repr(item).encode()).digest())[0]
        values[(place >> 1) % size], length = (1.0 if place & 1 else -1.0), 1.0
    scale = _STEP / length
    return [round(value * scale) / _STEP if value else 0.0 for value in values]


_WORD: Final = re.compile(r"\w+(?:'\w+)?")
_STOP_WORDS: Final = frozenset(
    """
    a about after again all also am an and any are as at be because been before being but by can could did do does
    doing don't down during each every few for from further get got had has have having he her here hers him his how i
    if i'm in into is isn't it its it's just let like made make many may me might more most much must my no nor not now
    of off on once one only or other our out over own please really same shall she should so some such than that
    that's the their them then there these they thing things this those through to too under until up us use very
    was we were what what's when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905 - a list of words is read as one
)
_STOP_WEIGHT: Final = 0.12
_PAIR_WEIGHT: Final = 0.35
_WIDE: Final = "\u2e80"
"""From here on, scripts write no blanks between words."""


_Weighted: TypeAlias = Iterator[tuple[Iterable[int], float]]
"""Places, each with what is added there."""


def _words(text: str, blocks: int) -> _Weighted:
    """What a text is made of: words, and pairs of those that mean something."""
    counts: dict[str, int] = {}
    pairs: list[bytes] = []
    before = ""
    for word in _WORD.findall(_folded(text)):
        if max(word) >= _WIDE:
            for character in (*word, *map("".join, pairwise(word))):
                counts[character] = counts.get(character, 0) + 1
            continue
        counts[word] = counts.get(word, 0) + 1
        if word not in _STOP_WORDS:
            stem = _stem(word)
            if before:
                pairs.append(_raw(f"{before} {stem}"))
            before = stem
    yield _places(pairs, blocks), _PAIR_WEIGHT
    if not counts:
        yield _places([_raw(text)], blocks), 1.0
    for word, count in counts.items():
        weight = (_STOP_WEIGHT if word in _STOP_WORDS else 1.0) * math.sqrt(count)
        whole, stemmed, letters, share = _spread(word, blocks)
        yield whole, weight
        yield stemmed, weight * _STEM_WEIGHT
        yield letters, weight * share


def _folded(text: str) -> str:
    """Small letters without accents; one spelling of what can be written in several ways."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'"))
    return "".join(character for character in plain if not unicodedata.combining(character))


def _ids(tokens: Sequence[int], blocks: int) -> _Weighted:
    yield _places([b"#%d" % token for token in tokens], blocks), 1.0
    yield _places([b"#%d %d" % pair for pair in pairwise(tokens)], blocks), _PAIR_WEIGHT


_STEM_WEIGHT: Final = 1.2
_LETTERS_WEIGHT: Final = 0.9
_GROUPS: Final = (3, 4, 5)
_LONGEST: Final = 256
"""Letters of a word whose groups count: what is longer is no word in any language, but data."""


def _places(parts: Iterable[bytes], blocks: int) -> array[int]:
    """Where things stand: each once in each block, to be added or to be taken away."""
    width = 4 * blocks
    hashes = [blake2b(part).digest()[:width] for part in parts]
    mask, start = b"".join(_MASKS[:blocks]) * len(hashes), b"".join(_STARTS[:blocks]) * len(hashes)
    # all of them at once, as one large number
    number = _number(b"".join(hashes), "little") & _number(mask, "little") | _number(start, "little")
    return array("I", number.to_bytes(len(mask), sys.byteorder))


_number: Final = int.from_bytes


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=1 << 14)
def _spread(word: str, blocks: int) -> tuple[array[int], array[int], array[int], float]:
    """Where a word stands: itself, its stem, and its groups of letters with the share that each of these has."""
    marked = f"<{word}>"
    cut: Any = marked[:_LONGEST]
    if cut.isascii():
        cut = cut.encode()
    groups = [cut[start : start + count] for count in _GROUPS for start in range(len(cut) - count + 1)]
    letters = _places(groups if cut.isascii() else map(_raw, groups), blocks)
    both = _places([_raw(marked), _raw("~" + _stem(word))], blocks)
    return both[:blocks], both[blocks:], letters, _LETTERS_WEIGHT / math.sqrt(len(groups))


_ENDINGS: Final = re.compile(
    r"(?:'s|ations?|ements?|ments?|ings?|ers?|ors?|ies|ied|edly|ed|es|s|ly|al|y|i|e|ive|ion|ions)$"
)
_SHORTEST_STEM: Final = 3


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """A word without its ending: `cancel` for `cancelled`, `cancelling` and `cancellation`."""
    for _ in range(2):  # `happily`, `happi`, `happ`
        found = _ENDINGS.search(word)
        if found is None or found.start() < _SHORTEST_STEM:
            break
        word = word[: found.start()]
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] == word[-2] else word
