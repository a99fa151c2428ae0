"""Marks questions with the server that asks, and with the host that a URL opens.

For the client, all questions come from the workbench. So the text for its user begins with
`[toolbox/server]`, and with the host that a URL opens. Nothing else in a question changes, except that
sampling never includes the context of other servers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.names import ELICITATION, SAMPLING
from mcp_workbench.wire.message import ABSENT, decode_text, encode, members_of
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from mcp_workbench.protocol.questions import Question

    Members = dict[str, msgspec.Raw]

UNREADABLE_HOST: Final = "an address whose host cannot be determined"
"""What the user reads in place of a host that browsers may read differently."""

_NO_CONTEXT: Final = msgspec.Raw(b'"none"')
_SCHEME: Final = r"([A-Za-z][A-Za-z0-9+.-]*):"
_ENDS_AUTHORITY: Final = r"[/\\?#]"
_HOST_AND_PORT: Final = r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]%]+)(:\d*)?"
_ASCII_HOST: Final = r"\[[0-9a-f:.]+\]|[a-z0-9._-]+"
_IPV4: Final = r"(?:(?:0|[1-9]\d{0,2})(?:\.(?!$)|$)){4}"
_DEVIATIONS: Final = r"[\xdf\u1e9e\u03c2\u200c\u200d]"
"""Characters that browsers keep in a host name, and Python's codec replaces or drops."""
_TRIMMED: Final = "".join(map(chr, range(0x21)))
"""Characters that browsers ignore at both ends of a URL."""


def shown_params(label: str, question: Question) -> Members:
    """Return the parameters of a question as the client gets them. Our own questions say who asks."""
    params = members_of(question.params)
    return params if question.is_ours else with_origin(label, question.method, params)


def with_origin(label: str, method: str, params: Members) -> Members:
    """Return the parameters of a question with `label` (`toolbox/server`) in the text for the user."""
    if method == ELICITATION:
        message = _read(params, "message")
        if _read(params, "mode") == "url" or "url" in params:
            message = f"(opens {shown_host(_read(params, 'url'))}) {message}"
        return {**params, "message": _labelled(label, message)}
    if method == SAMPLING:
        # Users review the system prompt along with the messages, and clients may change it.
        labelled = {**params, "systemPrompt": _labelled(label, _read(params, "systemPrompt"))}
        if "includeContext" in params:
            # For the client, "this server" is the workbench with all of its servers.
            labelled["includeContext"] = _NO_CONTEXT
        return labelled
    return params


def _read(params: Members, name: str) -> str:
    return decode_text(params.get(name, ABSENT)) or ""


def _labelled(label: str, text: str) -> msgspec.Raw:
    return msgspec.Raw(encode(f"[{label}] {clean_text(text)}" if text else f"[{label}]"))


def shown_host(url: str) -> str:
    """Return the host that a browser opens for a URL, in ASCII, with the port if the URL has one.

    Return a description in words if the URL has no host, or if browsers may read it differently.
    """
    # As browsers do: drop line breaks and tabs, and take any number of slashes and backslashes for one.
    text = re.sub(r"[\t\n\r]", "", url).strip(_TRIMMED)
    scheme = re.match(_SCHEME, text)
    if scheme is None:
        return UNREADABLE_HOST
    if scheme[1].lower() not in ("http", "https"):
        return f"an address with the scheme {scheme[1].lower()}:"
    authority = re.split(_ENDS_AUTHORITY, text[scheme.end() :].lstrip("/\\"), maxsplit=1)[0]
    found = re.fullmatch(_HOST_AND_PORT, authority.rpartition("@")[2])
    host = "" if found is None else _to_ascii(found[1])
    if found is None or re.fullmatch(_ASCII_HOST, host) is None or _is_odd_number(host):
        return UNREADABLE_HOST
    return host + (found[2] or "").rstrip(":")


def _is_odd_number(host: str) -> bool:
    """Whether browsers read the host as an IPv4 address although it is not written like one."""
    last = host.rstrip(".").rpartition(".")[2]
    is_number = last.isdecimal() or re.fullmatch(r"0x[0-9a-f]*", last) is not None
    return is_number and re.fullmatch(_IPV4, host) is None


def _to_ascii(host: str) -> str:
    """Return the host as DNS knows it, with other scripts in Punycode; empty if browsers may differ."""
    if host.isascii():
        return host.lower()
    if re.search(_DEVIATIONS, host):
        return ""
    try:
        return host.encode("idna").decode().lower()
    except UnicodeError:
        return ""
