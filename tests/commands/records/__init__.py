"""Tests of `mcpctl records`."""
