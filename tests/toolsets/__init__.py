"""Toolset files."""
