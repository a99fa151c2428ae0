"""The link to a server that is a child process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.downstream.environment import child_environment
from mcp_workbench.errors import StartError
from mcp_workbench.protocol.names import URI_SIGNS
from mcp_workbench.wire.processes.child import Child, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.wire.processes.guard import Guard


class ProgramLink(Child):
    """A child process that is started as its configuration says."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        environ: Mapping[str, str],
        guard: Guard,
        *,
        mask: Callable[[str], str],
        on_stderr: Callable[[str], None],
    ) -> None:
        super().__init__(guard, mask, on_stderr)
        self._name = name
        self._config = config
        self._environ = environ
        self._mask = mask

    @property
    def last_stderr_lines(self) -> Sequence[str]:
        """The last lines of the child's stderr, with secrets masked."""
        return self.stderr

    async def open(self, connection: Connection) -> None:
        """Start the program. Raises StartError."""
        config = self._config
        command = [config.command or "", *config.args]
        # Long responses are searched for links while they arrive: afterwards that would take far longer.
        environment = child_environment(config, self._environ)
        program = Program(command, environment, config.cwd, URI_SIGNS)
        try:
            await self.start(program, connection, config.message_limit)
        except OSError as error:
            from mcp_workbench.downstream.diagnosis.spawning import why_not_spawned  # noqa: PLC0415 - few starts fail

            failure = why_not_spawned(config, error, environment)
            reason, hint = self._mask(failure.reason), self._mask(failure.hint)
            raise StartError(self._name, reason, hint=hint, cause=failure.cause) from None
