"""Names of resources and prompts lead back to where they are from, whatever they are made of."""

from __future__ import annotations

import json
import random
import re
import subprocess
from urllib.parse import quote

import pytest
from pydantic import AnyUrl

from mcp_workbench.surface.resources.names import (
    QualifiedName,
    is_uri,
    unwrap_name,
    unwrap_uri,
    wrap_name,
    wrap_uri,
)

ODD = [
    "dev",
    " ",
    ".",
    "..",
    "a/b",
    "100%",
    "%2F",
    "%",
    "my server",
    "🧰",
    "ü",
    "{x}",
    "a:b",
    "?",
    "#",
    "+",
    "\t",
]
URIS = [
    "file:///a/b c.txt",
    "test://a/b?c=%20d#e",
    "test://ü/🙂",
    "a:",
    "workbench:dev/fs/file:///x",
    "x:%2F%zz{id}",
    "https://host/../x//y/?a=/&b=:#/frag?x",
    "urn:isbn:123",
]


@pytest.mark.parametrize("toolbox", ODD)
def test_names_made_of_anything_lead_back(toolbox: str) -> None:
    names = [QualifiedName(toolbox, server, name) for server in ODD for name in (*ODD, *URIS)]
    assert [qualified for qualified in names if unwrap_uri(wrap_uri(qualified)) != qualified] == []
    assert [qualified for qualified in names if unwrap_name(wrap_name(qualified)) != qualified] == []


def test_names_made_at_random_lead_back_and_never_collide() -> None:
    letters = random.Random(5)  # noqa: S311 - no secret
    alphabet = "ab/%:{}?#. 2Fé🙂"
    names = {
        QualifiedName(*("".join(letters.choices(alphabet, k=letters.randint(1, 6))) for _ in range(3)))
        for _ in range(5000)
    }
    assert len({wrap_uri(qualified) for qualified in names}) == len(names)
    assert [qualified for qualified in names if unwrap_uri(wrap_uri(qualified)) != qualified] == []


def test_the_form_is_the_documented_one() -> None:
    qualified = QualifiedName("box ü/100%", "my server", "file:///{+path}")
    toolbox, server = quote(qualified.toolbox, safe=""), quote(qualified.server, safe="")
    assert wrap_uri(qualified) == f"workbench:{toolbox}/{server}/file:///{{+path}}"
    assert wrap_name(qualified) == f"{toolbox}/{server}/file:///{{+path}}"


def test_a_wrapped_template_expands_to_the_wrapped_expansion() -> None:
    def expand(template: str) -> str:
        return re.sub(r"\{\+?(\w+)\}", "VALUE", template)

    qualified = QualifiedName("{dev}", "{server}", "test://item/{id}/{+rest}")
    own = QualifiedName(qualified.toolbox, qualified.server, expand(qualified.name))
    assert expand(wrap_uri(qualified)) == wrap_uri(own)


def test_toolbox_and_server_may_be_encoded_in_another_way() -> None:
    qualified = QualifiedName("ü", "a", "x:y")
    assert unwrap_uri("workbench:%c3%bc/%61/x:y") == unwrap_uri("WORKBENCH:ü/a/x:y") == qualified


@pytest.mark.parametrize(
    "uri",
    [
        *("", "workbench:", "workbench:dev", "workbench:dev/", "workbench:dev/s/", "workbench:/s/x:y"),
        *("workbench:dev//x:y", "workbench:%FF/s/x:y", "file:///a/b/c", "dev/s/x:y"),
    ],
)
def test_what_is_not_of_the_form_stands_for_nothing(uri: str) -> None:
    assert unwrap_uri(uri) is None


def test_a_uri_has_a_scheme() -> None:
    assert [text for text in (*URIS, "", "no uri", "/a/b", ":x", "1a:b") if not is_uri(text)] == [
        *("", "no uri", "/a/b", ":x", "1a:b")
    ]


ASCII = [uri for uri in URIS if uri.isascii()]


def wrapped() -> list[str]:
    return [wrap_uri(QualifiedName(toolbox, "my server", uri)) for toolbox in ODD for uri in ASCII]


def test_python_clients_leave_a_wrapped_uri_alone() -> None:
    """The official SDK passes URIs through this type."""
    assert [uri for uri in wrapped() if str(AnyUrl(uri)) != uri] == []


@pytest.mark.node
def test_javascript_clients_leave_a_wrapped_uri_alone() -> None:
    script = "process.stdout.write(JSON.stringify(JSON.parse(process.argv[1]).map(x => new URL(x).href)))"
    given = wrapped()
    done = subprocess.run(
        ["node", "-e", script, json.dumps(given)], capture_output=True, check=True, timeout=30
    )
    assert json.loads(done.stdout) == given
