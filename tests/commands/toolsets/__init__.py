"""`mcpctl toolsets`"""
