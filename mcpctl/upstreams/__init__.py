"""The servers behind mcpctl: reached as processes or at URLs, started when first needed, listed, ended."""
