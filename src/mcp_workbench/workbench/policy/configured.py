"""Gives the door the policy of the configuration and of the tokens, and takes it away where there is none.

Owned by whatever serves a workbench. Nothing of the policy is loaded before a configuration or a token has
one, or a server has `flows`. A door without a policy asks nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.model.policy import NO_POLICY, LimitsConfig
from mcp_workbench.config.model.workbench import WorkbenchConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcp_workbench.config.model.policy import PolicyConfig
    from mcp_workbench.fairness import Shares
    from mcp_workbench.workbench.door import Door
    from mcp_workbench.workbench.policy.approver import Approver
    from mcp_workbench.workbench.policy.decider import PolicyDecider

_NO_LIMITS = LimitsConfig()


def approver_of(config: str, environ: Mapping[str, str], shares: Shares) -> Callable[[], Approver]:
    """Return what makes the approver of a workbench, given the path of its configuration."""

    def make() -> Approver:
        from mcp_workbench.workbench.policy.approvals import Approvals  # noqa: PLC0415 - only for a policy
        from mcp_workbench.workbench.policy.console import Console  # noqa: PLC0415 - only for a policy

        return Approvals(Console(config, environ), shares)

    return make


class ConfiguredPolicy:
    """Keeps the policy of a door in step with the configuration and the tokens."""

    def __init__(self, door: Door, make_approver: Callable[[], Approver]) -> None:
        self._door = door
        self._make_approver = make_approver
        """Makes what asks a person. Called once, when there is a policy."""
        self._config = WorkbenchConfig(toolboxes={})
        self._of_tokens: tuple[PolicyConfig, ...] = ()
        self._decider: PolicyDecider | None = None

    def configure(self, config: WorkbenchConfig) -> None:
        """Decide by the policies of a configuration from now on. Calls in flight keep their decisions."""
        self._config = config
        self._apply()

    def adopt_tokens(self, policies: Iterable[PolicyConfig]) -> None:
        """Take note of the policies of the tokens that clients may connect with."""
        self._of_tokens = tuple(policy for policy in policies if policy != NO_POLICY)
        self._apply()

    def _apply(self) -> None:
        policies = [*policies_of(self._config), *self._of_tokens]
        if not policies and not _has_flows(self._config):
            self._door.adopt(None)
            self._decider = None
            return
        if self._decider is None:
            from mcp_workbench.workbench.policy.decider import PolicyDecider  # noqa: PLC0415 - only for a policy

            self._decider = PolicyDecider(self._make_approver())
        has_limits = any(policy.limits != _NO_LIMITS for policy in policies)
        self._decider.adopt(self._config, has_limits=has_limits)
        self._door.adopt(self._decider)


def _has_flows(config: WorkbenchConfig) -> bool:
    return any(server.flows for toolbox in config.toolboxes.values() for server in toolbox.servers.values())


def policies_of(config: WorkbenchConfig) -> list[PolicyConfig]:
    """Return the policies of a configuration that say something."""
    inner = [
        policy
        for toolbox in config.toolboxes.values()
        for policy in (toolbox.policy, *(server.policy for server in toolbox.servers.values()))
    ]
    return [policy for policy in (config.policy, *inner) if policy != NO_POLICY]
