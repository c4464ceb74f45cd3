"""Tests of `mcpctl servers`."""
