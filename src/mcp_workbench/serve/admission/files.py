"""Keeps the admission of clients in step with its two files: the configuration and the token file.

Owns which credentials are required before the first client is admitted, and what a changed token file does.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.hosts import is_loopback
from mcp_workbench.config.model.access import ALL
from mcp_workbench.errors import ConfigError, NoTokens, Problem
from mcp_workbench.serve.admission.admission import Admission
from mcp_workbench.serve.admission.last_use import LastUse
from mcp_workbench.serve.reload import BackgroundLoad
from mcp_workbench.serve.watch import Watcher, is_special
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.storage.token_use import TokenUseFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.config.tokens import LoadedTokens
    from mcp_workbench.serve.admission.admission import AdmittedClients
    from mcp_workbench.serve.logs import SecretSink
    from mcp_workbench.workbench.policy.configured import ConfiguredPolicy

OPEN_TO_OTHERS = "anyone who can reach this address can use it, so a token file is required"
_REMEDY = """\
Create a token, and name its file:
      mcp-workbench token alice --token-file tokens.json
      mcp-workbench serve --http {address} --token-file tokens.json
    Or let your identity provider authenticate users: "oauth" under "http" in the configuration.
    Or listen on this machine only: --http 127.0.0.1:8000"""

log = logging.getLogger(__name__)


def load_credentials(
    host: str, port: int, token_file: str | None, loaded: LoadedConfig, environ: Mapping[str, str]
) -> LoadedTokens | None:
    """Load the token file. Raises ConfigError, also if clients from other machines would need no token."""
    if token_file is not None:
        from mcp_workbench.config.tokens import load_tokens  # noqa: PLC0415 - only where there is such a file

        return load_tokens(token_file, environ, lookup=secret_lookup(environ))
    if needs_token(host, loaded):
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise ConfigError(f"--http {address}", [Problem("", OPEN_TO_OTHERS, _REMEDY.format(address=address))])
    return None


def needs_token(host: str, loaded: LoadedConfig) -> bool:
    """Whether clients need a token: other machines can reach the address, and there is no issuer."""
    return not is_loopback(host) and loaded.config.http.oauth is None


def _read(path: str, environ: Mapping[str, str]) -> LoadedTokens | ConfigError:
    from mcp_workbench.config.tokens import load_tokens  # noqa: PLC0415 - only where there is such a file

    try:
        return load_tokens(path, environ, lookup=secret_lookup(environ))
    except ConfigError as error:
        return error


class AdmissionFiles:
    """Owns the admission and applies changes of its files until it is closed."""

    def __init__(
        self,
        host: str,
        loaded: LoadedConfig,
        tokens: LoadedTokens | None,
        *,
        environ: Mapping[str, str],
        log_handler: SecretSink,
        clients: AdmittedClients,
        policy: ConfiguredPolicy,
    ) -> None:
        self.admission = Admission(host, loaded.config.http, tokens, clients)
        self._loaded = loaded
        self._tokens = tokens
        self._policy = policy
        """Told of the policies of the tokens."""
        self._environ = environ
        self._log_handler = log_handler
        self._watcher: Watcher | None = None
        self._last_use: LastUse | None = None
        self._loading: BackgroundLoad[LoadedTokens | ConfigError] | None = None
        if tokens is not None:
            self._adopt_policies(tokens)
            self._loading = BackgroundLoad(tokens.path, partial(_read, tokens.path, environ), self._apply)

    def start(self) -> None:
        """Watch the token file from now on, if there is one."""
        if self._tokens is not None:
            self._announce(self._tokens)
            self._watcher = Watcher(self._tokens.path, self._tokens.stamp, self.reload)
            self._watcher.start()
            file = TokenUseFile(self._tokens.path, self._environ)
            self._last_use = LastUse(file, self.admission.file_tokens)
            self._last_use.start()

    def close(self) -> None:
        """Stop watching the token file and close the admission."""
        if self._watcher is not None:
            self._watcher.close()
        if self._loading is not None:
            self._loading.close()
        self.admission.close()

    async def write_last_use(self) -> None:
        """Write the times of last use a final time."""
        if self._last_use is not None:
            await self._last_use.close()

    def reconfigure(self, loaded: LoadedConfig) -> None:
        """Apply a changed configuration to the admission."""
        self._loaded = loaded
        self.admission.reconfigure(loaded.config.http)
        if self._tokens is not None:
            self._warn_of_unknown(self._tokens)

    def reload(self) -> None:
        """Read the token file again, and apply it if it is valid."""
        if self._tokens is None or self._loading is None:
            return
        if is_special(self._tokens.path):
            self._loading.close()
            what = Problem("", "this is a pipe or a device, not a file", "Put a file there.")
            self._refuse_all_tokens(self._tokens, NoTokens(self._tokens.path, [what]))
            return
        self._loading.start()

    def _apply(self, tokens: LoadedTokens | ConfigError) -> None:
        if isinstance(tokens, NoTokens) and self._tokens is not None:
            self._refuse_all_tokens(self._tokens, tokens)
            return
        if isinstance(tokens, ConfigError):
            problems = "; ".join(problem.brief for problem in tokens.problems)
            log.error(
                "%s has changed and cannot be used; the tokens stay as they were "
                "(to refuse all tokens, empty or delete the file): %s",
                tokens.path,
                problems,
            )
            return
        self._tokens = tokens
        self._announce(tokens)
        self._renew(tokens)
        log.info("%s has changed; the tokens are reloaded", tokens.path)

    def _refuse_all_tokens(self, tokens: LoadedTokens, error: NoTokens) -> None:
        """Admit no token any more. Logged once, however often an empty file changes."""
        if tokens.tokens:
            log.error(
                "%s has no tokens any more, so every token is refused from now on: %s. "
                "To admit clients again, write a token into the file: mcp-workbench token NAME creates one",
                error.path,
                "; ".join(problem.brief for problem in error.problems),
            )
        # Not None: that would mean that no token is needed.
        self._tokens = msgspec.structs.replace(tokens, tokens={})
        self._renew(self._tokens)

    def _renew(self, tokens: LoadedTokens) -> None:
        # First: a client whose token has a policy now must not pass a door without one.
        self._adopt_policies(tokens)
        self.admission.renew_tokens(tokens)

    def _adopt_policies(self, tokens: LoadedTokens) -> None:
        self._policy.adopt_tokens(token.policy for token in tokens.tokens.values())

    def _announce(self, tokens: LoadedTokens) -> None:
        self._log_handler.hide(tokens.secrets)
        for warning in tokens.warnings:
            log.warning("warning: %s: %s", tokens.path, warning)
        self._warn_of_unknown(tokens)

    def _warn_of_unknown(self, tokens: LoadedTokens) -> None:
        known = {ALL, *self._loaded.config.toolboxes}
        for name, token in tokens.tokens.items():
            if unknown := [toolbox for toolbox in token.toolboxes if toolbox not in known]:
                what = f"{name} may use a toolbox that does not exist: {', '.join(unknown)}"
                log.warning("warning: %s: %s", tokens.path, what)
