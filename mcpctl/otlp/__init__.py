"""Records as traces and metrics, for a receiver of OpenTelemetry's protocol."""
