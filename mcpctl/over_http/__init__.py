"""`mcpctl serve --http`: many clients of one process, of both eras, over the same core as stdio."""
