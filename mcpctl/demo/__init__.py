"""Small MCP servers that come with mcpctl, to try it on."""
