"""Who may see the dashboard: one-time links, the cookies they are exchanged for, and a bearer token for scripts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Login:
    """Somebody who has logged in."""

    may_answer: bool
    """Whether they may answer approvals; never with a bearer token."""
    form_token: str
    """What each form of theirs has to send back."""


class Logins:
    """The logins of one dashboard, for as long as it runs."""
