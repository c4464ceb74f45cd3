"""The tests of mcpctl."""
