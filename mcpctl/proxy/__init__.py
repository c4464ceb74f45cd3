"""`mcpctl serve`: between one client and many servers."""
