"""A link is known again in the spelling that a client's parser of URLs gives it.

The pairs are what pydantic's `AnyUrl`, which the Python SDK had until version 2, makes of a link.
"""

from __future__ import annotations

import time

import pytest

from mcp_workbench.workbench.emitted_uris import EmittedUris, same_for_all

EVIL = ("web", "evil")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("FILE:///home/me/.ssh/id_rsa", "file:///home/me/.ssh/id_rsa"),
        ("file:/etc/x", "file:///etc/x"),
        ("file:x", "file:///x"),
        ("file:////etc/x", "file:///etc/x"),
        ("file://localhost/etc/x", "file:///etc/x"),
        ("file:\\\\\\a\\b", "file:///a/b"),
        ("file:///a/../b", "file:///b"),
        ("file:///a/%2e%2E/b", "file:///b"),
        ("file:///a b", "file:///a%20b"),
        ("file:///\xe9", "file:///%C3%A9"),
        (" \x01file:///x\t\n", "file:///x"),
        ("fi\nle:///x", "file:///x"),
        ("http://EX.com:80", "http://ex.com/"),
        ("https://ex.com:443?q=a b", "https://ex.com/?q=a%20b"),
        ("http:/\\ex.com/a", "http://ex.com/a"),
        ("http://0x7f.1/x", "http://127.0.0.1/x"),
        ("http://2130706433/x", "http://127.0.0.1/x"),
        ("http://b\xfccher.de", "http://xn--bcher-kva.de/"),
        ("https://u:p@HOST:8443/x", "https://u:p@host:8443/x"),
        ("Doc:a b", "doc:a b"),
        ("doc://A/../b", "doc://A/b"),
    ],
)
def test_a_link_is_known_again_as_a_parser_spells_it(sent: str, read: str) -> None:
    uris = EmittedUris()
    uris.note(EVIL, sent)
    assert uris.origins(read) == [EVIL]
    assert same_for_all(same_for_all(sent)) == same_for_all(sent)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:///a", "file:///A"),
        ("file:///a", "file://host/a"),
        ("doc://a/1", "doc://A/1"),
        ("doc:a", "doc:A"),
        ("http://ex.com/", "http://ex.com:81/"),
        ("http://localhost/", "http:///"),
        ("x:\ud800", "x:\ud801"),
        ("x:a?b", "x:a#b"),
    ],
)
def test_different_resources_stay_different(one: str, other: str) -> None:
    assert same_for_all(one) != same_for_all(other)


def test_no_uri_takes_long() -> None:
    began = time.process_time()
    for hostile in ("file:///" + "a" * 8000 + "!", "http://" + "a.a" * 2700 + "!", "x:/" + "%2e%2e/" * 1000):
        same_for_all(hostile)
    assert time.process_time() - began < 0.2
