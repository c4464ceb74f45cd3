"""Tests of `mcpctl calls`."""
