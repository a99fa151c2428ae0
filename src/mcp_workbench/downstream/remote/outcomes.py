"""What an HTTP status without a JSON-RPC message means: an error text, and what to do about it."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer, BadStatus, NotTaken, Refused
from mcp_workbench.wire.message import ABSENT, decode_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.errors import RemoteError, WireError

UNAVAILABLE_STATUSES: Final = (429, 502, 503, 504)
"""Statuses of a server that is too busy, or not running behind its proxy."""
SHOWN_CHARACTERS: Final = 200
"""Maximum number of characters of a body that an error quotes."""

SESSION_OVER: Final = "the server ended the session"
URL_HINT: Final = 'Check "url": MCP servers often live at a path of their own, such as /mcp or /sse.'
FAULT_HINT: Final = "That is a fault of the server: try again later, or ask its operator."


class _Answer(msgspec.Struct):
    error: msgspec.Raw = ABSENT
    id: msgspec.Raw = ABSENT


_decode_answer = msgspec.json.Decoder(_Answer).decode


class HttpRefusal(msgspec.Struct, frozen=True):
    """A response whose status is not a success, and what was requested."""

    status: int
    headers: Mapping[str, str]
    content_type: str
    body: bytes
    """The beginning of the body."""
    redirect: str | None
    request_id: bytes
    """The id of the request as JSON; empty for a notification or a response."""
    has_session: bool
    """Whether the request was sent in a session."""
    credentials: str
    """The configured credentials, as an error names them."""

    def error(self) -> WireError:
        """Return the error that the refusal means for the caller."""
        if self.ends_session:
            return NotTaken(SESSION_OVER)
        own = self.rpc_error()
        if own is not None and self.status not in (401, 403, 407, *UNAVAILABLE_STATUSES):
            return own
        if self.redirect is not None:
            return BadStatus(
                self.status,
                f"it redirects to {self.redirect}, which is not followed",
                'If that is the server that you mean, write its address into "url".',
            )
        if self.status == 401:
            # Only with configured credentials: a server that needs a login is handled in `oauth`.
            return Refused(
                f"the server did not accept {self.credentials} ({self.described})",
                "It may have expired, or be for another service: replace it in the configuration.",
                cause="unauthorized",
            )
        if self.status == 403:
            return self._forbidden()
        if self.status == 429:
            return Refused(f"the server gets too many requests (HTTP 429){self._when()}")
        if self.status in (407, *UNAVAILABLE_STATUSES):
            return Refused(f"{self.described}{self._when()}", may_have_acted=self.status != 407)
        if self.status == 404 and not self.has_session:
            reason = f"there is no MCP server at this address ({self.described})"
            return BadStatus(404, reason, URL_HINT, cause="not-found")
        if self.status == 405:
            reason = f"this address does not accept MCP requests ({self.described})"
            return BadStatus(405, reason, URL_HINT, cause="method-not-allowed")
        hint = URL_HINT if self.status < 500 else FAULT_HINT
        return BadStatus(self.status, f"it answered {self.described}", hint)

    @property
    def described(self) -> str:
        """The status, with the beginning of the body."""
        try:
            phrase = f" {HTTPStatus(self.status).phrase}"
        except ValueError:
            phrase = ""
        return f"HTTP {self.status}{phrase}{self._said()}"

    def rpc_error(self) -> RemoteError | None:
        """Return the JSON-RPC error in the body, if it has one."""
        try:
            answer = _decode_answer(self.body)
        except (msgspec.DecodeError, RecursionError):
            return None
        if not answer.error or bytes(answer.id or b"null") not in (
            self.request_id,
            b"null",
            b'"server-error"',
        ):
            return None
        error = decode_error(bytes(answer.error))
        return None if isinstance(error, BadAnswer) else error

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server wants another attempt; None if it does not say."""
        return read_retry_after(self.headers.get("retry-after", ""))

    @property
    def ends_session(self) -> bool:
        """Whether the server no longer knows the session, so that nothing was executed."""
        if not self.has_session or self._is_about_request():
            return False
        # Servers on the TypeScript SDK use 400 for that.
        return self.status == 404 or (self.status == 400 and b"session" in self.body.lower())

    def _is_about_request(self) -> bool:
        """Whether the body is a response to this very request."""
        try:
            return bytes(_decode_answer(self.body).id) == self.request_id != b""
        except (msgspec.DecodeError, RecursionError):
            return False

    def _forbidden(self) -> WireError:
        challenge = self.headers.get("www-authenticate", "")
        if "insufficient_scope" not in challenge:
            hint = "Your account or network address may not use this server: ask its operator."
            return Refused(f"the server does not allow this ({self.described})", hint, cause="forbidden")
        found = re.search(r'scope="([^"]{1,200})"', challenge)
        wanted = f" (scope: {found[1]})" if found else ""
        hint = "Get one with more rights, and put it into the configuration."
        return Refused(
            f"{self.credentials} does not have the right for this{wanted}", hint, cause="forbidden"
        )

    def _when(self) -> str:
        wait = self.retry_after
        return "" if wait is None else f"; it asks to try again in {wait:g} s"

    def _said(self) -> str:
        if not self.content_type.startswith("text/") and "json" not in self.content_type:
            return ""
        if self.content_type == "text/html":
            return ", with a web page"
        text = " ".join(self.body.decode(errors="replace").split())[:SHOWN_CHARACTERS]
        return f": {text}" if text else ""


def read_retry_after(value: str) -> float | None:
    """Return the seconds of a `Retry-After` header, which has a number or a date; None if it is invalid."""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    if not value:
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few servers send a date

    try:
        at = parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None
    from time import time  # noqa: PLC0415 - as above

    return max(round(at - time()), 0.0)
