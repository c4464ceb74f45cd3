"""A compiled document: all that is needed of it to list an API's tools and to send its requests. `serve` reads this
and never a document."""

from msgspec import Raw, Struct

FORMAT = 1  # an older one is made anew by `tools refresh`


class Parameter(Struct, frozen=True, omit_defaults=True):
    """How one argument is written into the request: https://spec.openapis.org/oas/v3.1.1#parameter-object."""

    argument: str  # the property of the tool's input schema
    name: str  # as the API knows it
    place: str  # path, query, header or cookie
    style: str = ""  # the one in force, its default filled in; empty for one with a media type
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""  # of a `content` parameter: its text is a value of this type


class Encoding(Struct, frozen=True, omit_defaults=True):
    """How one property of a form or of a multipart body is written."""

    media_type: str = ""  # its contentType, as written; empty for that of the kind of value
    style: str = ""  # empty where neither style, explode nor allowReserved are given: then the media type counts
    explode: bool = False
    allow_reserved: bool = False
    headers: dict[str, str] = {}  # the headers of a part that have one value that is known
    is_binary: bool = False  # whether its value, or each item of it, is a file
    is_json: bool = False  # whether its values are objects, or arrays of them: in a part they are JSON


class Content(Struct, frozen=True, omit_defaults=True):
    """One way to send a body."""

    media_type: str  # as written, which is what is sent; `*/*` is application/json
    kind: str  # json, form, multipart, text or binary
    encodings: dict[str, Encoding] = {}  # of the properties of a form or multipart body that need one


class Body(Struct, frozen=True, omit_defaults=True):
    """The body of an operation, which is one argument."""

    contents: list[Content]  # the default first
    argument: str = "body"
    chosen_by: str = ""  # the argument that names another media type than the default; empty where there is one only
    is_required: bool = False


class Scheme(Struct, frozen=True, omit_defaults=True):
    """A security scheme that can be met: https://spec.openapis.org/oas/v3.1.1#security-scheme-object."""

    kind: str  # basic, bearer, apiKey, oauth2 or openIdConnect
    place: str = ""  # of an apiKey: header, query or cookie
    name: str = ""  # of an apiKey: its name there
    token_url: str = ""  # of oauth2: where client credentials are changed for a token; empty without that flow


class HttpOperation(Struct, frozen=True, omit_defaults=True):
    """One tool, and how its request is made."""

    tool: str
    method: str  # in capitals
    path: str  # the key of the document, with its holes, its query and its fragment
    base: str  # the address in front of the path, without a slash at its end
    definition: Raw  # the tool as it is listed, in JSON
    parameters: list[Parameter] = []  # those of the path, in its order, first
    body: Body | None = None
    security: list[dict[str, list[str]]] = []
    """The alternatives, each with its schemes and their scopes; one that is empty, which needs none, comes last. Those
    with a scheme that cannot be met are left out."""


class CompiledDocument(Struct, frozen=True, kw_only=True):
    """What `tools refresh` has made of a document for one entry of the configuration."""

    format: int = FORMAT
    made_at: float  # seconds since the epoch
    source: str  # the file or the address of the document, as the entry has it
    sha256: str  # of the document's bytes, and of those of the files that it refers to, in hex
    openapi: str  # the version of the specification that it is written in
    title: str = ""
    version: str = ""  # its own
    description: str = ""  # its own, cut: the instructions of this server
    base: str = ""  # where most operations are sent
    schemes: dict[str, Scheme] = {}
    skipped: dict[str, list[str]] = {}  # METHOD and path of the operations that are no tools, by the reason
    operations: list[HttpOperation] = []
