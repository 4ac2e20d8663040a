"""Pictures and silence, made in code: valid files of every kind that is asked for, the same for the same request.

A picture is a mirrored pattern of 8 by 8 cells in two colours, which follow from its seed; its size is the one that is asked
for. Sound is 0.48 seconds of silence in one channel.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b, md5
from itertools import groupby
from typing import Final

__all__ = ["PICTURES", "SECONDS", "SOUNDS", "picture", "seconds_of", "sound"]

PICTURES: Final[Mapping[str, str]] = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "svg": "image/svg+xml",
}
"""Media types by the names of formats."""

SOUNDS: Final[Mapping[str, str]] = {
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "opus": "audio/ogg",
    "pcm": "audio/pcm",
    "ogg": "audio/ogg",
    "mulaw": "audio/wav",
}
"""Media types by the names of formats."""

_CELLS: Final = 8
_BLOCK: Final = 8
_LARGEST: Final = 4096

_Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A picture before it is encoded: rows of blocks of 8 by 8 pixels, each in one of two colours.

    Attributes:
        width: In pixels.
        height: In pixels.
        rows: Of each row of blocks, whether a block has the second colour.
        colours: The two.
        transparent: Whether the first isn't there.
    """

    width: int
    height: int
    rows: tuple[tuple[bool, ...], ...]
    colours: tuple[_Colour, _Colour]
    transparent: bool

    def packed(self) -> list[bytes]:
        """Of each row of pixels, a bit for each."""
        lines = [bytes(255 if block else 0 for block in row) for row in self.rows]
        return [lines[y // _BLOCK] for y in range(self.height)]


@lru_cache(maxsize=64)
def picture(seed: str, width: int, height: int, kind: str = "png", *, transparent: bool = False) -> bytes:
    """A file of a kind in `PICTURES`.

    Args:
        seed: What it depends on.
        width: In pixels.
        height: In pixels.
        kind: A name in `PICTURES`.
        transparent: Whether the background is, where the kind can say that.
    """
    width, height = (max(1, min(_LARGEST, size)) for size in (width, height))
    digest = blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    bits = int.from_bytes(digest[:4], "big") | 1 << 31
    cells = [[bool(bits >> (y * 4 + min(x, 7 - x)) & 1) for x in range(_CELLS)] for y in range(_CELLS)]
    across, down = -(-width // _BLOCK), -(-height // _BLOCK)
    rows = [tuple(row[x * _CELLS // across] for x in range(across)) for row in cells]
    light = (200 + digest[4] % 56, 200 + digest[5] % 56, 200 + digest[6] % 56)
    dark = (digest[7] % 160, digest[8] % 160, digest[9] % 160)
    drawn = _Drawn(width, height, tuple(rows[y * _CELLS // down] for y in range(down)), (light, dark), transparent)
    return {"png": _png, "jpeg": _jpeg, "webp": _webp, "gif": _gif, "svg": _svg}[kind](drawn)


def _png(drawn: _Drawn) -> bytes:
    """One bit a pixel, with a palette (PNG, third edition)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", drawn.width, drawn.height, 1, 3, 0, 0, 0)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", head),
            chunk(b"PLTE", bytes(drawn.colours[0] + drawn.colours[1])),
            chunk(b"tRNS", b"\x00\xff") if drawn.transparent else b"",
            chunk(b"IDAT", zlib.compress(b"".join(b"\x00" + line for line in drawn.packed()), 6)),
            chunk(b"IEND", b""),
        )
    )


_SAME: Final = "000000"
"""A block of the same colour as the one before: of each component no difference, and no other frequency."""


def _jpeg(drawn: _Drawn) -> bytes:
    """Baseline, three components, one value for each block, Huffman tables of its own (ITU-T T.81)."""
    first, second = map(_ycc, drawn.colours)
    to_second, to_first = _step(first, second), _step(second, first)
    bits: list[str] = []
    before: bool | None = None
    for row in drawn.rows:
        for block in row:
            if before is None:
                bits.append(_step((128, 128, 128), second if block else first))
            else:
                bits.append(_SAME if block == before else to_second if block else to_first)
            before = block
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    data = int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\x00")

    def segment(marker: int, content: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content

    frame = struct.pack(">BHHB", 8, drawn.height, drawn.width, 3) + b"\x01\x11\x00\x02\x11\x00\x03\x11\x00"
    return b"".join(
        (
            b"\xff\xd8",
            segment(0xE0, b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"),
            segment(0xDB, b"\x00" + b"\x08" * 64),
            segment(0xC0, frame),
            segment(0xC4, b"\x00" + bytes((1, 0, 0, 0, 8)) + bytes(11) + bytes(range(9))),
            segment(0xC4, b"\x10" + bytes((1,)) + bytes(15) + b"\x00"),
            segment(0xDA, b"\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00"),
            data,
            b"\xff\xd9",
        )
    )


def _ycc(colour: _Colour) -> _Colour:
    red, green, blue = colour
    return (
        round(0.299 * red + 0.587 * green + 0.114 * blue),
        round(128 - 0.168736 * red - 0.331264 * green + 0.5 * blue),
        round(128 + 0.5 * red - 0.418688 * green - 0.081312 * blue),
    )


def _step(before: _Colour, after: _Colour) -> str:
    """The code of a block: the difference of each component to the block before, then its end."""
    bits = ""
    for old, new in zip(before, after, strict=True):
        difference = new - old
        size = abs(difference).bit_length()
        bits += format(15 + size, "05b") if size else "0"
        if size:
            bits += format(difference if difference > 0 else difference + (1 << size) - 1, f"0{size}b")
        bits += "0"
    return bits


def _webp(drawn: _Drawn) -> bytes:
    """Lossless, eight pixels in a symbol by a palette of two (RFC 9649)."""
    first, second = ((*colour, 255) for colour in drawn.colours)
    if drawn.transparent:
        first = (*first[:3], 0)
    bits = [_low(0x2F, 8), _low(drawn.width - 1, 14), _low(drawn.height - 1, 14), str(int(drawn.transparent)), "000"]
    bits += ["1", _low(3, 2), _low(1, 8), "0"]  # a palette of two colours, without a cache
    channels = [(first[index], (second[index] - first[index]) % 256) for index in (1, 0, 2, 3)]
    bits += [_code(values) for values in channels] + [_code((0,))]
    for entry in (0, 1):
        bits += [str(int(values[entry] > min(values))) for values in channels if len(set(values)) > 1]
    lines = {row: "".join("1" if block else "0" for block in row) for row in drawn.rows}
    several = len({block for row in drawn.rows for block in row}) > 1
    bits += ["0", "0", "0", _code((0, 255) if several else (255 * drawn.rows[0][0],)), _code((0,)) * 4]
    if several:
        bits += [lines[drawn.rows[y // _BLOCK]] for y in range(drawn.height)]
    text = "".join(bits)
    data = int(text[::-1], 2).to_bytes(-(-len(text) // 8), "little")
    chunk = b"VP8L" + struct.pack("<I", len(data)) + data + b"\x00" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def _low(value: int, size: int) -> str:
    """The bits of a number, the lowest first."""
    return format(value, f"0{size}b")[::-1]


def _code(symbols: Sequence[int]) -> str:
    """A prefix code of one symbol without any bit, or of two with one."""
    own = sorted(set(symbols))
    return f"1{len(own) - 1}1" + "".join(_low(symbol, 8) for symbol in own)


def _gif(drawn: _Drawn) -> bytes:
    """One picture, its codes in LZW (GIF89a)."""
    pixels = b"".join(
        bytes(pixel for block in drawn.rows[y // _BLOCK] for pixel in (int(block),) * _BLOCK)[: drawn.width]
        for y in range(drawn.height)
    )
    data = _lzw(pixels)
    blocks = b"".join(
        bytes((len(piece),)) + piece for piece in (data[start : start + 255] for start in range(0, len(data), 255))
    )
    size = struct.pack("<HH", drawn.width, drawn.height)
    return b"".join(
        (
            b"GIF89a" + size + b"\x80\x00\x00" + bytes(drawn.colours[0] + drawn.colours[1]),
            b"\x21\xf9\x04\x01\x00\x00\x00\x00" if drawn.transparent else b"",
            b"\x2c\x00\x00\x00\x00" + size + b"\x00\x02" + blocks + b"\x00\x3b",
        )
    )


def _lzw(pixels: bytes) -> bytes:
    clear, most = 4, 4096
    known: dict[tuple[int, int], int] = {}
    bits, size, following = [_low(clear, 3)], 3, clear + 2
    code = pixels[0]
    for pixel in pixels[1:]:
        found = known.get((code, pixel))
        if found is not None:
            code = found
            continue
        bits.append(_low(code, size))
        if following < most:
            known[code, pixel] = following
            size += following >> size
            following += 1
        else:
            bits.append(_low(clear, size))
            known.clear()
            size, following = 3, clear + 2
        code = pixel
    bits += [_low(code, size), _low(clear + 1, size)]
    text = "".join(bits)
    return int(text[::-1], 2).to_bytes(-(-len(text) // 8), "little")


def _svg(drawn: _Drawn) -> bytes:
    light, dark = ("#{:02x}{:02x}{:02x}".format(*colour) for colour in drawn.colours)
    shapes = ""
    for y, row in enumerate(drawn.rows):
        for block, run in groupby(range(len(row)), row.__getitem__):
            xs = list(run)
            if block:
                shapes += f"M{xs[0] * _BLOCK} {y * _BLOCK}h{len(xs) * _BLOCK}v{_BLOCK}H{xs[0] * _BLOCK}z"
    ground = "" if drawn.transparent else f'<rect width="100%" height="100%" fill="{light}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawn.width}" height="{drawn.height}">'
        f'{ground}<path d="{shapes}" fill="{dark}"/></svg>'
    ).encode()


# --- sound --------------------------------------------------------------------------------------

_RATE: Final = 24_000
_SAMPLES: Final = 11_520
SECONDS: Final = _SAMPLES / _RATE
"""How long a sound is that is made here."""


@cache
def sound(kind: str) -> bytes:
    """Silence as a file of a kind in `SOUNDS`."""
    silence = bytes(2 * _SAMPLES)
    if kind == "pcm":
        return silence
    if kind == "wav":
        return _wav(1, 16, silence)
    if kind == "mulaw":
        return _wav(7, 8, b"\xff" * _SAMPLES)
    return {"mp3": _mp3, "flac": _flac, "aac": _aac, "opus": _opus, "ogg": _opus}[kind]()


def _wav(coding: int, bits: int, data: bytes) -> bytes:
    width = bits // 8
    layout = struct.pack("<HHIIHH", coding, 1, _RATE, _RATE * width, width, bits)
    if coding != 1:
        layout += b"\x00\x00"
    chunks = b"fmt " + struct.pack("<I", len(layout)) + layout
    if coding != 1:
        chunks += b"fact" + struct.pack("<II", 4, _SAMPLES)
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks


def _mp3() -> bytes:
    """Frames of 384 bytes without any data in them (ISO/IEC 13818-3, layer III, 128 kbit/s), headed as recorded."""
    frame = b"\xff\xf3\xc4\xc4" + bytes(380)
    return frame * (_SAMPLES // 576)


def _aac() -> bytes:
    """Frames of silence in ADTS (ISO/IEC 13818-7)."""
    silence = bytes((0x00, 0xC8, 0x00, 0x80, 0x23, 0x80))
    size = len(silence) + 7
    head = bytes((0xFF, 0xF1, 0x40 | 6 << 2, 0x40 | size >> 11, size >> 3 & 0xFF, (size & 7) << 5 | 0x1F, 0xFC))
    return (head + silence) * -(-_SAMPLES // 1024)


def _flac() -> bytes:
    """Constant blocks of 1152 samples (RFC 9639)."""
    size = 1152
    frames = []
    for number in range(_SAMPLES // size):
        head = bytes((0xFF, 0xF8, 0x37, 0x08, number))
        frame = head + bytes((_crc(head, 0x07, 8),)) + b"\x00\x00\x00"
        frames.append(frame + _crc(frame, 0x8005, 16).to_bytes(2, "big"))
    length = len(frames[0])
    packed = _RATE << 44 | 0 << 41 | 15 << 36 | _SAMPLES
    info = struct.pack(">HH", size, size) + length.to_bytes(3, "big") * 2 + packed.to_bytes(8, "big")
    info += md5(bytes(2 * _SAMPLES), usedforsecurity=False).digest()
    return b"fLaC\x80" + len(info).to_bytes(3, "big") + info + b"".join(frames)


def _opus() -> bytes:
    """Packets of 20 ms in Ogg (RFC 7845, RFC 3533)."""
    head = b"OpusHead" + struct.pack("<BBHIHB", 1, 1, 0, _RATE, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 8) + b"fake_llm" + struct.pack("<I", 0)
    packets = [b"\xf8\xff\xfe"] * (_SAMPLES // 480)
    pages = ((2, 0, [head]), (0, 0, [tags]), (4, _SAMPLES * 2, packets))  # positions count samples of 48 kHz
    return b"".join(_page(flags, at, number, parts) for number, (flags, at, parts) in enumerate(pages))


def _page(flags: int, at: int, number: int, packets: Sequence[bytes]) -> bytes:
    sizes = bytes(map(len, packets))
    start = b"OggS\x00" + struct.pack("<BQII", flags, at, 1, number)
    rest = bytes((len(sizes),)) + sizes + b"".join(packets)
    return start + struct.pack("<I", _crc(start + bytes(4) + rest, 0x04C11DB7, 32)) + rest


def _crc(data: bytes, polynomial: int, size: int) -> int:
    """A checksum, the highest bit first, from 0."""
    rest, high = 0, 1 << size - 1
    for byte in data:
        rest ^= byte << size - 8
        for _ in range(8):
            rest = (rest << 1 ^ polynomial if rest & high else rest << 1) & (1 << size) - 1
    return rest


_USUAL_RATE: Final = 16_000


def seconds_of(data: bytes) -> float:
    """How long a sound is: that of a WAV file as it says, of any other as if it had 128 kbit/s."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        rate = 0
        for name, content, size in _chunks(data):
            if name == b"fmt " and len(content) >= 12:
                rate = struct.unpack("<I", content[8:12])[0]
            elif name == b"data" and rate:
                return round(min(size, len(content)) / rate, 2)
    return round(len(data) / _USUAL_RATE, 2)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        yield data[at : at + 4], data[at + 8 : at + 8 + size], size
        at += 8 + size + size % 2
