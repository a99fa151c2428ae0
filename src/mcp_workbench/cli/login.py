"""`mcp-workbench login` and `logout`: a person's login to a remote server, by the browser."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import webbrowser
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_workbench.cli.terminal import complain, say
from mcp_workbench.config import load, locate
from mcp_workbench.downstream.oauth.callback import open_callback
from mcp_workbench.downstream.oauth.login_flow import LoginFlow
from mcp_workbench.downstream.oauth.login_store import LoginStore
from mcp_workbench.downstream.oauth.requests import request_challenge
from mcp_workbench.errors import ConfigError, LoginFailed, StoreError
from mcp_workbench.serve.logs import report, set_up
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.workbench.text.sanitise import clean_text, show_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    from mcp_workbench.config import LoadedConfig, ServerConfig
    from mcp_workbench.downstream.oauth.callback import Callback
    from mcp_workbench.storage.login_record import Login

KEYRING_LIMIT = 60.0
"""Seconds for a person to unlock the keyring."""
WORDS = {"keyring": "in the system's keyring", "file": "in a file that only you can read"}


class WrongTarget(Exception):
    """There is nothing to log in to under this name; the message says why."""


class Command:
    """What both commands need: the server that is meant, and where its login is."""

    def __init__(self, loaded: LoadedConfig, name: str) -> None:
        self.mask = loaded.secrets.mask
        self.name = show_name(name)
        """As it can be printed."""
        self.origin, self.config = _find(loaded, name)
        self.store = LoginStore(os.environ, self.origin, self.config.url or "")


def run_login(
    option: str | None,
    name: str,
    *,
    browser: bool,
    port: int | None,
    scope: str,
    seconds: float,
    log_level: str,
    log_format: str,
) -> int:
    """Logs in, and returns 0, 1 (it did not come about) or 2 (there is no such server, or a bad file)."""

    async def log_in(command: Command) -> None:
        await _log_in(command, browser=browser, port=port, scope=scope, seconds=seconds)

    return _run(log_in, option, name, log_level, log_format)


def run_logout(option: str | None, name: str, *, log_level: str, log_format: str) -> int:
    """Forgets a login, and returns 0, 1 (it could not be removed) or 2 (no such server, or a bad file)."""
    return _run(_log_out, option, name, log_level, log_format)


def _run(
    work: Callable[[Command], Coroutine[Any, Any, None]],
    option: str | None,
    name: str,
    log_level: str,
    log_format: str,
) -> int:
    try:
        loaded = load(locate(option, os.environ), os.environ)
    except ConfigError as error:
        report(error, log_format)
        return 2
    set_up(log_level, log_format).hide(loaded.secrets)
    try:
        command = Command(loaded, name)
    except WrongTarget as error:
        complain(str(error))
        return 2
    try:
        asyncio.run(_until_interrupted(work(command)))
    except (LoginFailed, StoreError) as error:
        complain(command.mask(clean_text(str(error))))
        return 1
    return 0


async def _until_interrupted(work: Coroutine[Any, Any, None]) -> None:
    cancel_on_request_to_end()
    await work


async def _log_in(command: Command, *, browser: bool, port: int | None, scope: str, seconds: float) -> None:
    config = command.config
    say(f"Logging in to {command.name} ({command.mask(config.url or '')})")
    status, challenge = await request_challenge(config)
    if status != 401:
        _refuse_what_is_no_server(status)
        say(f"It did not ask for a login (HTTP {status}). Trying all the same.")
    earlier = await _earlier(command.store)
    try:
        async with open_callback(_ports(port, config, earlier)) as callback, asyncio.timeout(seconds):
            with _pasting(callback):
                flow = LoginFlow(config.url or "", config.oauth, earlier, callback)
                login = await flow.run(challenge, scope, lambda *shown: _show(*shown, browser=browser))
    except TimeoutError:
        raise LoginFailed(
            f"no answer came from the browser within {seconds:g} s",
            "Start again. If its page said that it does not know the client: log out first, with "
            f"mcp-workbench logout {command.name}",
        ) from None
    except OSError as error:
        raise LoginFailed(
            f"the port for the browser cannot be had: {error.strerror}", "Free it, or use --port"
        ) from None
    status, _ = await request_challenge(config, login.access_token)
    if status == 401:
        raise LoginFailed("the server does not accept the token that its authorization server gave")
    async with command.store.locked():
        place = await command.store.save(login, limit=KEYRING_LIMIT)
    say(f"Logged in to {command.name}. The login is kept {WORDS[place]}.")
    if login.refresh_token is None and login.expires_at is not None:
        minutes = (login.expires_at - login.obtained_at) / 60
        say(f"It ends in {minutes:.0f} minutes, and cannot be renewed: then log in again.")


async def _log_out(command: Command) -> None:
    async with command.store.locked():
        was_there = await command.store.forget()
    say(f"Logged out of {command.name}." if was_there else f"There was no login to {command.name}.")


def _find(loaded: LoadedConfig, name: str) -> tuple[tuple[str, str], ServerConfig]:
    """The server of that name, `toolbox/server`. Both parts may hold slashes themselves."""
    servers = {
        (toolbox, server): config
        for toolbox, box in loaded.config.toolboxes.items()
        for server, config in box.servers.items()
    }
    found = [(origin, config) for origin, config in servers.items() if "/".join(origin) == name]
    if not found:
        remote = [show_name("/".join(origin)) for origin, config in servers.items() if config.url is not None]
        what = f"there is no server '{show_name(name)}' in {loaded.path}"
        raise WrongTarget(f"{what}. Remote servers: {', '.join(remote) or 'none'}")
    origin, config = found[0]
    if config.url is None:
        raise WrongTarget(
            f"{show_name(name)} is a program that the workbench starts: there is nothing to log in to"
        )
    if any(header.lower() == "authorization" for header in config.headers):
        raise WrongTarget(f"{show_name(name)} has an Authorization header of its own, and needs no login")
    if config.oauth is not None and config.oauth.grant == "client_credentials":
        raise WrongTarget(
            f"{show_name(name)} has credentials of its own (client_credentials), and needs no login"
        )
    return origin, config


def _refuse_what_is_no_server(status: int) -> None:
    if status == 404 or status >= 500:
        raise LoginFailed(f"the server answered HTTP {status}", "Check its url, or try again later")


async def _earlier(store: LoginStore) -> Login | None:
    """The login so far, if it can be had: it holds the client that was registered for it."""
    try:
        return await store.load()
    except StoreError:
        return None


def _ports(option: int | None, config: ServerConfig, earlier: Login | None) -> list[int]:
    fixed = option or (config.oauth.callback_port if config.oauth is not None else None)
    if fixed is not None:
        return [fixed]
    # The client that was registered for the last login is bound to its port.
    last = None if earlier is None else urlsplit(earlier.redirect_uri).port
    return [0] if last is None else [last, 0]


def _show(address: str, issuer: str, *, browser: bool) -> None:
    if issuer:
        say(f"Its authorization server is {clean_text(issuer)}")
    say(f"Open this address in a browser:\n\n  {address}\n")
    say("Waiting for the browser. If it runs on another machine, it ends at a page that it cannot open:")
    say("copy the address of that page, and paste it here.")
    if browser and _has_browser():
        # It may wait until the browser is closed.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_browser() -> bool:
    """Whether a window would open in front of the person: no browser in this terminal, nor one elsewhere."""
    if os.environ.get("BROWSER"):
        return True
    if os.environ.get("SSH_CONNECTION"):
        return False
    has_windows = sys.platform in ("darwin", "win32")
    return has_windows or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _pasting(callback: Callback) -> Iterator[None]:
    """Takes what is typed into the terminal for the address that the browser has ended at."""
    loop = asyncio.get_running_loop()
    typed = bytearray()

    def read() -> None:
        data = os.read(0, 65536)
        if not data:
            loop.remove_reader(0)
        typed.extend(data)
        while (end := typed.find(b"\n")) >= 0:
            line = typed[:end].decode(errors="replace").strip()
            del typed[: end + 1]
            if line and not callback.take(line):
                say(f"That is not where this login ends: {callback.redirect_uri}?… Try again.")

    try:
        # A file, or no stdin at all, cannot be waited for: then there is nobody to paste either.
        with suppress(OSError, ValueError, NotImplementedError):
            loop.add_reader(0, read)
        yield
    finally:
        with suppress(OSError, ValueError, NotImplementedError):
            loop.remove_reader(0)
