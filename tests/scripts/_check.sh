# shellcheck shell=bash
# _check.sh - to be sourced by the script tests: count what holds and what does not.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

passed=0 failed=0 skipped=0

# check WHAT COMMAND…: one test, passed when the command succeeds.
check() {
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n' "$1"
    fi
}

# skip_test WHY
skip_test() {
    skipped=$((skipped + 1))
    printf 'SKIPPED: %s\n' "$1"
}

# totals: the last line of every script test; call it last.
totals() {
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" -eq 0 ]
}

same() {
    [ "$1" = "$2" ] || { printf '  got:  %s\n  want: %s\n' "$1" "$2" && false; }
}
