"""The tests of mcpctl, and what measures it."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # as mcpctl has it
