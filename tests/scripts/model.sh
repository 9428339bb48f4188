#!/usr/bin/env bash
# model.sh - the reference fold knows its known answers, sees a dump that is wrong, and agrees with
# what the product makes of the histories of test_fold_converge.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/_check.sh"

if ! command -v node >/dev/null; then
    skip_test 'the reference fold: there is no node here'
    totals
    exit
fi

output=$(node tests/model/selftest.mjs)
if [[ $(tail -n 1 <<<"$output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ 0\ skipped$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
    sed '$d' <<<"$output"
else
    check 'the self-test comes to its end' false
fi

# fold DUMP: what fold.mjs prints of it, and its exit code.
fold() {
    node tests/model/fold.mjs - <<<"$1" 2>&1
    echo "exit $?"
}

zeros=$(printf '%064d' 0)
check 'an empty history' same "$(fold "{\"seed\":1,\"ops\":[],\"records\":{},\"digest\":\"$zeros\"}")" \
    '1 histories, 0 ops, 0 differences'$'\n''exit 0'
check 'a record too many, and a digest' same \
    "$(fold "{\"seed\":7,\"ops\":[],\"records\":{\"${zeros:32}\":[[\"${zeros:32}\",\"01000000\"]]},\"digest\":\"1${zeros:1}\"}")" \
    "seed 7: record ${zeros:32}, entry 0: expected nothing, found evidence Present at ${zeros:32}
seed 7: digest: expected $zeros, found 1${zeros:1}
1 histories, 0 ops, 2 differences
exit 1"
check 'half a dump' same "$(fold '{"seed":1,')" 'line 1 is not a whole history'$'\n''exit 2'
check 'no history at all' same "$(node tests/model/fold.mjs /dev/null; echo "exit $?")" \
    '0 histories, 0 ops, 0 differences'$'\n''exit 2'

# The product's folds, of other histories than the unit test's, as many as there is time for.
seeds=201-500
work=$(mktemp -d "${TMPDIR:-/tmp}/meshlog-model.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
histories() {
    FOLD_SEEDS=$seeds FOLD_DUMP="$work/dump" FOLD_STORES=1 \
        "${MESHLOG_BUILD:-build}/tests/test_fold_converge" >"$work/out" 2>&1 || {
        cat "$work/out"
        return 1
    }
}
check "the histories of seeds $seeds are folded" histories
found=$(node tests/model/fold.mjs "$work/dump"; echo "exit $?")
check 'the reference fold makes the same of them' same "${found/ [0-9]* ops,/}" \
    '300 histories, 0 differences'$'\n''exit 0'

totals
