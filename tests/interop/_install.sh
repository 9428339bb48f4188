#!/usr/bin/env bash
# _install.sh - have the npm packages of tests/interop, exactly those of package-lock.json.
# When they are there already, npm is not called.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
    echo 'tests/interop needs node and npm; scripts/deps.sh interop installs them.' >&2
    exit 1
fi
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    cp package-lock.json node_modules/.installed
fi
