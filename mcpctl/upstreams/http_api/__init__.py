"""An HTTP API that a compiled document describes, as a server: its requests, and its answers as results of tools."""
