"""`mcpctl dashboard`: pages and a REST interface over the records, in the browser of whoever runs this."""
