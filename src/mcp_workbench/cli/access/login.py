"""`mcp-workbench login` and `logout`: log in to a remote server in the browser, and log out again."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import threading
import webbrowser
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.terminal import complain, say
from mcp_workbench.downstream.oauth.login_store import LoginStore
from mcp_workbench.errors import LoginFailed, StoreError
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.workbench.text.sanitise import clean_text, show_name
from mcp_workbench.workbench.text.similar_names import similar_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Coroutine, Iterator
    from typing import Any

    from mcp_workbench.config import LoadedConfig, Origin, ServerConfig
    from mcp_workbench.downstream.oauth.callback import Callback
    from mcp_workbench.storage.login_record import Login

KEYRING_SECONDS = 60.0
"""How long to wait for a person to unlock the keyring."""
STORES = {"keyring": "in the system's keyring", "file": "in a file that only you can read"}
"""Where a login is stored, in words for the person."""
_TRY = "To try it: mcp-workbench check --connect"


class WrongTarget(Exception):
    """The named server does not exist, or needs no login; the message says which."""


class Command:
    """The server that `login` or `logout` is for, and the store of its login."""

    def __init__(self, loaded: LoadedConfig, name: str | None, command: str) -> None:
        self.mask = loaded.secrets.mask
        self.origin, self.config = _find(loaded, name, f"mcp-workbench {command}")
        self.name = show_name("/".join(self.origin))
        """Name of the server, with hidden characters as escapes."""
        self.store = LoginStore(os.environ, self.origin, self.config.url or "")


def run(options: argparse.Namespace) -> int:
    """Log in to a server, or log out. Return 0, 1 (that failed) or 2 (no such server, or a bad file)."""
    loaded = load_or_report(options)
    return 2 if loaded is None else asyncio.run(_until_interrupted(log_in_or_out(loaded, options)))


async def _until_interrupted(work: Coroutine[Any, Any, int]) -> int:
    cancel_on_request_to_end()
    return await work


async def log_in_or_out(loaded: LoadedConfig, options: argparse.Namespace) -> int:
    """Do what the command asks for, report what happens, and return the exit code."""
    try:
        command = Command(loaded, options.server, options.command)
        await (_log_out(command) if options.command == "logout" else _log_in(command, options))
    except WrongTarget as error:
        complain(str(error))
        return 2
    except (LoginFailed, StoreError) as error:
        complain(loaded.secrets.mask(clean_text(str(error))))
        return 1
    return 0


async def _log_in(command: Command, options: argparse.Namespace) -> None:
    # The SDK takes a second to load: not before it is clear that there is a server to log in to.
    from mcp_workbench.downstream.oauth.callback import open_callback
    from mcp_workbench.downstream.oauth.login_flow import LoginFlow
    from mcp_workbench.downstream.oauth.requests import request_challenge

    config, seconds = command.config, options.timeout
    say(f"Logging in to {command.name} ({command.mask(config.url or '')})")
    status, challenge = await request_challenge(config)
    if status != 401:
        _refuse_what_is_no_server(status)
        say(f"It did not ask for a login (HTTP {status}). Trying anyway.")
    earlier = await _earlier(command.store)
    is_waiting = False

    def show(address: str, issuer: str) -> None:
        nonlocal is_waiting
        is_waiting = True
        _show(address, issuer, browser=not options.no_browser)

    try:
        async with open_callback(_ports(options.port, config, earlier)) as callback, asyncio.timeout(seconds):
            with _pasting(callback):
                flow = LoginFlow(config.url or "", config.oauth, earlier, callback)
                login = await flow.run(challenge, " ".join(options.scope), show)
    except LoginFailed:
        if status < 400 and not is_waiting:
            needless = f"{command.name} did not ask for a login (HTTP {status}), and offers none"
            raise WrongTarget(f"{needless}. {_TRY}") from None
        raise
    except TimeoutError:
        raise LoginFailed(
            f"no answer came from the browser within {seconds:g} s",
            "Try again. If the page said that it does not know the client, log out first: "
            f"mcp-workbench logout {command.name}",
        ) from None
    except OSError as error:
        raise LoginFailed(
            f"the port for the browser is not available: {error.strerror}", "Free it, or use --port"
        ) from None
    status, _ = await request_challenge(config, login.access_token)
    if status == 401:
        raise LoginFailed("the server does not accept the token that its authorization server gave")
    async with command.store.locked():
        place = await command.store.save(login, limit=KEYRING_SECONDS)
    say(f"Logged in to {command.name}. The login is kept {STORES[place]}.")
    if login.refresh_token is None and login.expires_at is not None:
        minutes = (login.expires_at - login.obtained_at) / 60
        say(f"It ends in {minutes:.0f} minutes, and cannot be renewed: then log in again.")


async def _log_out(command: Command) -> None:
    async with command.store.locked():
        was_there = await command.store.forget()
    say(f"Logged out of {command.name}." if was_there else f"There was no login to {command.name}.")


def _find(loaded: LoadedConfig, name: str | None, command: str) -> tuple[Origin, ServerConfig]:
    """Return the server of that name, `toolbox/server`, or the only one that can be logged in to.

    Its own name is enough if only one server has it. Both parts may have slashes in them. Raises WrongTarget
    if there is none, or if it needs no login.
    """
    servers = {
        (toolbox, server): config
        for toolbox, box in loaded.config.toolboxes.items()
        for server, config in box.servers.items()
    }
    remote = {"/".join(origin): origin for origin, config in servers.items() if config.takes_login}
    if name is None:
        if len(remote) == 1:
            (origin,) = remote.values()
            return origin, servers[origin]
        lines = [f"{command} {shlex.quote(show_name(full))}" for full in remote]
        which = f"name the server: {', or '.join(lines)}" if lines else "no server in it needs a login"
        raise WrongTarget(f"{loaded.path}: {which}")
    found = [origin for origin in servers if "/".join(origin) == name]
    found = found or [origin for origin in servers if origin[1] == name]
    if len(found) > 1:
        names = ", ".join(show_name("/".join(origin)) for origin in found)
        raise WrongTarget(f"several servers are called '{show_name(name)}': {names}")
    if not found:
        near = similar_names(name, remote)
        guess = f"Did you mean: {command} {shlex.quote(show_name(near[0]))}" if near else ""
        others = f"Remote servers: {', '.join(map(show_name, remote)) or 'none'}"
        raise WrongTarget(f"there is no server '{show_name(name)}' in {loaded.path}. {guess or others}")
    (origin,) = found
    if not servers[origin].takes_login:
        raise WrongTarget(f"{show_name('/'.join(origin))} {_why_none(servers[origin])}")
    return origin, servers[origin]


def _why_none(config: ServerConfig) -> str:
    """Return why a server takes no login."""
    if config.url is None:
        return f"is a program that the workbench starts, and needs no login. {_TRY}"
    if config.has_authorization:
        return "has an Authorization header in its entry, and needs no login. To log in, remove the header"
    return "has credentials of its own (client_credentials), and needs no login"


def _refuse_what_is_no_server(status: int) -> None:
    if status == 404 or status >= 500:
        raise LoginFailed(f"the server answered HTTP {status}", "Check its url, or try again later")


async def _earlier(store: LoginStore) -> Login | None:
    """Return the stored login, which has the client that was registered for it, or None."""
    try:
        return await store.load()
    except StoreError:
        return None


def _ports(option: int | None, config: ServerConfig, earlier: Login | None) -> list[int]:
    fixed = option or (config.oauth.callback_port if config.oauth is not None else None)
    if fixed is not None:
        return [fixed]
    # The client that was registered for the last login can be redirected to that port only.
    last = None if earlier is None else urlsplit(earlier.redirect_uri).port
    return [0] if last is None else [last, 0]


def _show(address: str, issuer: str, *, browser: bool) -> None:
    if issuer:
        say(f"Its authorization server is {clean_text(issuer)}")
    say(f"Open this address in a browser:\n\n  {address}\n")
    say("Waiting for the browser. If it runs on another machine, it ends on a page that cannot be opened:")
    say("copy the address of that page and paste it here.")
    if browser and _has_browser():
        # In a thread, because the call may return only when the browser is closed.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_browser() -> bool:
    """Whether a browser would open in a window in front of the person, not in the terminal or remotely."""
    if os.environ.get("BROWSER"):
        return True
    if os.environ.get("SSH_CONNECTION"):
        return False
    has_windows = sys.platform in ("darwin", "win32")
    return has_windows or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _pasting(callback: Callback) -> Iterator[None]:
    """Read addresses that the person pastes into the terminal, when the browser runs on another computer."""
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
                say(f"That is not the address of this login: {callback.redirect_uri}?… Try again.")

    try:
        # The event loop cannot watch a file or a closed stdin, and no person can paste into these.
        with suppress(OSError, ValueError, NotImplementedError):
            loop.add_reader(0, read)
        yield
    finally:
        with suppress(OSError, ValueError, NotImplementedError):
            loop.remove_reader(0)
