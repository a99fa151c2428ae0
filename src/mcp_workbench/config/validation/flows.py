"""Checks the `flows` of a server. Loaded only for a file that has them.

A rule that is not understood is an error, never ignored: what was meant to stop data must not be without
effect. Values are not quoted, because they may come from a variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from mcp_workbench.config.globs import matches
from mcp_workbench.config.model.policy import Action
from mcp_workbench.config.validation.fields import as_object, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.model.workbench import Origin, ServerConfig
    from mcp_workbench.config.validation.problems import Place, Problems

_EXAMPLE = '"flows": { "crm/*": "deny" }'
_ACTIONS = get_args(Action)
_FORM = 'Write the names of a toolbox and a server, or globs, as in "crm/*" or "*/*"'


def read_flows(value: object, place: Place, problems: Problems) -> dict[str, Action]:
    """Return the flows of a server by their patterns. Report every mistake, and leave out what is wrong."""
    flows: dict[str, Action] = {}
    for pattern, action in (as_object(value, place, _EXAMPLE, problems) or {}).items():
        inside = (*place, pattern)
        toolbox, _, server = pattern.partition("/")
        if not toolbox or not server:
            problems.add(inside, "is not a pattern of the form toolbox/server", f"{_FORM}.")
        elif "!" in (toolbox[0], server[0]):
            problems.add(inside, "a pattern of flows has no exclusions", 'Add a rule with "allow" instead.')
        elif action not in _ACTIONS:
            said = "" if isinstance(action, str) else f", not {kind_of(action)}"
            what = f'should be one of "allow", "ask", "deny"{said}'
            problems.add(inside, what, f'Write for example "{pattern}": "deny"')
        else:
            flows[pattern] = action  # type: ignore[assignment] # it is one of them
    return flows


def warn_of_idle_flows(
    servers: Mapping[Origin, ServerConfig], places: Mapping[Place, Origin], problems: Problems
) -> None:
    """Warn of patterns that match no server of the file: their rules have no effect, by a slip perhaps."""
    for place, origin in places.items():
        for pattern in servers[origin].flows:
            toolbox, _, server = pattern.partition("/")
            sources = (source for source in servers if source != origin)
            if not any(matches(toolbox, name) and matches(server, other) for name, other in sources):
                problems.warn((*place, "flows", pattern), "matches no other server of this file")
