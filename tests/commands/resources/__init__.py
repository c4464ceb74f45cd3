"""Tests of `mcpctl tools`."""
