"""JSON-RPC on its way: messages as bytes, read from descriptors and written to them without ever blocking."""
