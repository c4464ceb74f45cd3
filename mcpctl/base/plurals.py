"""Numbers of things in words."""


def counted(number: int, noun: str) -> str:
    """Such as `1 tool`, `2 tools` or `1,000 tools`; the noun is one that takes an s."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
