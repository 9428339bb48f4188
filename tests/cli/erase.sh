#!/usr/bin/env bash
# erase.sh - an Erase and compact, by command: what is shown, what is in the file, what travels.
# (tests/unit/test_erase.c sets the clock.)
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

secret='Ada was born on 1815-12-10'
in_file() { grep -aqF "$secret" "$1/data.mdb"; }
not_in_file() { ! in_file "$1"; }
log_hash() { "$MESHLOG" --json --store "$1" frontier | sed -n 's/.*"log":"\([0-9a-f]*\)".*/\1/p'; }

refused 'compact without a store' 1 no_store 'init' compact
run --json init
mesh=$(field mesh)
claims 500 | "$MESHLOG" append --batch >/dev/null
run --json append CreateClaim --payload "{\"text\":\"$secret\",\"geo\":{\"at\":\"$secret\"}}"
id=$(field id)
hash=$(field hash)
filling=$(head -c 20000 /dev/zero | tr '\0' x)
run --json append CreateClaim --payload "{\"text\":\"$secret\",\"note\":\"$filling $secret\"}"
large=$(field id)
large_hash=$(field hash)
claims 500 | "$MESHLOG" append --batch >/dev/null
"$MESHLOG" export "$work/before" 2>/dev/null >&2
check 'it is in the file' in_file "$MESHLOG_STORE"

# Erases
refused 'an Erase of nothing' 1 bad_payload 'names what it erases' append Erase --payload '{}'
refused 'an Erase by half an id' 1 bad_payload 'names what it erases' append Erase \
    --payload "{\"record\":\"$id\",\"ops\":[{\"id\":\"${id:0:10}\",\"hash\":\"$hash\"}]}"
run --json append Erase --payload "{\"record\":\"$id\",\"ops\":[{\"id\":\"$id\",\"hash\":\"$hash\"},
    {\"id\":\"$large\",\"hash\":\"$large_hash\"}]}"
check 'Erase' ended 0
check 'Erase is applied' printed '"verdict":"applied"'
run --json show "$id"
check 'erased at once' printed '"verdict":"void","reason":"erased"'
check 'bytes are still here' printed '"payload_state":"full"'

# Within the grace
run --json compact
check 'compact' ended 0
check 'compact fields' has_fields ok erased waiting due_ms bytes_before bytes_after final
check 'nothing is taken' same "$(field erased)" 0
check 'both wait' same "$(field waiting)" 2
due=$(($(field due_ms) / 1000)) week=$((7 * 24 * 3600))
check 'for seven days' test "$due" -gt "$(($(date +%s) + week - 600))" -a "$due" -le "$(($(date +%s) + week))"
check 'still in the file' in_file "$MESHLOG_STORE"
run compact
check 'compact for people' printed '--final'
check 'compact for people: nothing is due' printed 'No erased content is due yet; the file takes '
check 'compact for people: when it is' printed "the first until $(date -d "@$due" '+%Y-%m-%d %H:%M'): --final"

# For good
before=$(log_hash "$MESHLOG_STORE")
run --json compact --final
check 'compact --final' ended 0
check 'both are taken' same "$(field erased)" 2
check 'none waits' same "$(field waiting)" 0
check 'gone from the file' not_in_file "$MESHLOG_STORE"
check 'the frontier stays' same "$(log_hash "$MESHLOG_STORE")" "$before"
run verify
check 'verify' ended 0
run --json show "$id"
check 'shown as a stub' printed '"payload_state":"redacted"'
check 'shown as erased' printed '"verdict":"void","reason":"erased"'
run show "$id"
check 'shown to people' printed 'erased'
run log --limit 600
check 'listed for people' printed 'erased'
run --json compact --final
check 'nothing more to do' same "$(field erased)" 0
check 'and nothing to wait for' printed '"due_ms":null'
run compact --final
check 'nothing more to do, for people' printed 'No erased content is left; the file takes '

# It does not come back, and travels as a stub
run --json import "$work/before"
check 'importing the bytes again' ended 0
check 'still gone' not_in_file "$MESHLOG_STORE"
"$MESHLOG" export "$work/after" 2>/dev/null >&2
check 'the bundle has a stub' bash -c "! grep -aqF '$secret' '$work/after'"
"$MESHLOG" --store "$work/second" init --mesh "$mesh" >/dev/null 2>&1
run --store "$work/second" import "$work/after"
check 'another store takes it' ended 0
check 'with the same ops' same "$(log_hash "$work/second")" "$(log_hash "$MESHLOG_STORE")"
run --json --store "$work/second" show "$id"
check 'and the same verdict' printed '"verdict":"void","reason":"erased"'
run --store "$work/second" verify
check 'and verifies' ended 0
run append CreateClaim --payload '{"text":"on"}'
check 'the log goes on' ended 0

rm "$MESHLOG_STORE/node.key"
run --json compact
check 'compact needs no key' ended 0

totals
