"""What programs write to stderr when they fail: npm, uv, pip, Node.js, Python, shells and servers.

The first part was recorded from real runs. There home directories, paths and addresses of registries are
replaced, and long traces are shortened. The second part was written by hand, after forms that are known but
were not met in a run.
"""

# ruff: noqa: E501, RUF001 - the lines are as they were written

from __future__ import annotations

from typing import Final

NPM_404: Final = """\
npm error code E404
npm error 404 Not Found - GET https://packages.example/@nosuch-scope-xyz%2fmcp-nope
npm error 404
npm error 404  The requested resource '@nosuch-scope-xyz/mcp-nope@*' could not be found or you do not have \
permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/ada/.npm/_logs/2026-11-18T00_01_42_117Z-debug-0.log
"""
NPM_VERSION: Final = """\
npm error code ETARGET
npm error notarget No matching version found for is-odd@99.9.9.
npm error notarget In most cases you or one of your dependencies are requesting a package version that doesn't exist.
npm error A complete log of this run can be found in: /home/ada/.npm/_logs/2026-11-18T00_01_46_822Z-debug-0.log
"""
NPM_OFFLINE: Final = """\
npm error code ENOTFOUND
npm error syscall getaddrinfo
npm error errno ENOTFOUND
npm error network request to http://packages.example/foo-bar-baz failed, reason: getaddrinfo ENOTFOUND \
packages.example
npm error network This is a problem related to network connectivity.
npm error network In most cases you are behind a proxy or have bad network settings.
npm error network
npm error network If you are behind a proxy, please make sure that the 'proxy' config is set properly.  See: \
'npm help config'
"""
NPM_REFUSED: Final = """\
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:9/foo-bar-baz failed, reason: connect ECONNREFUSED 127.0.0.1:9
npm error     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/node_modules/minipass-fetch/lib/index.js:130:14)
npm error     at process.processTicksAndRejections (node:internal/process/task_queues:83:21) {
npm error   code: 'ECONNREFUSED',
npm error   errno: 'ECONNREFUSED',
npm error   syscall: 'connect',
npm error   address: '127.0.0.1',
npm error   port: 9,
npm error   type: 'system'
npm error }
"""
UV_NO_PACKAGE: Final = """\
error: No solution found when resolving tool dependencies
  cause: Because mcp-server-no-such-xyz was not found in the package registry and you require \
mcp-server-no-such-xyz, we can conclude that your requirements are unsatisfiable.
"""
UV_NO_VERSION: Final = """\
error: No solution found when resolving tool dependencies
  cause: Because there is no version of idna==99.9 and you require idna==99.9, we can conclude that your \
requirements are unsatisfiable.
"""
UV_OFFLINE: Final = """\
error: Failed to fetch: http://packages.example/index/mcp-nope/
  cause: error sending request for url (http://packages.example/index/mcp-nope/)
  cause: client error (Connect)
  cause: dns error
  cause: error resolving DNS
  cause: failed to lookup address information: Name or service not known
"""
UV_NO_SCRIPT: Final = """\
error: Failed to spawn: no_such.py
  cause: No such file or directory (os error 2)
"""
PIP_NO_PACKAGE: Final = """\
ERROR: Could not find a version that satisfies the requirement no-such-package-xyz-777 (from versions: none)
ERROR: No matching distribution found for no-such-package-xyz-777
"""
PYTHON_NO_MODULE: Final = "/usr/bin/python3: No module named no_such_module\n"
PYTHON_IMPORT: Final = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
ModuleNotFoundError: No module named 'fastmcpx'
"""
PYTHON_MISFIT: Final = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
ImportError: cannot import name 'no_such_name' from 'json' (/usr/lib/python3.11/json/__init__.py)
"""
PYTHON_NO_LIBRARY: Final = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
ImportError: libpq.so.5: cannot open shared object file: No such file or directory
"""
PYTHON_SCRIPT_DENIED: Final = """\
/usr/bin/python3: can't open file '/srv/server.py': [Errno 13] Permission denied
"""
PYTHON_NO_SCRIPT: Final = """\
/usr/bin/python3: can't open file '/srv/none.py': [Errno 2] No such file or directory
"""
PYTHON_NO_FILE: Final = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
FileNotFoundError: [Errno 2] No such file or directory: '/etc/none.toml'
"""
PYTHON_KEY_ERROR: Final = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "<frozen os>", line 679, in __getitem__
KeyError: 'API_KEY'
"""
PYTHON_PORT: Final = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
OSError: [Errno 98] Address already in use
"""
PYDANTIC: Final = """\
pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings
github_token
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.14/v/missing
api_url
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.14/v/missing
"""
NODE_NO_SCRIPT: Final = """\
node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/srv/build/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
"""
NODE_NO_PACKAGE: Final = """\
node:internal/modules/esm/resolve:873
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nomod' imported from /srv/e.mjs
    at packageResolve (node:internal/modules/esm/resolve:873:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2
"""
NODE_NO_FILE: Final = """\
Error: ENOENT: no such file or directory, open '/nonexistent'
    at Object.openSync (node:fs:573:18) {
  errno: -2,
  code: 'ENOENT',
  syscall: 'open',
  path: '/nonexistent'
}
"""
NODE_PORT: Final = """\
node:events:502
      throw er; // Unhandled 'error' event
      ^

Error: listen EADDRINUSE: address already in use :::42283
    at Server.setupListenHandle [as _listen2] (node:net:1908:16)
Emitted 'error' event on Server instance at:
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {
  code: 'EADDRINUSE',
  errno: -98,
  syscall: 'listen',
  address: '::',
  port: 42283
}
"""
NODE_ELF: Final = """\
Error: /srv/better_sqlite3.node: wrong ELF class: ELFCLASS32
    at Module._extensions..node (node:internal/modules/cjs/loader:1661:18)
"""
BRAVE: Final = "Error: BRAVE_API_KEY environment variable is required\n"
SLACK: Final = "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables\n"
MAPS: Final = "GOOGLE_MAPS_API_KEY environment variable is not set\n"
SUPABASE: Final = (
    "Please provide a personal access token (PAT) with the --access-token flag or set the SUPABASE_ACCESS_TOKEN "
    "environment variable\n"
)
STRIPE: Final = """\
Error: Stripe API key not provided. Please either pass it as an argument --api-key=$KEY or set the STRIPE_SECRET_KEY \
environment variable.
    at parseArgs (/home/ada/.npm/_npx/bce731a0395adf49/node_modules/@stripe/mcp/dist/cli.js:34:15)

Node.js v20.20.2
"""
SH_NO_PROGRAM: Final = "sh: 1: mcp-server-foo: not found\n"
BASH_NO_PROGRAM: Final = "bash: line 1: uvx: command not found\n"
ENV_NO_PROGRAM: Final = "env: ‘node’: No such file or directory\n"
NOT_CONNECTED: Final = """\
docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?

Run 'docker run --help' for more information
"""
POSTGRES: Final = "Please provide a database URL as a command-line argument\n"

# --- Written by hand, not recorded -----------------------------------------------------------------------

UV_WRAPPED: Final = """\
  × No solution found when resolving tool dependencies:
  ╰─▶ Because mcp-server-no-such-xyz was not found in the package
      registry and you require mcp-server-no-such-xyz, we can conclude
      that your requirements are unsatisfiable.
"""
PIP_OFFLINE: Final = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f0>: Failed to establish a new \
connection: [Errno -2] Name or service not known')': /index/foo/
ERROR: Could not find a version that satisfies the requirement foo (from versions: none)
ERROR: No matching distribution found for foo
"""
PYTHON_OFFLINE: Final = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
socket.gaierror: [Errno -2] Name or service not known

During handling of the above exception, another exception occurred:

urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>
"""
NODE_PERMISSION: Final = "Error: EACCES: permission denied, open '/var/lib/notes.db'\n"
NODE_MEMORY: Final = """\
<--- Last few GCs --->
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
"""
WARNED_THEN_FAILED: Final = """\
WARNING: OPTIONAL_CACHE_DIR is not set, using memory
Traceback (most recent call last):
ModuleNotFoundError: No module named 'yaml'
"""
