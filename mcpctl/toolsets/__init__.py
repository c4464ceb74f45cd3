"""Toolset files: read, changed without a loss, and what they say of a tool."""
