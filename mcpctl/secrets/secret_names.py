"""Names that tell that their value is a secret: one list for what is recorded, shown and warned of."""

import re
from enum import IntEnum
from functools import lru_cache

LONGEST = 64  # only the end of a longer name is read


class Kind(IntEnum):
    NOTHING = 0
    ANY = 1  # a secret whatever it is: the user said so
    PASSWORD = 2  # a secret unless it stands for one: `${PASSWORD}`, a schema, a type
    CREDENTIAL = 3  # a secret unless it is plain words or a path
    TOKEN = 4  # a secret unless it is plain words, a path or a number: tokens are also counted
    CODE = 5  # a secret if it looks like one or is a number of several digits
    ADDRESS = 6  # a secret if it has one in it: a URL with a password or a key
    HINT = 7  # a secret only if it looks like one: most values under `key` and `auth` are not secret


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ENDINGS = (  # endings of telling names, once their words are put together
    (Kind.PASSWORD, re.compile(
        r"(?:password|passwd|passphrase|passcode|secret|secretstring|(?<!old)pwd"
        r"|(?:db|user|root|admin|smtp|ftp|mysql|http|proxy|redis|ldap|mail|email)(?:pass|pw))\Z"
    )),
    (Kind.TOKEN, re.compile(r"token\Z")),
    (Kind.CREDENTIAL, re.compile(
        r"(?:cookie|authorization|credentials?|apikey|connectionstring|connstr|kubeconfig"
        r"|(?:access|private|secret|encryption|signing|master|ssh|session|shared|account|root|auth|deploy|storage|hmac|jwt"
        r"|gpg|pgp|aes|rsa|admin|consumer|subscription|license|webhook|service|tls|ssl)key)\Z"
    )),
    (Kind.ADDRESS, re.compile(
        r"(?:database|db|postgres|postgresql|mysql|mongo|mongodb|redis|amqp|webhook|connection)ur[il]\Z"
    )),
    (Kind.CODE, re.compile(
        r"(?:mfa|otp|2fa|verification|security|auth|authorization|backup|recovery|sms|login)code\Z"
    )),
    (Kind.HINT, re.compile(r"(?:sessionid|sessid|amzsignature)\Z")),
)  # fmt: skip
_LAST_WORDS = {  # last words of telling names whose ending tells nothing
    "dsn": Kind.ADDRESS,
    **dict.fromkeys(("creds", "cred", "bearer", "jwt"), Kind.CREDENTIAL),
    **dict.fromkeys(("pin", "otp", "totp", "mfa", "cvv", "cvc"), Kind.CODE),
    **dict.fromkeys(("key", "pat", "auth", "oauth", "pass", "sig", "session"), Kind.HINT),
}  # fmt: skip
_ADDED = frozenset({  # words after a telling name that change nothing, as numbers do: `passwordHash`, `token2`
    "value", "hash", "digest", "binary", "plain", "plaintext", "b64", "base64", "encrypted", "enc", "raw", "old",
    "new", "current", "confirm", "confirmation", "again", "prod", "production", "dev", "staging", "primary",
    "secondary",
})  # fmt: skip
_OF_TEXT = frozenset({
    "next", "prev", "previous", "page", "pagination", "continuation", "skip", "start", "starting", "sync", "delta",
    "cursor", "resume", "first", "last", "max", "min", "input", "output", "total", "prompt", "completion", "num",
    "per", "reasoning", "cached", "progress", "bos", "eos", "pad", "unk", "sep", "cls", "mask", "special", "stop",
})  # fmt: skip
"""Words that make a token a place in a list, a number of them, or a piece of text; so does each that ends in page."""
_OF_DATA = frozenset({  # words that make a key one of a table, a map or a keyboard, or one that is public
    "public", "pub", "primary", "foreign", "sort", "partition", "cache", "object", "row", "index", "idempotency",
    "issue", "project", "group", "hash", "routing", "message", "translation", "map", "dict", "i18n", "locale",
    "file", "folder", "event", "state", "feature", "flag", "config", "setting", "option", "lookup", "unique",
    "natural", "composite", "candidate", "super", "range", "arrow", "enter", "shift", "ctrl", "alt", "tab",
    "escape", "delete", "function", "hot", "shortcut", "data", "order", "entity", "node", "parent", "child", "item",
    "field", "column", "property", "metric", "label", "tag", "query", "react", "any", "known", "answer",
})  # fmt: skip


@lru_cache(maxsize=4096)
def kind_of(name: str) -> Kind:
    """The kind of a name, however it is spelled: `API_KEY`, `apiKey`, `x-api-key`, `password1`."""
    words = [word.lower() for word in _WORDS.findall(name[-LONGEST:])]
    while len(words) > 1 and (words[-1] in _ADDED or words[-1].isdigit()):
        words.pop()
    if not words:
        return Kind.NOTHING
    before, last = "".join(words[-2:-1]), words[-1]
    if _is_ordinary(before, last):
        return Kind.NOTHING
    joined = "".join(words)
    return next((kind for kind, ending in _ENDINGS if ending.search(joined)), _LAST_WORDS.get(last, Kind.NOTHING))


def _is_ordinary(before: str, last: str) -> bool:
    if last.endswith("token"):
        word = last.removesuffix("token") or before
        return word in _OF_TEXT or word.endswith("page")
    return last.endswith("key") and (last.removesuffix("key") or before) in _OF_DATA


def is_secret_name(name: str) -> bool:
    return kind_of(name) is not Kind.NOTHING
