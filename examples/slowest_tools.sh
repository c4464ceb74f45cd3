#!/bin/sh
# The slowest tools: median and longest milliseconds, and the number of calls.
mcpctl calls ls --json |
  jq -r '[.[] | select(.duration_ms != null)] | group_by(.server + ":" + .tool)
         | map({tool: "\(.[0].server):\(.[0].tool)", calls: length, ms: (map(.duration_ms) | sort)})
         | sort_by(-.ms[.calls / 2 | floor]) | .[:10][]
         | "\(.ms[.calls / 2 | floor])\t\(.ms[-1])\t\(.calls)\t\(.tool)"'
