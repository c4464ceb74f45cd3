#!/bin/sh
# Tools that nobody has called and that may do harm, as lines for config.toml that deny them.
mcpctl tools ls --json |
  jq -r '[.[] | select(.usage == 0 and (.risk == "destructive" or .risk == "not-declared"))] | group_by(.server)[]
         | "[servers.\(.[0].server).tools]", (.[] | "\(.tool | @json) = false")'
