"""A server asked without a login, and its refusal, which says which login it wants.

https://www.rfc-editor.org/rfc/rfc6750#section-3
"""

import re
from http import HTTPStatus

from mcpctl.base.failure import Failed, failed

_MOST = 4096
_BEARER = re.compile(r"(?:^|[,\s])bearer(?:[,\s]|$)", re.IGNORECASE)
_LACKS_SCOPE = re.compile(r'error\s*=\s*"?insufficient_scope', re.IGNORECASE)
_SCOPES = re.compile(r'scope\s*=\s*"([^"]{1,1024})"', re.IGNORECASE)
# A part of what scopes may have: no sentence, and nothing that a shell takes for more than a word.
_SCOPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}")
_MOST_SCOPES = 8


def refusal(status: int, challenge: str, said: str, *, has_login: bool, has_headers: bool) -> Failed | None:
    """The failure of a 401 or 403 where a login helps; None where it does not, or nobody knows.

    `challenge` is its WWW-Authenticate, `said` the server's own words; `has_headers` is whether the configuration has
    headers for it, of which one may be meant.
    """
    challenge = challenge[:_MOST]
    if status == HTTPStatus.FORBIDDEN:
        if not has_login or not _LACKS_SCOPE.search(challenge):
            return None
        found = _SCOPES.search(challenge)
        scopes = found[1].split()[:_MOST_SCOPES] if found else []
        lacking = tuple(filter(_SCOPE.fullmatch, scopes))
        return failed("needs_login", "its login has too few rights", was_sent=False, said=said, scopes=lacking)
    if has_login:
        return failed("needs_login", "its login is refused", was_sent=False, said=said)
    if has_headers or not _BEARER.search(challenge):
        return None
    return failed("needs_login", "it needs a login", was_sent=False)
