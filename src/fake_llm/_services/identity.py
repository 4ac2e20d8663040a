"""What lends credentials: token exchanges give a dummy token, the metadata servers of clouds have none (2026-11).

The forms are those that google-auth 2.63, azure-identity 1.27 and ibm-cloud-sdk-core 3.28 read. No token is a secret, and none runs out.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import Response
from fake_llm._services._base import Store

__all__ = [
    "GOOGLE_USER",
    "IBM_ERRORS",
    "MICROSOFT_ERRORS",
    "OAUTH_ERRORS",
    "google",
    "google_impersonated",
    "ibm",
    "metadata",
    "microsoft",
    "microsoft_configuration",
    "microsoft_instance",
]

GOOGLE_USER: Final = str(Path(__file__).parent / "google_user.json")
"""A file for `GOOGLE_APPLICATION_CREDENTIALS`: of a user, so that nothing has to be signed."""

TOKEN: Final = "fake-llm"  # noqa: S105  # says that it is none
_ISSUED: Final = 1_767_225_600  # 2026-01-01
_EXPIRES: Final = 4_102_444_800  # 2100-01-01
_HOUR: Final = 3599


def _encoded(fields: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


JWT: Final = ".".join(
    (
        _encoded({"alg": "HS256", "typ": "JWT"}),
        _encoded({"iss": "fake-llm", "sub": "fake-llm", "aud": "fake-llm", "iat": _ISSUED, "exp": _EXPIRES}),
        "ZmFrZS1sbG0",
    )
)
"""A token of the form that some clients look into."""


def _oauth(said: Said) -> dict[str, Any]:
    return {"error": said.type, "error_description": said.message}


def _of_ibm(said: Said) -> dict[str, Any]:
    return {"errorCode": said.type, "errorMessage": said.message, "context": {"requestId": said.exchange.ids.uuid()}}


_REFUSED: Final = {
    "bad_request": Usual(400, "invalid_grant", "Token has been expired or revoked."),
    "authentication": Usual(401, "invalid_client", "The OAuth client was not found."),
    "permission": Usual(403, "access_denied", "Account restricted"),
    "not_found": Usual(404, "invalid_request", "Not Found"),
    "rate_limit": Usual(429, "rate_limit_exceeded", "Too many requests."),
    "server_error": Usual(500, "internal_failure", "Internal failure."),
    "unavailable": Usual(503, "temporarily_unavailable", "The service is temporarily unavailable."),
}
OAUTH_ERRORS: Final = Errors(body=_oauth, usual=_REFUSED)
"""The form of RFC 6749, 5.2, with Google's words as google-auth 2.63 looks for them (2026-11)."""
MICROSOFT_ERRORS: Final = Errors(
    body=_oauth,
    usual={
        **_REFUSED,
        "bad_request": Usual(400, "invalid_grant", "AADSTS70000: The provided grant is invalid or has expired."),
        "authentication": Usual(401, "invalid_client", "AADSTS7000215: Invalid client secret provided."),
        "permission": Usual(403, "access_denied", "AADSTS65004: The access was declined."),
    },
)
IBM_ERRORS: Final = Errors(
    body=_of_ibm,
    usual={
        "bad_request": Usual(400, "BXNIM0415E", "Provided API key could not be found."),
        "authentication": Usual(401, "BXNIM0415E", "Provided API key could not be found."),
    },
)
"""IBM's form, of which ibm-cloud-sdk-core 3.28 reads the message; of its codes that for a wrong key alone is known (2026-11)."""


def google(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST oauth2.googleapis.com/token`, and that of `sts.googleapis.com`."""
    return {
        "access_token": TOKEN,
        "expires_in": _HOUR,
        "id_token": JWT,
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "token_type": "Bearer",
    }


def google_impersonated(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST iamcredentials.googleapis.com/v1/…:generateAccessToken`."""
    return {"accessToken": TOKEN, "expireTime": "2100-01-01T00:00:00Z"}


def microsoft(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST login.microsoftonline.com/{tenant}/oauth2/v2.0/token`."""
    return {"token_type": "Bearer", "expires_in": _HOUR, "ext_expires_in": _HOUR, "access_token": TOKEN}


def microsoft_configuration(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET login.microsoftonline.com/{tenant}/v2.0/.well-known/openid-configuration`."""
    base = f"https://{exchange.request.host}/{exchange.request.path_part(1)}"
    return {
        "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
        "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
        "issuer": f"{base}/v2.0",
        "token_endpoint": f"{base}/oauth2/v2.0/token",
    }


def microsoft_instance(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET login.microsoftonline.com/common/discovery/instance`."""
    host = exchange.request.host
    return {
        "tenant_discovery_endpoint": f"https://{host}/common/v2.0/.well-known/openid-configuration",
        "api-version": "1.1",
        "metadata": [{"preferred_network": host, "preferred_cache": "login.windows.net", "aliases": [host]}],
    }


def ibm(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST iam.cloud.ibm.com/identity/token`."""
    return {
        "access_token": JWT,
        "refresh_token": "not_supported",
        "token_type": "Bearer",
        "expires_in": 3600,
        "expiration": _EXPIRES,
        "scope": "ibm openid",
    }


def metadata(store: Store, exchange: Exchange) -> Response:
    """What asks takes this for a machine without credentials, at once and without asking again (azure-identity 1.27 does after a 404)."""
    if exchange.request.path.startswith("/metadata/identity/"):
        body = b'{"error":"invalid_request","error_description":"Identity not found"}'
        return Response(400, (("content-type", "application/json"),), body)
    return Response(404, (("content-type", "text/plain"),), b"Not Found")
