"""The MCP clients that mcpctl stands behind: where they keep servers, how theirs become ours, what they need."""
