"""Toolset files: how they are read, checked and changed without loss, and what they add to a tool."""
