"""What comes of `fake_llm` beside other libraries that stand in a call's way: the rows of the tests here, and of a page of the documentation.

A row is judged twice: with the other one entered first, and with the block entered first.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BOTH", "OURS", "ROWS", "Row"]

BOTH = "both work"
"""A call to a model is the block's, also where the other has an answer for it; all else is the other's, unchanged."""

OURS = "ours answers"
"""A call to a model is the block's, and the other doesn't see it."""


@dataclass(frozen=True)
class Row:
    """One library beside a block.

    Attributes:
        name: What people call it.
        needs: The distributions that its test needs.
        clients: The HTTP libraries that it stands in the way of.
        theirs_first: The outcome when it was there before the block.
        ours_first: The outcome when it came inside the block.
        how: How they get along, for people.
    """

    name: str
    needs: tuple[str, ...]
    clients: tuple[str, ...]
    theirs_first: str
    ours_first: str
    how: str


ROWS = (
    Row(
        "respx", ("respx", "httpx"), ("httpx",), BOTH, BOTH, "It stands beneath. Its routes don't see calls to models."
    ),
    Row(
        "responses",
        ("responses", "requests"),
        ("requests",),
        BOTH,
        BOTH,
        "It stands beneath. Its `calls` don't have those to models.",
    ),
    Row("pytest-httpx", ("pytest-httpx",), ("httpx",), BOTH, BOTH, "It stands beneath."),
    Row("httpx2-pytest", ("httpx2-pytest",), ("httpx2",), BOTH, BOTH, "It stands beneath."),
    Row(
        "vcrpy",
        ("vcrpy",),
        ("httpx", "httpx2", "requests", "aiohttp"),
        BOTH,
        BOTH,
        "A cassette neither plays nor records a call to a model, in any record mode.",
    ),
    Row(
        "requests-mock",
        ("requests-mock", "requests"),
        ("requests",),
        BOTH,
        BOTH,
        "It stands above, and lets calls to models through, `real_http` or not.",
    ),
    Row(
        "aioresponses, aioresponses-ng",
        ("aioresponses-ng", "aiohttp"),
        ("aiohttp",),
        BOTH,
        BOTH,
        "It stands above, and lets calls to models through, `passthrough` or not.",
    ),
    Row(
        "moto",
        ("moto", "boto3"),
        ("botocore",),
        BOTH,
        BOTH,
        "It stands above, and lets calls to Bedrock's runtime through; S3 and the like are its own.",
    ),
    Row(
        "OpenTelemetry for httpx",
        ("opentelemetry-instrumentation-httpx", "opentelemetry-sdk", "httpx"),
        ("httpx",),
        BOTH,
        BOTH,
        "A call to a model has its span.",
    ),
    Row(
        "OpenTelemetry for requests",
        ("opentelemetry-instrumentation-requests", "opentelemetry-sdk", "requests"),
        ("requests",),
        BOTH,
        BOTH,
        "A call to a model has its span.",
    ),
    Row(
        "OpenTelemetry for aiohttp",
        ("opentelemetry-instrumentation-aiohttp-client", "opentelemetry-sdk", "aiohttp"),
        ("aiohttp",),
        BOTH,
        BOTH,
        "A call to a model has its span.",
    ),
    Row(
        "OpenTelemetry for botocore",
        ("opentelemetry-instrumentation-botocore", "opentelemetry-sdk", "boto3"),
        ("botocore",),
        BOTH,
        BOTH,
        "A call to a model has its span.",
    ),
    Row(
        "OpenTelemetry for urllib3",
        ("opentelemetry-instrumentation-urllib3", "opentelemetry-sdk", "requests"),
        ("requests",),
        OURS,
        OURS,
        "The answer enters above urllib3, so there is no span of it; that of `requests` is there.",
    ),
    Row(
        "Sentry for httpx and aiohttp",
        ("sentry-sdk", "httpx", "aiohttp"),
        ("httpx", "aiohttp"),
        BOTH,
        BOTH,
        "A call to a model has its span.",
    ),
    Row(
        "Sentry for requests",
        ("sentry-sdk", "requests"),
        ("requests",),
        OURS,
        OURS,
        "It measures `http.client`, and the answer enters above that, so there is no span of it.",
    ),
    Row(
        "Retrying transports of Pydantic AI, on tenacity",
        ("pydantic-ai-slim", "tenacity", "httpx"),
        ("httpx", "httpx2"),
        BOTH,
        BOTH,
        "They run, and are answered beneath: each of their attempts is a call.",
    ),
    Row(
        "Replicate's RetryTransport",
        ("replicate", "httpx"),
        ("httpx",),
        BOTH,
        BOTH,
        "It runs, and is answered beneath: each of its attempts is a call.",
    ),
    Row(
        "Retry of urllib3, on adapters of requests",
        ("requests",),
        ("requests",),
        BOTH,
        BOTH,
        "`max_retries` is honoured by urllib3's own rules; its waits take no time (`skip_backoff`).",
    ),
)
