"""Faults of a document: those that end the reading of it, and those that leave out one operation."""

from mcpctl.base.errors import WrongUsage


class WrongDocument(WrongUsage):
    """A document that cannot be used, with its file and the JSON pointer of what is wrong."""

    code = "wrong_openapi"


class OperationFault(Exception):
    """Why an operation is no tool, in words that are the same for all to which it applies."""
