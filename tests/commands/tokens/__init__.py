"""Tests of `mcpctl tokens`."""
