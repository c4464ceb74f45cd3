"""`mcpctl policy`"""
