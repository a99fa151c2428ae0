"""Who has sent a client which URIs is remembered, within bounds that no server can turn on another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.workbench import emitted_uris
from mcp_workbench.workbench.emitted_uris import EmittedUris

if TYPE_CHECKING:
    import pytest

EVIL, FILES = ("a", "evil"), ("b", "files")


def test_each_uri_is_known_by_all_who_have_sent_it() -> None:
    uris = EmittedUris()
    assert uris.origins("x:y") == []
    uris.note(EVIL, "x:y")
    uris.note(FILES, "x:z")
    uris.note(FILES, "x:y")
    assert (uris.origins("x:y"), uris.origins("x:z"), uris.origins("x:Y")) == ([EVIL, FILES], [FILES], [])
    assert uris.incomplete == set()


def test_a_server_that_floods_forgets_its_own_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitted_uris, "MAX_URIS_PER_SERVER", 3)
    uris = EmittedUris()
    uris.note(FILES, "x:first")
    for name in ("first", "second", "third", "first", "fourth"):
        uris.note(EVIL, f"x:{name}")
    # The one that was not sent for longest goes.
    remembered = [
        name for name in ("first", "second", "third", "fourth") if EVIL in uris.origins(f"x:{name}")
    ]
    assert remembered == ["first", "third", "fourth"]
    assert FILES in uris.origins("x:first")
    assert uris.incomplete == {EVIL}


def test_half_a_surrogate_pair_is_remembered_like_anything_else() -> None:
    uris = EmittedUris()
    uris.note(EVIL, "x:\ud800")
    assert uris.origins("x:\ud800") == [EVIL]
