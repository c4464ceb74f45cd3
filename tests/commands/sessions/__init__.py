"""Tests of `mcpctl sessions`."""
