"""OpenAPI documents: read once, and compiled to the tools and requests of an HTTP API."""
