#!/usr/bin/env bash
# ucan.sh - tokens between iso-ucan, another implementation of UCAN 1.0, and the program.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/../scripts/_check.sh"
: "${MESHLOG:?is the program to be tested}"

if [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
    skip_test 'the packages of iso-ucan need Node 20'
    totals
    exit
fi
check 'the packages are there' test -e tests/interop/node_modules/.installed
output=$(node tests/interop/ucan.mjs 2>&1)
printf '%s\n' "$output" | grep -vE '^[0-9]+ passed'
if [[ $(tail -n 1 <<<"$output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
else
    check 'ucan.mjs comes to its end' false
fi
totals
