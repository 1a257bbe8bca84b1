#!/usr/bin/env bash
# Starts the system as the README says, waits until the gateway is ready, and ends it as Ctrl-C would.
set -euo pipefail

npm start > start.log 2>&1 &
pid=$!
trap 'cat start.log' ERR

for _ in $(seq 180); do
  curl --silent --fail --output /dev/null http://127.0.0.1:8081/readyz && break
  kill -0 "$pid"
  sleep 1
done
curl --silent --show-error --fail http://127.0.0.1:8081/readyz

kill -INT "$pid" $(pgrep -P "$pid")
wait "$pid" || true
if curl --silent --output /dev/null http://127.0.0.1:8081/readyz; then
  echo 'The gateway still answers after npm start was ended.' >&2
  exit 1
fi
