"""How much is taken of what comes from outside: one table, the same for stdio, Streamable HTTP and SSE.

Messages beyond a bound harm only their sender: a call fails, tools are left out, a server is connected again.
"""

MESSAGE = 64 << 20  # bytes of one message, decompressed: a line, a body, an event's data, or several printed lines
BATCH = 1000  # messages in one batch
MEMBERS = 10_000  # members of an object that is taken apart, such as a message's params

KEY_PARTS = 100  # parts of a dotted key of TOML, for which the library takes time by their square

ENDLESS = 4 * MESSAGE  # bytes of a line that does not end, after which nothing more is read

AT_ONCE = 5 << 18  # bytes that are decoded on the event loop, a millisecond's work; more is decoded beside it
LITTLE = 1 << 14  # bytes that are scanned in Python on the event loop
DEEP = 1 << 20  # bytes of a value that is nested deeper than decoders go, and so is looked at bracket by bracket
SLICE_S = 0.002  # seconds that the lines of one reader may take in a row before others have their turn

UNREAD = 16 << 20  # bytes that a client or server may leave unread before nothing more is taken for it
UNREAD_NOTICES = 1 << 18  # bytes that a client may leave unread and still be sent log messages, progress and questions

JUNK_LINES = 1000  # lines on stdout that are not messages, after which a server's next ones wait for a moment
JUNK_PAUSE_S = 0.1
STDERR = 1 << 20  # bytes on stderr after which what a server writes there next waits for a moment
STDERR_PAUSE_S = 0.02
MESSAGE_LINES = 100_000  # lines of one message that is printed over several

PAGES = 1000  # pages of one list of tools
TOOLS = 10_000  # tools of one server
ONLY = 500  # patterns of the tools that a server's entry offers alone: each tool is compared with each of them
API_NAMES = 500  # patterns, parameters, origins or credentials of one API's entry
DIRECT = 32  # patterns of the tools that are shown directly, and so toolsets that are followed for them
FEATURES = 5_000  # prompts of one server, and resources, and templates
LIST_BYTES = 16 << 20  # bytes of all definitions of one server's tools, and of its prompts, and of the others
DEFINITION = 1 << 20  # bytes of one tool's definition
INSTRUCTIONS = 1 << 16  # characters of a server's text about itself
LOOSENED = 1000  # names in the record of one change that lets them be called without a yes
NAME = 1024  # characters of the name of a tool or prompt
URI = 4096  # characters of a URI or URI template
PAGE = 1000  # items of one page of a list that a client asks for
PAGE_BYTES = 1 << 20  # bytes after which such a page ends, too
TEMPLATES_TRIED = 100  # templates of one server with which a URI is compared whole, once it begins and ends as they do
EXPRESSIONS = 30  # expressions of a URI template; one with more stands for no URI here

REGISTRY_ANSWER = 8 << 20  # bytes of one answer of a registry of servers, decompressed
REGISTRY_PAGES = 20  # answers to one search there
REGISTRY_WAYS = 20  # packages of one server there, and addresses
REGISTRY_INPUTS = 100  # arguments, variables or headers of one of these
REGISTRY_TEXT = 2000  # characters of a text there that goes into an entry
REGISTRY_ENTRY = 8000  # characters of all texts of the entry: more than a person reads before saying yes

OPENAPI_TEXT = 64 << 20  # bytes of an OpenAPI document, and of all files that it refers to
OPENAPI_FILES = 64  # of these files
OPENAPI_NESTING = 200
OPENAPI_OPERATIONS = 100_000  # of a document, before those are chosen that are tools
OPENAPI_QUICK, OPENAPI_S, OPENAPI_LONGEST_S = 16 << 20, 2, 10  # bytes that are compiled in the first seconds of CPU
OPENAPI_MEMORY = 512 << 20  # bytes of memory that compiling may take
OPENAPI_DEFINITION = 64 << 10  # bytes of the definition of one tool
OPENAPI_DESCRIPTION = 4000  # characters of the description of one tool

BODIES = 256 << 20  # bytes of all bodies over HTTP that are being read at once
BODIES_OF_ONE = 64 << 20  # and of those of one token, so that nobody keeps all others from sending
BODY_S = 60  # seconds in which one has to come
BRACKETS = 6_000  # brackets of a message over HTTP that are looked at one by one: others wait meanwhile
ADDRESSES = 10_000  # addresses of refused requests over HTTP that are remembered for a minute
REQUEST_HEAD, REQUEST_HEADERS = 1 << 15, 200  # bytes of the head of a request over HTTP, and headers in it
REQUEST_HEAD_S = 10  # seconds in which a connection has to send it
ACCEPTED = 16  # connections that are accepted at once, and have a descriptor before they are counted
UNTAKEN = 1 << 16  # bytes of a body that nobody has taken yet, after which no more is read
UNREAD_S = 600  # seconds for which an answer over HTTP waits for a client that does not read it
IDLE_S = 75  # seconds for which a connection to `serve --http` may be idle: longer than those of balancers
CLIENT_INFO = 4096  # bytes of what a client over HTTP says of itself that are kept: a longer one has no name
PROCESSES = 100  # processes of servers of one `serve --http`
RATES = 10_000  # rates of one token and rule each that are counted at once

LISTENS = 100  # `subscriptions/listen` requests of one client that are open at once
WATCHED = 1000  # resources of which one client gets the updates

ANSWER_JSON = 16 << 20  # bytes of an answer's JSON that is looked into: for its shape, or by a path
PATH = 1000  # characters of a path into an answer
PATH_S = 1  # seconds of CPU that a path may take
PATH_MEMORY = 512 << 20  # bytes of memory that it may take

INTERIM = 100  # interim responses (100 Continue, 103 Early Hints) to one HTTP request
HEAD = 1 << 16  # bytes of all that comes before the body of the answer to one

API_ANSWER = 32 << 20  # bytes of one answer of an HTTP API, decompressed
GZIP_MEMBERS = 1000  # parts that are compressed each for itself, of one such answer
API_ERROR = 1 << 16  # bytes of one that is an error
API_ADDRESS = 60_000  # characters of the address of a request to one
API_HEADERS = 1 << 16  # characters of the headers that arguments of one request make
API_REST = 4096  # characters of one header of an answer that is passed on
UPLOAD = 64 << 20  # bytes of one file that is sent to an API
UPLOADS = 2 * UPLOAD  # and of all files of one request

OTLP_SPANS = 512  # spans, or points of metrics, of one request to a receiver of OpenTelemetry's protocol
OTLP_GROUP = 4 << 20  # bytes of spans after which such a request ends, too
OTLP_SERIES = 2000  # sets of attributes of one metric; what comes with others is counted together
OTLP_MESSAGE = 1000  # characters of the text of an error in a span
OTLP_ATTRIBUTES = 128  # attributes of a resource, and headers
OTLP_S = 30  # seconds in which the answer to it has to come
OTLP_PATIENCE_S = 60  # seconds for which the same is sent again, unless records are followed
OTLP_WAIT_S = 3600  # seconds of a Retry-After

LEARNT = 400  # calls on record from which searches learn, the newest
LEARNT_QUERIES = 8  # queries of one search that such a call may have been for
LEARNT_OF_SESSION, LEARNT_OF_TOOL = 5, 2  # calls of one session among them, and of one tool in it
LEARNT_OF_CLIENT, LEARNT_OF_SERVER = 200, 200  # and those of one client, and of one server
LEARNT_SEARCHES, LEARNT_CALLS = 2_000, 20_000  # the newest searches and calls that are looked at for these

FIRST_RETRY_S, LAST_RETRY_S = 1.0, 30.0  # before a stream is opened again, whatever its server asks for


def back_off(failures: int, first_s: float, last_s: float) -> float:
    """Seconds before the next try, after so many failures in a row: twice as long after each, up to `last_s`."""
    return min(first_s * 2.0 ** min(failures - 1, 100), last_s)
