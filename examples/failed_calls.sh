#!/bin/sh
# The failures of the last 24 hours by tool: their number, and the last error.
mcpctl calls ls --since 24h --json |
  jq -r '[.[] | select(.status != "ok" and .status != "running")] | group_by(.server + ":" + .tool)
         | .[] | "\(length)\t\(.[0].server):\(.[0].tool)\t\(.[0].error // .[0].response | tostring | .[0:200])"'
