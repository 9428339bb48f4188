#!/usr/bin/env bash
# reader.sh - the second reader against the known answers, and against bytes made to mislead it.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/../scripts/_check.sh"

check 'the packages are there' test -e tests/interop/node_modules/.installed
check 'the lock file names no host' same "$(grep -E '://|"resolved"' tests/interop/package-lock.json)" ''
for script in vectors hostile; do
    output=$(node "tests/interop/$script.mjs" 2>&1)
    printf '%s\n' "$output" | grep -vE '^[0-9]+ passed'
    if [[ $(tail -n 1 <<<"$output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        check "$script.mjs comes to its end" false
    fi
done
totals
