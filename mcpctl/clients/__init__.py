"""MCP clients: where they keep their servers, how those are imported, and the entry that starts mcpctl in each."""
