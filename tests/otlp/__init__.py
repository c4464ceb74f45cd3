"""`mcpctl records export --otlp`: records as traces and metrics of OpenTelemetry."""
