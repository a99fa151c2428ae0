"""The log of a program that uses the library: the program writes it, and secret values are masked in it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from mcp_workbench.config import Secrets
from mcp_workbench.serve.logs.log_lines import without_secrets

if TYPE_CHECKING:
    from logging import LogRecord

LOGGER: Final = "mcp_workbench"


class MaskingHandler(logging.Handler):
    """Masks secret values in the package's log records, before the program's own handlers get them.

    It writes nothing. As the first handler of the logger `mcp_workbench` it changes each record in place.
    """

    def __init__(self) -> None:
        super().__init__()
        self.secrets = Secrets({})
        """All values that are masked. Another object whenever one is added."""

    def hide(self, secrets: Secrets) -> None:
        """Mask these values too from now on, in every record."""
        self.secrets |= secrets

    def mask(self, text: str) -> str:
        """Return a text as it may be kept, without secret values and hidden characters."""
        return without_secrets(text, self.secrets.mask)

    def emit(self, record: LogRecord) -> None:
        """Mask the message and the traceback of a record."""
        try:
            record.msg, record.args = self.secrets.mask(record.getMessage()), None
            if record.exc_info:
                formatted = logging.Formatter().formatException(record.exc_info)
                record.exc_text = self.secrets.mask(formatted)
        except Exception:  # noqa: BLE001 - logging must not stop the program
            self.handleError(record)


_handler: Final = MaskingHandler()


def masking_handler() -> MaskingHandler:
    """The handler of this process, which is installed with the first call."""
    handlers = logging.getLogger(LOGGER).handlers
    if _handler not in handlers:
        handlers.insert(0, _handler)
    return _handler
