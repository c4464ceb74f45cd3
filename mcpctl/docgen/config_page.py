"""mcpctl-config(5): every key of config.toml. Types and defaults come from the Structs that check the file."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mcpctl.config.policy_settings import PolicyTable, ProjectPolicyTable
from mcpctl.config.server_settings import OAuth, Server
from mcpctl.config.settings import ClientSettings, OAuthSettings, Project, RecordSettings, Responses, Search, Serve
from mcpctl.docgen import roff

NAME = "mcpctl-config"

SERVER = {
    "command": "The program of the server, looked up on the PATH; a leading ~ is the home folder. It must speak MCP on"
    " stdin and stdout. A server has either a command or a url.",
    "args": "Its arguments. Only with command.",
    "url": "The http:// or https:// address of a remote server.",
    "transport": "The transport of url: http is Streamable HTTP, sse the older transport with two connections.",
    "headers": "Headers of every request to url, by name.",
    "oauth": "[servers.NAME.oauth], below. Only with url.",
    "env": "Variables for the server. It also gets those of env_file and what inherit_env says; env overrides both."
    " The url and headers of a remote server may use these variables too.",
    "env_file": "A dotenv file of NAME=value lines (export, quotes, comments; nothing is expanded), read when the"
    " server starts. It helps with programs with a window, which start mcpctl with few variables. A relative path"
    " starts at the folder of config.toml.",
    "inherit_env": 'What the server gets of the environment of mcpctl. "all": everything, tokens that are meant for'
    ' other servers included. "minimal": HOME, LOGNAME, USER, PATH, SHELL, TERM, TMPDIR, TZ, LANG, LANGUAGE, LC_*,'
    " XDG_* and the variables of proxies (HTTPS_PROXY and the like, in both cases) and of certificates (SSL_CERT_FILE,"
    " SSL_CERT_DIR, NIX_SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, AWS_CA_BUNDLE,"
    " GIT_SSL_CAINFO, PIP_CERT, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH). A list of names: these variables besides the minimal"
    " ones. What env_file and env name is passed in every case. mcpctl servers add and mcpctl servers import write"
    " minimal into new entries. Only with command.",
    "cwd": "The folder in which the command runs. Only with command.",
    "enabled": "false: the server is not started, and its tools are neither found nor callable.",
    "start_timeout_s": "Seconds that the server may take to start and to answer the handshake. 0: no limit.",
    "call_timeout_s": "Seconds that a call may take. 0: no limit; the client can cancel it.",
    "projects": "The names of the projects that see the server; without any, every project sees it. A client in another"
    " project cannot find its tools, call them or start it.",
    "may_ask": "What the server may ask the client in the middle of a call: elicitation (questions to the user),"
    " sampling (requests to the client's model), roots (the client's folders). [] is nothing. What is left out is not"
    " declared to the server, and refused. A question to the user begins with [from server 'NAME'], and one that comes"
    " outside of any call is refused.",
    "tools": "Permissions by tool name. A tool set false is neither found nor callable. With a policy, ask and allow"
    " decide before the lists of [policy]: a call of a tool set ask needs the user's consent, one of a tool set allow"
    " does not.",
    "only": "The names of the only tools of the server that are offered, in which * stands for any text and ? for one"
    " character; all others are neither found nor callable. [] offers none; without the key, all are offered. Names are"
    " compared exactly. A tool that [servers.NAME.tools] sets false stays so; one that it sets otherwise must be in"
    " only too. Where either is written, a name that the server has not listed is refused.",
    "trust_hints": "Which hints that the server declares may loosen, so that a rule such as allow @read-only counts"
    " them: yes, no, or pinned, which is those of definitions that mcpctl tools approve has approved. Hints that"
    " tighten always count, and so do those that your own toolset sets.",
    "limit_tokens": 'In place of the value in [clients."NAME"] and in [responses], for the answers of this server.',
    "expose": "What clients see of this server beside its tools, in place of the value in [serve].",
}
OAUTH = {
    "client_id": "The client that you have registered with the issuer. Without it, mcpctl servers login registers one"
    " by itself, where the issuer lets it.",
    "client_secret": "The secret of that client, if it has one. Write it as ${VAR}.",
    "scopes": "What to ask for, in place of what the server asks for.",
    "issuer": "The authorization server, where the server names several. With it, the login is kept to that one.",
    "redirect_port": "The port on this machine to which the browser comes back, where the client is registered with"
    " http://127.0.0.1:PORT/callback. 0: any that is free.",
    "grant": "code: a person logs in in the browser. client_credentials: the client logs in with its own secret, and"
    " nobody is asked; client_id and client_secret are needed.",
}
OAUTH_SETTINGS = {
    "store": "Where the tokens of logins are kept. file: in the folder oauth of the data directory, which only you can"
    " read. keyring: in the keyring of the system; it needs the packages that pip install '.[keyring]' installs in a"
    " clone of mcpctl.",
    "client_metadata_url": "The https:// address of a client id metadata document of yours, used as the client id where"
    " the issuer supports that.",
}
PROJECT = {
    "optimization": "How searches rank tools in this project, in place of the value in [search].",
    "toolset": "The toolset in force, unless --toolset or MCPCTL_TOOLSET names another: a name, a path relative to the"
    " folder of this file, or none. It takes precedence over the equipped one.",
    "policy": "[projects.NAME.policy], below.",
}
_RULES = "Rules: a glob over keys such as slack:* or *:drop_*, or a class: @read-only, @changing, @destructive,"
_RULES += " @not-declared (it says neither), @open-world."
_LISTS = {
    "allow": f"What may be called. {_RULES}",
    "ask": "What needs the user's consent at each call. The rules are as in allow. Where servers may read a name as"
    " another, such as with capital letters, ask and deny match both; allow matches exactly.",
    "deny": "What is neither found nor callable. The first of these lists that matches decides, whatever is more"
    " specific: deny, what a repository's toolset asks for, [servers.NAME.tools], ask, allow, default.",
}
POLICY = {
    **_LISTS,
    "mode": "enforce; record, which decides and records but blocks nothing; or off.",
    "default": "What becomes of a tool that no rule matches: allow, ask or deny.",
    "confirm": "How long a yes may hold: session, always (each call is asked about) or never (nobody is asked, and what"
    " would be asked about is refused).",
    "auto_approve_read_only": "The rule allow @read-only, after all others.",
    "confirm_destructive": "The rules ask @destructive and ask @not-declared, after all others of ask.",
    "confirm_wait_s": "Seconds that a call waits for the answer in the client. After that it is refused, but its"
    " approval stays open for ten minutes; once it has been given, the same call goes through.",
    "require_token": "true: without a valid token of mcpctl tokens create, in MCPCTL_TOKEN, serve --token-file or the"
    " _meta.token of a request, nothing is found or called, and descriptions name no server.",
    "on_change": "What becomes of a tool that has changed since it was first seen, or that is new on a server whose"
    " tools are known: hold (neither found nor callable until mcpctl tools approve), warn or allow.",
    "checks": "What becomes of a tool whose definition looks like an attack, as mcpctl tools check finds: hold, warn or"
    " off.",
    "redact_responses": "secrets: what looks like a secret is masked in what the model gets, as it is in records.",
    "claude_hook": "true: what a list allow names, mcpctl policy hook has Claude Code call without its own prompt, and"
    " what you say yes to in that prompt mcpctl serve does not ask about again. A shell in Claude Code is then enough"
    " to say yes in your place. false: the hook only denies and asks, and serve asks for itself.",
}
PROJECT_POLICY = {
    **_LISTS,
    **dict.fromkeys(("mode", "default", "confirm", "auto_approve_read_only", "confirm_destructive"),
                    "In place of the value in [policy]."),
}  # fmt: skip
SEARCH = {
    "optimization": "How searches rank tools. bm25: by their words and the meaning of these, on this machine. semantic:"
    " also by their similarity to the query for a sentence-embedding model. cloud: by the service at cloud_url. off:"
    " searches find nothing, for clients that know the keys of their tools. If semantic or cloud fails or is slow, bm25"
    " ranks instead, and both the answer and the record say why.",
    "answer_tokens": "The most tokens, estimated, of the results of tool_discovery. A notice adds at most 600 bytes.",
    "semantic_model": "The folder of a sentence-transformers model with tokenizer.json and a model*.onnx, there or in"
    " onnx/; mcpctl-search(7) says which one is best, and how to get it. It needs the packages that"
    " pip install '.[semantic]' installs in a clone of mcpctl. A relative path starts at the folder of config.toml."
    " With semantic_url, it is the name of the model there.",
    "semantic_url": "An OpenAI-compatible embeddings endpoint, such as https://api.openai.com/v1: tools and queries are"
    " sent to it. Its token is read from the variable MCPCTL_SEMANTIC_TOKEN.",
    "semantic_timeout_s": "Seconds that a search may wait for the embeddings of the query, and in serve for those of"
    " the tools too. Commands wait until all tools are indexed, which takes seconds for a thousand tools.",
    "cloud_url": "A search service: queries and the keys, names and descriptions of the tools are POSTed to it. Its"
    " token is read from the variable MCPCTL_CLOUD_TOKEN.",
    "cloud_timeout_s": "Seconds that the service may take to answer. After two late answers in a row searches do not"
    " ask it for 5 seconds, and for longer after each further one.",
}
RESPONSES = {
    "limit_tokens": "The most tokens, estimated as bytes / 4, of the text and the structured content of a tool's"
    " answer, with the JSON around them. Beyond it the client gets the beginning, the shape of the JSON in it, and the"
    " call of @mcpctl:read that reads more; the whole answer is kept in responses/ of the data directory first, and if"
    " it cannot be kept it is delivered whole. Errors, questions, images, audio and resources are never shortened, nor"
    " is what commands call. 0: nothing is shortened.",
    "keep_mb": "The most megabytes of whole answers that are kept, the oldest go first; each goes with its session,"
    " too. 0: no limit. They are as their server sent them, secrets included, unless redact_responses masks them; only"
    " you can read the files. Neither the record nor an export has them.",
}
CLIENT = {
    "limit_tokens": "In place of the value in [responses], for the client that says that this is its name, such as"
    ' [clients."claude-code"].',
}
SERVE = {
    "max_result_chars": "The most characters of a result of tool_execute that a client which knows"
    ' _meta["anthropic/maxResultSizeChars"] is to take before it puts the result into a file: it is declared on'
    " tool_execute. What servers declare of their own tools is not seen by clients. 0: nothing is declared.",
    "expose": "What clients see of servers beside their tools: prompts, resources (with templates), with completions"
    " for both. They are for the user and the application and cost the model nothing. [] is neither. They go with the"
    " tools of their server: where none of these can be found, for a project, a token, a toolset or deny, its prompts"
    " and resources are not there; with a lock file none are. What is held is neither listed nor readable.",
}
RECORDS = {
    "keep_sessions": "How many sessions are kept. The session with the oldest last activity is removed first, with all"
    " its calls and searches; an active session is never removed. The daily session of commands such as tools call is"
    " not counted. 0: no limit. serve and db rebuild name on stderr what they remove, sessions ls says it again, and"
    " evicted.jsonl in the data directory keeps it.",
    "keep_days": "How many days a session is kept after its last activity. 0: no limit. Where the record is to answer"
    " for a period, as in an audit, set keep_days = 90 with keep_sessions = 0, so that a busy day removes no older one,"
    " and max_mb = 0 or large enough.",
    "max_mb": "The most megabytes of all journals together; beyond them closed sessions are removed. 0: no limit.",
    "max_response_kb": "The most kilobytes of a recorded response. A longer one is recorded cut, with its true size;"
    " the client always gets all of it.",
    "redact_keys": "Names whose values are recorded as [redacted:HASH], in addition to password, token, api_key and the"
    " like.",
    "fsync": "true: every line reaches the disk before its answer is sent, so that not even a power cut loses a call.",
}
SECTIONS: Mapping[str, tuple[type[msgspec.Struct], Mapping[str, str]]] = {
    "[servers.NAME]": (Server, SERVER),
    "[servers.NAME.oauth]": (OAuth, OAUTH),
    "[projects.NAME]": (Project, PROJECT),
    "[projects.NAME.policy]": (ProjectPolicyTable, PROJECT_POLICY),
    "[policy]": (PolicyTable, POLICY),
    "[search]": (Search, SEARCH),
    "[responses]": (Responses, RESPONSES),
    '[clients."NAME"]': (ClientSettings, CLIENT),
    "[serve]": (Serve, SERVE),
    "[records]": (RecordSettings, RECORDS),
    "[oauth]": (OAuthSettings, OAUTH_SETTINGS),
}

_EXAMPLE = """\
[servers.github]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-github"]
env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }

[servers.github.tools]
delete_repository = false

[servers.acme]
url = "https://acme.example/mcp"
headers = { Authorization = "Bearer ${ACME_TOKEN}" }
projects = ["acme"]

[servers.tracker]
url = "https://tracker.example/mcp"
oauth = { client_id = "mcpctl", client_secret = "${TRACKER_SECRET}", redirect_port = 8123 }

[projects.acme]
toolset = "triage"

[policy]
deny = ["*:drop_*"]
ask = ["@destructive", "slack:*"]

[search]
answer_tokens = 2000
optimization = "semantic"
semantic_model = "~/models/all-MiniLM-L6-v2"

[responses]
limit_tokens = 8000

[clients."claude-code"]
limit_tokens = 0

[serve]
max_result_chars = 200000

[records]
keep_sessions = 0
keep_days = 90
max_mb = 4096
redact_keys = ["passphrase"]

[oauth]
store = "file"
"""
_ABOUT = (
    "config.toml has the servers behind mcpctl serve, the projects that see them, and the settings of search and"
    " records. It is TOML 1.0 in UTF-8, written by hand or by mcpctl servers, which keeps comments and order.",
    "mcpctl reads the file that --config names, else MCPCTL_CONFIG, else config.toml in MCPCTL_HOME, else in the user's"
    " configuration folder, ~/.config/mcpctl on Linux. A missing file counts as empty, unless --config or MCPCTL_CONFIG"
    " names it.",
    "The names of servers and projects have letters, digits, _ and -. An entry of a server that cannot be used is"
    " reported and skipped; the other servers work. A key that mcpctl does not know is an error.",
    "Select a project with --project or MCPCTL_PROJECT. A project exists if [projects.NAME] defines it or a server"
    " lists it. Without a project, all servers are seen; but clients of a serve whose policy is enforced see only those"
    " that list no project.",
    "A request of a client may name a project in _meta.projectId, and sees only the servers that both it and the"
    " project of --project see; empty or UNASSIGNED are the servers that list no project. Without --project, the"
    " toolset of the project that the request names is in force. Its [projects.NAME.policy] then only tightens"
    " [policy], unless the request has a token for that project. A project that does not exist, or that the request's"
    " token is not for, sees nothing.",
    "A file with [policy] has a policy: mcpctl then decides which calls are allowed, asked about or denied. Without it,"
    " every tool may be called that is not set false. What is not written there has its default, and the lists are"
    ' empty. A toolset may have deny and ask too, as "policy": {"deny": [], "ask": []}; it can only tighten.',
    "A running mcpctl serve looks at the file at each search and call. What was removed, disabled or set false is"
    " neither found nor callable at once, and its process ends; what was added is there for the next search. A server"
    " whose command, URL or environment changed finishes its calls before it starts anew. A file that cannot be used"
    " changes nothing and is reported once; at the start of mcpctl serve it is an error.",
)
_VARIABLES = (
    "In command, args, url, headers, env, env_file, cwd and the client_id, client_secret and issuer of oauth, ${VAR} is"
    " replaced by the value of an environment variable, and ${VAR:-default} by its value or, if it is empty or not set,"
    " by the default, whatever inherit_env says. This happens when the server is started; expanded values are never"
    " stored. If a variable has neither a value nor a default, the server is not started, and the message names the"
    " variable.",
    "${cmd:COMMAND} is replaced by what COMMAND prints, as in ${cmd:op read op://Private/github/token}: one of yours,"
    " since nobody else writes this file. It is split into words as a shell does, quotes and backslashes included, and"
    " no shell runs it: no $, pipe or wildcard means anything. Braces and quotes in it must be quoted, as in"
    " ${cmd:jq -r '{a}.a' file}; ${VAR} and ${cmd:} do not stand inside one another, and what is printed is not"
    " expanded again. It runs when a server that needs it is first started, once for equal commands while mcpctl runs,"
    " with its environment and without input; it has 10 s, and prints UTF-8 text of at most 64 KB, of which the last"
    " line break is left out. What it prints is never stored or shown, what it writes to stderr is dropped. Where it"
    " fails, the server is not started, and the message names the program alone. mcpctl servers import takes no entry"
    " that has one.",
)
_KINDS = {
    "ProjectPolicyTable": "table",
    "OAuth": "table",
    "Any": "any",
    "str": "text",
    "bool": "true or false",
    "int": "whole number",
    "float": "number",
}


def page() -> str:
    """The text of the page."""
    return roff.joined([
        *roff.head(NAME, 5, "The configuration of mcpctl."),
        *roff.section("SYNOPSIS", [".I config.toml"]),
        *roff.section("DESCRIPTION", roff.paragraphs(_ABOUT)),
        *roff.section("KEYS", _keys()),
        *roff.section("VARIABLES", roff.paragraphs(_VARIABLES)),
        *roff.section("EXAMPLES", roff.verbatim(_EXAMPLE.splitlines())),
        *roff.section("SEE ALSO", roff.references([("mcpctl", 1), ("mcpctl-servers", 1), ("mcpctl-records", 5)])),
    ])  # fmt: skip


def _keys() -> Iterator[str]:
    for title, (struct, texts) in SECTIONS.items():
        fields = {field.name: field for field in msgspec.structs.fields(struct)}
        entries = (line for name, field in fields.items() for line in _key(field, texts[name]))
        yield from roff.subsection(title, entries)


def _key(field: msgspec.structs.FieldInfo, text: str) -> Iterator[str]:
    default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    tag = f"{roff.bold(field.name)} ({roff.escaped(_kind(field.type))})"
    unset = default is None or default == "" or default == [] or default == {}
    yield from roff.entry(tag, text if unset else f"{text} Default: {msgspec.json.encode(default).decode()}.")


def _kind(annotation: Any) -> str:
    name = str(getattr(annotation, "__name__", annotation))
    arguments = [argument for argument in getattr(annotation, "__args__", ()) if argument is not type(None)]
    if name == "list":
        return f"list of {_kind(arguments[0])}"
    if name == "dict":
        return f"table of {_kind(arguments[1])}"
    return " or ".join(map(_kind, arguments)) if arguments else _KINDS[name]
