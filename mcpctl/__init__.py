"""One MCP entry in front of all of a person's MCP servers, and a Unix toolkit around it."""

__version__ = "0.1.0"
