"""Whether a URI can come from a template, for all operators, and however a template is made."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.surface.resources.uri_templates import MAX_TEMPLATE_CHARACTERS, TemplateMatcher


def matches(template: str, uri: str) -> bool:
    return TemplateMatcher(uri).matches(template)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("test://one", "test://one"),
        ("test://{id}", "test://7"),
        ("test://{id}", "test://a%2Fb"),
        ("test://{id}", "test://"),
        ("test://{id}/data", "test://7/data"),
        ("test://{a}-{b}", "test://x-y-z"),
        ("test://{a}{b}", "test://xy"),
        ("test://{a,b*}", "test://x,y"),
        ("file:///{+path}", "file:///a/b/c.txt"),
        ("file:///{path}.md", "file:///today.md"),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://o/r/contents/src/main.py"),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://o/r/contents"),
        ("x:find{?q,limit}", "x:find?q=a&limit=3"),
        ("x:find{?q,limit}", "x:find"),
        ("x:find?fixed=1{&more}", "x:find?fixed=1&more=a/b"),
        ("x:page{#part}", "x:page#a/b"),
        ("x:name{.ext}", "x:name.tar"),
        ("x:name{;k}", "x:name;k=1"),
        ("x:{name:3}", "x:abc"),
        ("x:{ü}", "x:日本"),
    ],
)
def test_what_a_template_expands_to_matches(template: str, uri: str) -> None:
    assert matches(template, uri)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("test://one", "test://one/two"),
        ("test://{id}", "test://a/b"),
        ("test://{id}/data", "test://a/b/data"),
        ("test://{id}", "other://7"),
        ("file:///{path}.md", "file:///a/b.md"),
        ("repo://{owner}/contents{/path*}", "repo://o/contentsx"),
        ("x:find{?q}", "x:find&q=1"),
        ("x:name{.ext}", "x:nametar"),
        # One that does not say its scheme would match everything.
        ("{+anything}", "file:///secret"),
        ("{scheme}:///{+path}", "file:///secret"),
        ("file{+rest}", "file:///secret"),
        ("/{+path}", "/secret"),
        ("x:{", "x:1"),
        ("x:{}", "x:1"),
        ("x:{a", "x:1"),
        ("x:a}", "x:1"),
        ("x:" + "y" * MAX_TEMPLATE_CHARACTERS, "x:" + "y" * MAX_TEMPLATE_CHARACTERS),
    ],
)
def test_what_a_template_cannot_expand_to_does_not(template: str, uri: str) -> None:
    assert not matches(template, uri)


PARTS = st.sampled_from(["a", "/", "b", "{x}", "{+x}", "{/x}", "?"])
EXPRESSIONS = {"{x}": "[^/]*", "{+x}": ".*", "{/x}": "(?:/.*)?"}


@given(st.lists(PARTS, max_size=8), st.text("ab/?", max_size=12))
def test_it_agrees_with_a_regular_expression(parts: list[str], rest: str) -> None:
    pattern = "".join(EXPRESSIONS.get(part, re.escape(part)) for part in parts)
    expected = re.fullmatch(f"x:{pattern}", f"x:{rest}", re.DOTALL) is not None
    assert matches(f"x:{''.join(parts)}", f"x:{rest}") == expected


def test_no_template_takes_long() -> None:
    """A regular expression would try for longer than the universe is old."""
    matcher = TemplateMatcher("x:" + "a" * 8000)
    templates = ["x:" + "{+v}a" * (MAX_TEMPLATE_CHARACTERS // 5 - 1) + "b" for _ in range(10)]
    started = time.process_time()
    assert not any(map(matcher.matches, templates))
    assert time.process_time() - started < 5
