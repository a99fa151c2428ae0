"""The HTTP client for one server: pooled connections, TLS, proxies, redirects, and error texts.

The only module that knows the HTTP library; its errors leave as WireErrors. Does not interpret statuses.
"""

from __future__ import annotations

import logging
import ssl
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

import httpx2

from mcp_workbench import __version__
from mcp_workbench.config.hosts import is_loopback
from mcp_workbench.errors import BadAnswer, BrokenOff, Unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from mcp_workbench.downstream.remote.headers import Headers

CONNECT_TIMEOUT_SECONDS = 10.0
"""Seconds for a connection, including TLS. The request that waits for it has its own timeout afterwards."""
KEEP_ALIVE_SECONDS = 4.0
"""Seconds that an idle connection is kept. Many servers close theirs after 5, and a request that is sent
just then would be lost, without a way to know whether it was executed."""
MAX_IDLE_CONNECTIONS = 100
"""Maximum number of idle connections that are kept."""
MAX_REDIRECTS = 5

for _library in ("httpx2", "httpcore2"):
    # They log whole addresses and headers, which may contain secrets.
    logging.getLogger(_library).setLevel(logging.WARNING)


class HttpResponse:
    """A response: its status and headers, and its body as it arrives."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._chunks = response.aiter_bytes()
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def redirect(self) -> str | None:
        """Origin of the target, if the response is a redirect that was not followed."""
        following = self._response.next_request
        return None if following is None else origin_of(following.url)

    async def chunk(self) -> bytes:
        """Return the next piece of the body; empty at its end. Raises BrokenOff or BadAnswer."""
        with _our_errors(self._response.url):
            return await anext(self._chunks, b"")


class _Body(httpx2.AsyncByteStream):
    """The body of a request. It calls back when it was sent, which may happen more than once."""

    def __init__(self, body: bytes, on_sent: Callable[[], None]) -> None:
        self._body = body
        self._on_sent = on_sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body
        self._on_sent()


class HttpClient:
    """The HTTP connections to one server. Its creator closes it."""

    def __init__(self, url: str, headers: Mapping[str, str], auth: httpx2.Auth | None) -> None:
        try:
            self.url = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise Unreachable(f"its address cannot be used: {error}", 'Correct "url".') from None
        own = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._client = httpx2.AsyncClient(
            headers=[(b"User-Agent", b"mcp-workbench/%b" % __version__.encode()), *own],
            # A password in the address takes precedence over a login.
            auth=None if self.url.userinfo else auth,
            verify=tls_context(),
            timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_SECONDS),
            limits=httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=MAX_IDLE_CONNECTIONS,
                keepalive_expiry=KEEP_ALIVE_SECONDS,
            ),
            # Loopback addresses are not reached through a proxy.
            trust_env=not is_loopback(self.url.host),
        )

    @property
    def origin(self) -> str:
        """Scheme, host and port of the server: the part of its address that contains no secret."""
        return origin_of(self.url)

    def join(self, address: str) -> httpx2.URL | None:
        """Return an address that the server names, if it has the same origin; None if not."""
        try:
            url = self.url.join(address)
        except httpx2.InvalidURL:
            return None
        if url.userinfo and url.userinfo != self.url.userinfo:
            return None
        return url if _is_within(self.url, url) else None

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        headers: Headers,
        body: bytes | None = None,
        *,
        url: httpx2.URL | None = None,
        on_sent: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[HttpResponse]:
        """Send a request, and yield the response as soon as its headers are there. Raises WireError."""
        request = self._client.build_request(method, url or self.url, headers=headers)
        if body is not None:
            request.headers["Content-Length"] = str(len(body))
            request.stream = _Body(body, on_sent)
        with _our_errors(request.url):
            response = await self._send(request)
        try:
            yield HttpResponse(response)
        finally:
            await response.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, following redirects within the origin that change nothing else about it."""
        followed = 0
        while True:
            response = await self._client.send(request, stream=True, follow_redirects=False)
            following = response.next_request
            if following is None or followed == MAX_REDIRECTS or not _is_same_request(request, following):
                return response
            await response.aclose()
            request = following
            followed += 1

    async def close(self) -> None:
        """Close all connections to the server."""
        await self._client.aclose()


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context that all clients share: reading the system's certificates takes long."""
    return httpx2.create_ssl_context()


def origin_of(url: httpx2.URL) -> str:
    """Return the scheme, host and port of an address."""
    return str(url.copy_with(userinfo=b"", path="/", query=None, fragment=None)).removesuffix("/")


def _is_same_request(sent: httpx2.Request, following: httpx2.Request) -> bool:
    """Whether a redirect leads to the same server with the same method, and brings no credentials."""
    if following.method != sent.method:
        return False
    if following.url.userinfo and following.url.userinfo != sent.url.userinfo:
        return False
    return _is_within(sent.url, following.url)


def _is_within(url: httpx2.URL, other: httpx2.URL) -> bool:
    """Whether both addresses have the same origin, or differ only in that the other uses TLS."""
    if (url.scheme, url.host, url.port) == (other.scheme, other.host, other.port):
        return True
    is_upgrade = (url.scheme, other.scheme) == ("http", "https")
    return is_upgrade and url.host == other.host and url.port is None and other.port is None


class _our_errors:  # noqa: N801 - a context manager that reads like a clause
    """Translates the errors of the HTTP library into WireErrors."""

    def __init__(self, url: httpx2.URL) -> None:
        self._url = url

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, httpx2.HTTPError):
            raise _translated(error, self._url) from None


def _translated(error: httpx2.HTTPError, url: httpx2.URL) -> Unreachable | BrokenOff | BadAnswer:
    origin = origin_of(url)
    detail = _innermost(error)
    if isinstance(error, (httpx2.ConnectTimeout, httpx2.PoolTimeout)):
        reason = f"{origin} could not be reached within {CONNECT_TIMEOUT_SECONDS:g} s"
        return Unreachable(reason, 'Check "url", the network, and any proxy.')
    if isinstance(error, httpx2.ConnectError):
        return _unconnected(origin, url, detail)
    if isinstance(error, httpx2.ProxyError):
        reason = f"the proxy for {origin} failed: {error}"
        return Unreachable(reason, "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.")
    if isinstance(error, (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)):
        return Unreachable(f"the request cannot be sent: {error}", 'Check "url" and "headers".')
    if isinstance(error, httpx2.DecodingError):
        return BadAnswer(f"its answer could not be decompressed: {error}")
    return BrokenOff(f"the connection to {origin} broke: {str(error) or type(error).__name__}")


def _unconnected(origin: str, url: httpx2.URL, detail: BaseException) -> Unreachable:
    text = str(detail)
    if isinstance(detail, ssl.SSLCertVerificationError):
        reason = f"the certificate of {origin} is not trusted: {detail.verify_message or text}"
        hint = "If it is one of your own, name its authority in SSL_CERT_FILE."
        return Unreachable(reason, hint, cause="tls-failed")
    if isinstance(detail, ssl.SSLError):
        reason = f"no secure connection to {origin} could be made: {text}"
        hint = 'If it does not speak TLS, write "http://" in "url".'
        return Unreachable(reason, hint, cause="tls-failed")
    if type(detail).__name__ == "gaierror":
        reason = f"the name {url.host} could not be resolved: {text}"
        return Unreachable(reason, 'Check "url" and the network.', cause="dns-failed")
    if isinstance(detail, ConnectionRefusedError) or "refused" in text or "attempts failed" in text:
        reason = f"no server answers at {origin}: connection refused"
        return Unreachable(reason, 'Is the server running? Check "url".')
    return Unreachable(f"{origin} could not be reached: {text}", 'Check "url", the network, and any proxy.')


def _innermost(error: BaseException) -> BaseException:
    """Return the exception that a chain of exceptions began with."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error
