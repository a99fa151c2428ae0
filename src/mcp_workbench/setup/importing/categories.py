"""The categories that imported servers are sorted into, as data, and how a server's category is found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME_WEIGHT: Final = 2
"""Points for a keyword in the name of a server, which its user has chosen."""
PACKAGE_WEIGHT: Final = 3
"""Points for a keyword in the package, the program or the address, which say more than the name."""

_WORD: Final = re.compile(r"[a-z]+|\d+")
_PATH: Final = re.compile(r"[/~.\\]|[A-Za-z]:[\\/]")
_CODE_HOSTS: Final = frozenset(("github.com", "gitlab.com", "bitbucket.org"))
"""Hosts that a package may be fetched from, whatever it is for."""
_SCRIPT: Final = re.compile(r"\.(?:py|js|mjs|cjs|ts|sh|jar|exe|cmd|bat)$", re.IGNORECASE)


class Category(msgspec.Struct, frozen=True):
    """A kind of server: the name of its toolbox, what it is for, and the words that it is recognised by."""

    name: str
    subject: str
    keywords: frozenset[str]
    aliases: frozenset[str] = frozenset()
    """Other names of a toolbox that servers of this category go into, if the file has one."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RUNNERS: Final = _words(
    "bash bun bunx cmd deno docker java node npm npx pipx pnpm podman python python3 sh uv uvx yarn zsh"
)
"""Programs that run a server of any kind, and so say nothing about it."""

CATEGORIES: Final = (
    Category(
        "code",
        "source code, git and pull requests",
        _words(
            "git github githubcopilot gitlab gitea gitee bitbucket gerrit code coder repo repos "
            "repository repositories repomix serena semgrep sonarqube sonar snyk codacy codescene lsp "
            "eslint ruff jenkins circleci buildkite xcode xcodebuild jetbrains ide sourcegraph deepcode "
            "sandbox e2b npm pypi nuget crates storybook shadcn nx angular svelte nuxt dart flutter"
        ),
        _words("git github dev development programming source"),
    ),
    Category(
        "files",
        "files and folders",
        _words(
            "filesystem file files fs directory folder dropbox gdrive onedrive commander pandoc "
            "markitdown markdownify excel xlsx csv pdf docx spreadsheet ripgrep"
        ),
        _words("filesystem documents"),
    ),
    Category(
        "web",
        "web search, web pages and browsers",
        _words(
            "fetch web browser playwright puppeteer chrome chromium devtools selenium browserbase "
            "stagehand browsermcp brave search tavily exa kagi serper serpapi searxng duckduckgo ddg "
            "firecrawl crawl crawler scrape scraper scraping apify brightdata hyperbrowser jina "
            "perplexity youtube lightpanda"
        ),
        _words("browser browsers search internet"),
    ),
    Category(
        "databases",
        "databases and queries",
        _words(
            "database databases db sql postgres postgresql pg mysql mariadb sqlite mssql oracle mongo "
            "mongodb redis valkey elasticsearch opensearch clickhouse duckdb motherduck snowflake "
            "bigquery redshift databricks supabase neon planetscale prisma dbhub dbt cassandra neo4j "
            "arangodb couchbase cockroachdb tidb turso convex airtable nocodb teradata trino starrocks "
            "influxdb"
        ),
        _words("database db data sql"),
    ),
    Category(
        "docs",
        "documentation and notes",
        _words(
            "context7 docs documentation notion obsidian confluence wiki deepwiki wikipedia gitbook "
            "readme knowledge arxiv zotero evernote onenote logseq coda mintlify microsoftdocs devdocs "
            "rag notes"
        ),
        _words("documentation knowledge notes wiki"),
    ),
    Category(
        "projects",
        "issues, tasks and project management",
        _words(
            "jira atlassian linear asana trello clickup monday todoist basecamp shortcut youtrack redmine "
            "taskmaster taskmanager task tasks todo kanban wrike devops servicenow zendesk intercom "
            "hubspot salesforce calendar gcal ticktick"
        ),
        _words("issues tasks tickets planning project-management"),
    ),
    Category(
        "communication",
        "mail, chat and meetings",
        _words(
            "slack discord teams telegram whatsapp email mail gmail imap smtp outlook twilio sendgrid "
            "resend mailgun mailtrap zoom twitter bluesky mastodon reddit linkedin facebook sms ses "
            "postmark fireflies granola"
        ),
        _words("chat mail messages messaging"),
    ),
    Category(
        "cloud",
        "cloud services and infrastructure",
        _words(
            "aws amazon awslabs azure gcp gcloud cloud cloudflare workers vercel netlify heroku railway "
            "digitalocean hetzner kubernetes k8s kubectl helm docker podman portainer terraform pulumi "
            "ansible s3 ec2 lambda firebase cloudrun openshift argocd consul vault nomad ssh proxmox "
            "tailscale"
        ),
        _words("infrastructure infra ops deployment"),
    ),
    Category(
        "design",
        "design, images and media",
        _words(
            "figma framelink canva sketch miro penpot blender image images imagegen dalle stability "
            "replicate elevenlabs tts video ffmpeg mermaid drawio excalidraw whiteboard diagram chart "
            "antvis webflow framer unity unreal godot"
        ),
        _words("images media graphics"),
    ),
    Category(
        "thinking",
        "memory and reasoning",
        _words(
            "memory memories mem0 remember sequential sequentialthinking thinking think reasoning zep "
            "graphiti cognee letta openmemory supermemory chroma qdrant pinecone weaviate milvus planner"
        ),
        _words("memory reasoning"),
    ),
    Category(
        "payments",
        "payments and commerce",
        _words(
            "stripe paypal adyen plaid mercadopago razorpay braintree chargebee shopify woocommerce "
            "quickbooks xero invoice billing coinbase crypto alpaca ramp"
        ),
        _words("finance billing commerce"),
    ),
    Category(
        "monitoring",
        "monitoring, logs and errors",
        _words(
            "sentry datadog grafana prometheus newrelic honeycomb dynatrace splunk loki axiom pagerduty "
            "opsgenie rollbar bugsnag logfire posthog amplitude mixpanel analytics logs metrics "
            "betterstack raygun cloudwatch kibana langfuse langsmith"
        ),
        _words("observability logs metrics errors"),
    ),
)
"""The categories in the order in which toolboxes are proposed. Of two that fit equally, the first counts."""

OTHER: Final = Category("other", "other tools", frozenset(), _words("misc"))
"""The category of servers that no keyword matches."""


def category_of(name: str, entry: Mapping[str, object]) -> Category:
    """Return the category of a server, by its name and by its package, program or address."""
    named = set(_words_in(name))
    packaged = {word for text in _telling(entry) for word in _words_in(text)}

    def points(category: Category) -> int:
        return NAME_WEIGHT * len(named & category.keywords) + PACKAGE_WEIGHT * len(
            packaged & category.keywords
        )

    best = max(CATEGORIES, key=points)
    return best if points(best) else OTHER


def category_named(name: str) -> Category | None:
    """Return the category that a toolbox of this name is for, or None."""
    folded = name.casefold()
    return next(
        (one for one in (*CATEGORIES, OTHER) if folded == one.name or folded in one.aliases),
        None,
    )


def _words_in(text: str) -> Iterator[str]:
    """Yield the words of a text, with digits apart and together: `context7` is also `context` and `7`."""
    for part in re.split(r"[^a-z0-9]+", text.lower()):
        yield part
        yield from _WORD.findall(part)


def _telling(entry: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts of an entry that say what the server is, and none that say what it works on."""
    url, command, args = entry.get("url"), entry.get("command"), entry.get("args")
    if isinstance(url, str):
        yield _address(url)
    if isinstance(command, str):
        program = re.split(r"[\\/]", _SCRIPT.sub("", command))[-1]
        if program not in _RUNNERS:
            yield program
    for argument in args if isinstance(args, list) else ():
        if not isinstance(argument, str) or argument.startswith("-") or "${" in argument or "=" in argument:
            continue
        if "://" in argument:
            yield _address(argument)
        elif not _PATH.match(argument):
            yield argument
        elif _SCRIPT.search(argument):
            yield re.split(r"[\\/]", argument)[-1]


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.hostname in _CODE_HOSTS:
            return parts.path
        # The last part of a host's name (com, io, ai) is no word.
        return f"{(parts.hostname or '').rpartition('.')[0]} {parts.path}"
    except ValueError:
        return ""
