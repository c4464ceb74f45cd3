"""`mcpctl annotate`"""
