"""What it means when an answer over HTTP is no answer: the status in words, and what to do about it. Pure."""

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
"""Statuses of who is too busy, or not there behind its proxy: they say nothing about what it speaks."""
SHOWN_CHARACTERS: Final = 200
"""Characters of a body that are shown."""

SESSION_OVER: Final = "the server has ended the session"
URL_HINT: Final = 'Check "url": MCP servers often live at a path of their own, such as /mcp or /sse.'


class _Answer(msgspec.Struct):
    error: msgspec.Raw = ABSENT
    id: msgspec.Raw = ABSENT


_decode_answer = msgspec.json.Decoder(_Answer).decode


class HttpRefusal(msgspec.Struct, frozen=True):
    """An answer with a status that is no success, and what was asked for."""

    status: int
    headers: Mapping[str, str]
    content_type: str
    body: bytes
    """The beginning of it."""
    redirect: str | None
    request_id: bytes
    """As it stands in the request; empty if it wants no answer."""
    has_session: bool
    """Whether it was asked for in a session."""
    credentials: str
    """What the configuration has in place of a login."""

    def error(self) -> WireError:
        """What it comes down to."""
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
            # Whoever has a login, or could have one, does not get here: that is told by `oauth`.
            return Refused(
                f"the server did not accept {self.credentials} ({self.described})",
                "It may have expired, or be one for something else: replace it in the configuration.",
            )
        if self.status == 403:
            return self._forbidden()
        if self.status == 429:
            return Refused(f"the server gets too many requests (HTTP 429){self._when()}")
        if self.status in (407, *UNAVAILABLE_STATUSES):
            return Refused(f"{self.described}{self._when()}", may_have_acted=self.status != 407)
        if self.status == 404 and not self.has_session:
            return BadStatus(404, f"there is no MCP server at this address ({self.described})", URL_HINT)
        return BadStatus(self.status, f"it answered {self.described}", URL_HINT if self.status < 500 else "")

    @property
    def described(self) -> str:
        """The status, and what was said with it."""
        try:
            phrase = f" {HTTPStatus(self.status).phrase}"
        except ValueError:
            phrase = ""
        return f"HTTP {self.status}{phrase}{self._said()}"

    def rpc_error(self) -> RemoteError | None:
        """The server's own error, if that is what the body is."""
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
        """Seconds after which the server wants to be asked again, if it says so."""
        return read_retry_after(self.headers.get("retry-after", ""))

    @property
    def ends_session(self) -> bool:
        """Whether it says that the session is no longer known, in which nothing was done then."""
        if not self.has_session or self._is_about_request():
            return False
        # With 400 servers on the TypeScript SDK say it.
        return self.status == 404 or (self.status == 400 and b"session" in self.body.lower())

    def _is_about_request(self) -> bool:
        """Whether it is the server's answer to this very request."""
        try:
            return bytes(_decode_answer(self.body).id) == self.request_id != b""
        except (msgspec.DecodeError, RecursionError):
            return False

    def _forbidden(self) -> WireError:
        challenge = self.headers.get("www-authenticate", "")
        if "insufficient_scope" not in challenge:
            hint = "The account, or the address that you come from, may not use it: ask whoever runs it."
            return Refused(f"the server does not allow this ({self.described})", hint)
        found = re.search(r'scope="([^"]{1,200})"', challenge)
        wanted = f" (scope: {found[1]})" if found else ""
        hint = "Get one with more rights, and put it into the configuration."
        return Refused(f"{self.credentials} does not have the right for this{wanted}", hint)

    def _when(self) -> str:
        wait = self.retry_after
        return "" if wait is None else f"; it asks to come back in {wait:g} s"

    def _said(self) -> str:
        if not self.content_type.startswith("text/") and "json" not in self.content_type:
            return ""
        if self.content_type == "text/html":
            return ", with a web page"
        text = " ".join(self.body.decode(errors="replace").split())[:SHOWN_CHARACTERS]
        return f": {text}" if text else ""


def read_retry_after(value: str) -> float | None:
    """Seconds, from a `Retry-After` that has them or a date."""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    if not value:
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few servers say it so

    try:
        at = parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None
    from time import time  # noqa: PLC0415 - as above

    return max(round(at - time()), 0.0)
