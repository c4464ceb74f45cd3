#!/bin/sh
# A small HTTP API behind mcpctl: it is started here, its document is read, and some of its operations are called.
# Run it with mcpctl on the PATH: sh examples/openapi/calls.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
MCPCTL_CONFIG="$here/config.toml" MCPCTL_DATA_DIR=$(mktemp -d)
export MCPCTL_CONFIG MCPCTL_DATA_DIR

python3 "$here/shop.py" 0 >"$MCPCTL_DATA_DIR/port" &
shop=$!
trap 'kill $shop; rm -r "$MCPCTL_DATA_DIR"' EXIT
until port=$(grep . "$MCPCTL_DATA_DIR/port"); do sleep 0.1; done
SHOP_HOST="127.0.0.1:$port"
export SHOP_HOST

mcpctl tools refresh shop
mcpctl tools search 'list the orders of the shop' --limit 1 --fields key
mcpctl tools call shop:orders/list 'status=["open"]'
mcpctl tools call shop:orders/get id=a/1
mcpctl tools call shop:orders/create 'body={"item": "milk"}' --dry-run
mcpctl tools call shop:orders/get id=z/9 || echo "no such order"
mcpctl calls ls --http-status 4xx --fields tool,http_status
