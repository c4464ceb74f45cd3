#!/bin/sh
# What went wrong today, by tool: how often, and the last error.
mcpctl calls ls --since 24h --json |
  jq -r '[.[] | select(.status != "ok" and .status != "running")] | group_by(.server + ":" + .tool)
         | .[] | "\(length)\t\(.[0].server):\(.[0].tool)\t\(.[0].error // .[0].response | tostring | .[0:200])"'
