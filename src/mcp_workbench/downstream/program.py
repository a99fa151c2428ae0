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
    from mcp_workbench.downstream.diagnosis.causes import StartFailure
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
        self._scratch: str | None = None
        """The temporary directory of a confined server."""

    @property
    def last_stderr_lines(self) -> Sequence[str]:
        """The last lines of the child's stderr, with secrets masked."""
        return self.stderr

    async def open(self, connection: Connection) -> None:
        """Start the program. Raises StartError."""
        config = self._config
        command = [config.command or "", *config.args]
        environment = child_environment(config, self._environ)
        try:
            if config.sandbox is not None:
                command, environment = self._confine(environment)
            # Long responses are searched for links while they arrive: afterwards that would take far longer.
            program = Program(command, environment, config.cwd, URI_SIGNS)
            await self.start(program, connection, config.message_limit)
        except OSError as error:
            from mcp_workbench.downstream.diagnosis.spawning import why_not_spawned  # noqa: PLC0415 - few starts fail

            raise self._failed(why_not_spawned(config, error, environment)) from None

    async def stop(self) -> None:
        """End the process tree, and delete the temporary directory of a confined server."""
        await super().stop()
        if self._scratch is not None:
            from mcp_workbench.downstream.sandbox import delete_scratch  # noqa: PLC0415 - loaded by then

            await delete_scratch(self._scratch)
            self._scratch = None

    def _confine(self, environment: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        """Return the command that confines the server, and its environment with the temporary directory."""
        from mcp_workbench.downstream import sandbox  # noqa: PLC0415 - few servers have one
        from mcp_workbench.downstream.diagnosis.causes import StartFailure  # noqa: PLC0415 - few starts fail

        if (failure := sandbox.why_not_confined(self._config)) is not None:
            raise self._failed(failure)
        if "TMPDIR" not in self._config.env:
            try:
                self._scratch = environment["TMPDIR"] = sandbox.make_scratch(environment)
            except OSError as error:
                reason = f"no temporary directory could be created for it: {error}"
                raise self._failed(StartFailure("failed", reason)) from None
        return sandbox.confined_command(self._config, environment, self._scratch)

    def _failed(self, failure: StartFailure) -> StartError:
        reason, hint = self._mask(failure.reason), self._mask(failure.hint)
        return StartError(self._name, reason, hint=hint, cause=failure.cause)
