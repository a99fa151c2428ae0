"""The `flows` of a server, and what it may ask of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.config.loading import load_content, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path


def tree(**keys: object) -> dict[str, Any]:
    return {
        "toolboxes": {
            "dev": toolbox(mail={"command": "x", **keys}),
            "crm": toolbox(db={"command": "y"}, wiki={"command": "z"}),
        }
    }


def test_flows_are_taken_as_they_are(tmp_path: Path) -> None:
    flows = {"*/*": "ask", "crm/*": "deny", "crm/db": "allow", "?rm/[dw]*": "ask"}
    loaded = load_content(tmp_path, tree(flows=flows))
    assert loaded.config.toolboxes["dev"].servers["mail"].flows == flows
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("flows", "where", "what"),
    [
        (["crm/*"], "", "should be an object, not a list"),
        (None, "", "should be an object, not null"),
        ({"crm": "deny"}, ".crm", "is not a pattern of the form toolbox/server"),
        ({"/db": "deny"}, "./db", "is not a pattern of the form toolbox/server"),
        ({"crm/": "deny"}, ".crm/", "is not a pattern of the form toolbox/server"),
        ({"crm/!db": "deny"}, ".crm/!db", "a pattern of flows has no exclusions"),
        ({"crm/db": "block"}, ".crm/db", 'should be one of "allow", "ask", "deny"'),
        ({"crm/db": False}, ".crm/db", 'should be one of "allow", "ask", "deny", not a boolean'),
        ({"crm/db": ["deny"]}, ".crm/db", 'should be one of "allow", "ask", "deny", not a list'),
    ],
)
def test_a_rule_that_is_not_understood_is_an_error(
    tmp_path: Path, flows: object, where: str, what: str
) -> None:
    (problem,) = problems(tmp_path, tree(flows=flows))
    assert problem.where.replace('"', "").replace("[", ".").replace("]", "").endswith(f"mail.flows{where}")
    assert problem.what == what


def test_a_pattern_without_a_server_has_a_warning(tmp_path: Path) -> None:
    flows = {"crm/bd": "deny", "dev/mail": "deny", "*/db": "ask"}
    warnings = load_content(tmp_path, tree(flows=flows)).warnings
    assert len(warnings) == 2
    assert all(warning.endswith("matches no other server of this file") for warning in warnings)


@pytest.mark.parametrize("key", ["elicitation", "roots"])
def test_only_sampling_can_be_asked_about(tmp_path: Path, key: str) -> None:
    (problem,) = problems(tmp_path, tree(**{key: "ask"}))
    assert problem.what == 'should be a string, one of "allow", "deny"'
    assert problem.remedy == f'Write for example "{key}": "deny"'
    assert load_content(tmp_path, tree(sampling="ask")).warnings == ()
