#!/usr/bin/env bash
# demo.sh - demo and bench: they run anywhere, say what they should, and leave nothing behind.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

export TMPDIR="$work/tmp"
mkdir "$TMPDIR"
left() { ls -A "$TMPDIR"; }

run demo </dev/null
check 'demo' ended 0
check 'demo says nothing on stderr' same "$err" ''
check 'demo: a claim falls and takes along what rests on it' printed 'Proposed -> Rejected'
check 'demo: why tells of the cascade' printed 'what it rests on fell  Proposed → Rejected     laptop'
check 'demo: a late op undoes a later one' printed 'UpdateActionStatus: rejected (no_move)'
check 'demo: why tells what was before' printed 'Fact → Rejected         phone'
check 'demo: and from where on' printed 'Rejected from the start, because on '
check 'demo: both end alike' printed 'They are equal.'
digests() { grep -A1 '^     digest' "$work/out" | grep -v -- -- | sort -u | wc -l; }
check 'demo: with one digest and one log' same "$(digests)" 2
check 'demo shows no real paths' bash -c "! grep -qF '$TMPDIR' '$work/out'"
check 'demo is short' test "$(wc -l <"$work/out")" -le 150
check 'demo: no line is too long' test "$(LC_ALL=C.UTF-8 wc -L <"$work/out")" -le 100
check 'demo leaves nothing' same "$(left)" ''
run --json demo
check 'demo as JSON' same "$(grep -vcE '^\{("text"|"scene"|"device")' "$work/out")" 0
check 'demo as JSON has every answer' same \
    "$(grep -c '^{"device"' "$work/out")" "$(grep -c '"answer":{"ok":true,' "$work/out")"
check 'demo as JSON: the late op' printed '"from":"applied","to":"rejected","reason":"fsm","rule":"no_move"'
late=$(sed -n 's/.*"reject",.*"answer":{"ok":true,"op":"\([^"]*\)".*/\1/p' "$work/out" | tail -n 1)
approved=$(sed -n 's/.*"Approved".*"answer":{"ok":true,"op":"\([^"]*\)".*/\1/p' "$work/out")
check 'demo: the late op is dated before what it undoes' test "$late" '<' "$approved"
check 'the store was not touched' test ! -e "$MESHLOG_STORE"

run --json bench --ops 2000 --only append_batch
check 'bench' ended 0
check 'bench fields' has_fields ok ops seed cores corpus raw figures name value unit ratio of target \
    better met spread
check 'bench: one line' same "$(wc -l <"$work/out")" 1
run bench --ops 2000 --only append_batch,append_sync
check 'bench for people' printed 'append_sync'
refused 'bench of too few ops' 2 usage 'from 100 to 100000000' bench --ops 99
refused 'bench of too many ops' 2 usage 'from 100 to 100000000' bench --ops 100000001
run bench --ops 100 --only append_batch
check 'bench of the fewest ops' ended 0
refused 'bench of an unknown figure' 2 usage 'nonsense' bench --ops 1000 --only nonsense
run bench-memory "$work/memory" 2000
mkdir "$work/memory2"
run bench-memory "$work/memory2" 2000
check 'bench-memory' bash -c "grep -qE '^\{\"rss_anon\":[0-9]+,\"rss_export\":[0-9]+,\"rss_import\":[0-9]+\}$' '$work/out'"
refused 'bench-memory without number' 2 usage 'number of ops' bench-memory "$work/memory2" many
check 'bench leaves nothing' same "$(left)" ''

"$MESHLOG" bench --ops 500000 >"$work/out" 2>"$work/err" &
bench=$!
not_empty() { [ -n "$(left)" ]; }
check 'bench works in a folder' wait_for 10 not_empty
sleep 0.3
kill -INT "$bench"
wait "$bench"
check 'SIGINT ends bench with 130' same "$?" 130
check 'and leaves nothing' same "$(left)" ''
totals
