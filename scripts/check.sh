#!/usr/bin/env bash
# check.sh - all tests on the plain build, the unit tests again under ASan and
# UBSan. The last line is the sum: N passed, M failed, K skipped.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

passed=0 failed=0 skipped=0
log=$(mktemp) || exit 1
trap 'rm -f -- "$log"' EXIT

# stage TITLE DIR KIND [build options…]: a build that fails is one failed test.
stage() {
    local title=$1 dir=$2 kind=$3 status
    shift 3
    printf '\n== %s\n' "$title"
    if ! scripts/build.sh "$dir" "$@"; then
        printf 'The build in %s failed.\n' "$dir"
        failed=$((failed + 1))
        return
    fi
    tests/run.sh "$dir" "$kind" | tee "$log"
    status=${PIPESTATUS[0]}
    if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + BASH_REMATCH[3]))
        if [ "$status" -ne 0 ] && [ "${BASH_REMATCH[2]}" -eq 0 ]; then
            failed=$((failed + 1))
        fi
    else
        printf 'The tests in %s ended without totals.\n' "$dir"
        failed=$((failed + 1))
    fi
}

stage 'All tests' build all
stage 'Unit tests under ASan and UBSan' build-asan unit -DMESHLOG_SANITIZE=address,undefined

printf '\n== Both together\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
