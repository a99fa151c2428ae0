"""Decides about each call by the policies of the configuration and of the principal's token.

Finds the rule that decides, notes the decision in the record of the call, and lets the call pass, refuses it,
or has a person asked. Where a call hands over results of other servers, the stricter of the rule and of the
receiver's `flows` decides. Then the limits count. The rules of each server are read once for each principal
with a policy of its own, so that a decision is a lookup.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.model.policy import ACTIONS
from mcp_workbench.config.model.workbench import WorkbenchConfig
from mcp_workbench.errors import CallDenied, CallRefused, ExecutionFailed, StartError, ToolNotFound
from mcp_workbench.workbench.door import CallDecision
from mcp_workbench.workbench.policy.rules import PlacedPolicy, ServerRules, rules_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.policy import PolicyConfig
    from mcp_workbench.workbench.door import CallEnd, CallRecord
    from mcp_workbench.workbench.policy.approver import Approver
    from mcp_workbench.workbench.policy.limits import CallLimiter
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

MOVED_TO_TERMINAL: Final = (
    "the policy was changed while its user was asked, and an approval has to be given in a terminal now. "
    "Make the call again"
)
MAX_REMEMBERED_RULES: Final = 10_000
"""Pairs of a server and a principal with a policy of its own, whose rules are remembered."""


class _PrincipalRules(msgspec.Struct, frozen=True):
    """The rules of one server for one principal."""

    policy: PolicyConfig | None
    """The policy of the principal's token, which these rules were made from."""
    token: PlacedPolicy | None
    rules: ServerRules


class PolicyDecider:
    """The policy that calls have to pass at the door."""

    def __init__(self, approver: Approver) -> None:
        self._approver = approver
        self._config = WorkbenchConfig(toolboxes={})
        self._rules: dict[tuple[str, Origin], _PrincipalRules] = {}
        """The rules by principal and server. Principals without a policy of their own share an empty name."""
        self._limiter: CallLimiter | None = None

    def adopt(self, config: WorkbenchConfig, *, has_limits: bool) -> None:
        """Decide by the policies of a configuration from now on. Calls in flight keep their decisions."""
        self._config = config
        self._rules.clear()
        if not has_limits:
            self._limiter = None
            return
        if self._limiter is None:
            from mcp_workbench.workbench.policy.limits import CallLimiter  # noqa: PLC0415 - few policies have any

            self._limiter = CallLimiter()
        self._limiter.adopt(config)

    @property
    def on_end(self) -> Callable[[CallRecord, CallEnd], None] | None:
        """What counts the calls in flight; None if there is no limit."""
        return None if self._limiter is None else self._limiter.on_end

    def decide(self, record: CallRecord, call: ServerCall) -> Awaitable[None] | None:
        """Decide about a call: return None to let it pass, or an awaitable to hold it.

        Raises CallRefused, ToolNotFound for a tool that is hidden or does not exist, and ToolHeld.
        """
        # On the path of every call: no function calls that are not needed.
        toolbox_server, principal = call.toolbox_server, call.view.principal
        known = self._rules.get((principal.name if principal.policy else "", toolbox_server.origin))
        if known is None or known.policy is not principal.policy:
            known = self._read(principal, toolbox_server.origin)
        rules = known.rules
        if call.capability is not None:
            decision = rules.of_methods[call.method]
        else:
            verdict = rules.verdicts.get(call.name) or rules.verdict(call.name)
            if isinstance(verdict, CallDecision):
                decision = verdict
            elif (hint := toolbox_server.tool_hint(call.name)) is not None:
                decision = verdict[hint]
            else:
                return self._decide_connected(record, call)
        record.decision = decision
        if decision.action == "allow" and self._limiter is None and not call.sources:
            return None
        return self._enforce(record, call, decision, known)

    def confirm(self, record: CallRecord, call: ServerCall) -> None:
        """Raise CallRefused if a call that was held is denied now: the rules may have changed meanwhile."""
        known = self._read(call.view.principal, call.toolbox_server.origin)
        decision = _decision(call, known.rules)
        if call.sources:
            decision = _with_flows(call, decision, known.rules)
        if decision.action == "deny":
            record.decision = decision
            self._enforce(record, call, decision, known)
        is_of_client = record.decision is not None and record.decision.by == "user"
        if decision.action == "ask" and decision.place == "console" and is_of_client:
            toolbox, server = record.origin
            raise CallRefused(record.name, server, toolbox, MOVED_TO_TERMINAL)

    def shown(self, toolbox_server: ToolboxServer, principal: Principal) -> ToolboxServer:
        """Return a server as a principal sees it: without the tools that are hidden from the principal."""
        rules = self._read(principal, toolbox_server.origin).rules
        if not rules.hides:
            return toolbox_server
        from mcp_workbench.workbench.policy.hiding import HidingServer  # noqa: PLC0415 - few policies hide

        return HidingServer(toolbox_server, rules)

    def _read(self, principal: Principal, origin: Origin) -> _PrincipalRules:
        """Return the rules of a server for a principal, read anew if they have changed."""
        key = principal.name if principal.policy else "", origin
        known = self._rules.get(key)
        if known is None or known.policy is not principal.policy:
            policy = principal.policy
            token = None if policy is None else PlacedPolicy("token", f"token {principal.name}", policy)
            if len(self._rules) >= MAX_REMEMBERED_RULES:
                self._rules.clear()
            known = _PrincipalRules(policy, token, rules_of(origin, self._config, token))
            self._rules[key] = known
        return known

    async def _decide_connected(self, record: CallRecord, call: ServerCall) -> None:
        """Connect the server of a call, because its tools were never listed, and then decide."""
        with suppress(StartError):  # the hint stays unknown
            await call.toolbox_server.tools(modern=call.caller.is_modern)
        if record.end is not None:
            return  # the call was cancelled meanwhile: nobody is to be asked, and nothing to be counted
        known = self._read(call.view.principal, call.toolbox_server.origin)  # as the rules are by now
        record.decision = decision = _decision(call, known.rules)
        if (hold := self._enforce(record, call, decision, known)) is not None:
            await hold

    def _enforce(
        self, record: CallRecord, call: ServerCall, decision: CallDecision, known: _PrincipalRules
    ) -> Awaitable[None] | None:
        """Do what was decided. Raises CallRefused, and ToolNotFound for a tool that is hidden."""
        if decision.action == "deny" and known.rules.hides and call.tool is not None:
            from mcp_workbench.workbench.policy.hiding import as_missing  # noqa: PLC0415 - few policies hide

            raise as_missing(call, call.tool)
        if call.sources:
            decision = record.decision = _with_flows(call, decision, known.rules)
        if decision.action == "deny":
            toolbox, server = record.origin
            raise CallDenied(record.name, server, toolbox, decision.rule)
        if self._limiter is not None:
            continues = call.parent is not None
            self._limiter.begin(record, call.view.principal, known.token, continues=continues)
        if decision.action != "ask":
            return None
        if call.tool is not None and not call.toolbox_server.ready(call.tool, call.caller.is_modern):
            # The tool may be held or gone, or have changed since its user allowed it for the session.
            return self._ask_if_listed(record, call, call.tool, decision)
        return self._approver.ask(record, call, decision)

    async def _ask_if_listed(
        self, record: CallRecord, call: ServerCall, tool: str, decision: CallDecision
    ) -> None:
        """Connect the server and ask a person about a tool, unless the server lacks it or it is held.

        Raises ToolNotFound and ToolHeld: nobody should be asked about a call that cannot be made.
        """
        try:
            await call.toolbox_server.connect(tool, 0, modern=call.caller.is_modern)
        except ToolNotFound:
            from mcp_workbench.workbench.policy.hiding import as_missing  # noqa: PLC0415 - only for a mistaken call

            raise as_missing(call, tool) from None
        except ExecutionFailed:
            pass  # the server cannot be started: what it lists stays unknown
        if record.end is None and (hold := self._approver.ask(record, call, decision)) is not None:
            await hold


def _decision(call: ServerCall, rules: ServerRules) -> CallDecision:
    """Return what the rules of a server say about a call. A tool that was never listed has no known hint."""
    if call.capability is not None:
        return rules.of_methods[call.method]
    verdict = rules.verdict(call.name)
    if isinstance(verdict, CallDecision):
        return verdict
    return verdict[call.toolbox_server.tool_hint(call.name) or "unknown"]


def _with_flows(call: ServerCall, decision: CallDecision, rules: ServerRules) -> CallDecision:
    """Return the decision about a call, or that about the results that it hands over if it is stricter."""
    from mcp_workbench.workbench.policy.flows import flow_rule  # noqa: PLC0415 - few calls hand results over

    flow = flow_rule(call)
    if flow is None or ACTIONS.index(flow.action) <= ACTIONS.index(decision.action):
        return decision
    return msgspec.structs.replace(flow, place=rules.asks_at)
