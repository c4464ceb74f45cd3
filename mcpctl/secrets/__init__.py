"""Finding secrets in what is kept and shown."""
