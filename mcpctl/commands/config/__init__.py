"""The file config.toml, its check and its schema."""
