"""Forms with files, as SDKs upload them (`multipart/form-data`, RFC 7578), and those without (`x-www-form-urlencoded`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from fake_llm._model import Request

__all__ = ["Upload", "form", "without_boundary"]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a form; neither its name nor its bytes are shown."""

    filename: str = field(repr=False)
    media_type: str
    data: bytes = field(repr=False)


def form(request: Request) -> dict[str, Any] | None:
    """The fields of a form by their names, a file as an `Upload`; one that comes several times, or ends in `[]`, as a list.

    `None` where the request has no form, or one that can't be read.
    """
    kind, boundary = _header(request.headers.get("content-type", ""), "boundary")
    if kind == "application/x-www-form-urlencoded":
        return _plain(request.body)
    if kind != "multipart/form-data" or not boundary:
        return None
    fields: dict[str, Any] = {}
    for piece in (b"\r\n" + request.body).split(b"\r\n--" + boundary.encode())[1:]:
        if piece.startswith(b"--"):
            return fields
        head, found, data = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not found:
            return None
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.decode("utf-8", "replace").split("\r\n"))
        }
        _add(fields, *_field(headers, data))
    return None


def _plain(body: bytes) -> dict[str, Any] | None:
    """A form of texts; what says it is one, as curl does by itself, may be broken JSON."""
    if re.match(rb"[A-Za-z_][\w.%-]*(?:\[\])?=", body) is None:
        return None
    fields: dict[str, Any] = {}
    for name, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True):
        _add(fields, name, value)
    return fields


def _add(fields: dict[str, Any], name: str, value: Any) -> None:
    several = name.endswith("[]")
    name = name.removesuffix("[]")
    if several or name in fields:
        before = fields.get(name, [])
        value = [*(before if isinstance(before, list) else [before]), value]
    fields[name] = value


def without_boundary(request: Request) -> bytes:
    """The body without what an SDK makes up anew for each attempt: the boundary of its form."""
    _, boundary = _header(request.headers.get("content-type", ""), "boundary")
    return request.body.replace(boundary.encode(), b"") if boundary else request.body


def _field(headers: dict[str, str], data: bytes) -> tuple[str, Any]:
    said = headers.get("content-disposition", "")
    _, name = _header(said, "name")
    _, filename = _header(said, "filename")
    if filename or re.search(r"\bfilename\*?=", said):
        return name, Upload(filename, headers.get("content-type", "application/octet-stream"), data)
    return name, data.decode("utf-8", "replace")


def _header(value: str, parameter: str) -> tuple[str, str]:
    """The value of a header without its parameters, and one of these."""
    from email.message import Message  # slow to load

    message = Message()
    message["content-type"] = value if "/" in value.partition(";")[0] else f"x/{value}"
    found = message.get_param(parameter)
    text = found[2] if isinstance(found, tuple) else found
    return message.get_content_type(), text or ""
