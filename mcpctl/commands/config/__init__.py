"""The file config.toml: edit it, check it, and its JSON Schema."""
