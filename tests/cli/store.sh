#!/usr/bin/env bash
# store.sh - init, append, log, show, frontier, verify: what they do and the shape of their JSON.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

mode() { stat -c %a "$1"; }

# init
run --json init --name laptop
check 'init' ended 0
check 'init fields' has_fields ok mesh node store has_root first_op
check 'init founds a mesh' printed '"has_root":true'
check 'init tells where' printed "\"store\":\"$MESHLOG_STORE\""
check 'folder is ours alone' same "$(mode "$MESHLOG_STORE")" 700
check 'root key is ours alone' same "$(mode "$MESHLOG_STORE/root.key")" 600
check 'node key is ours alone' same "$(mode "$MESHLOG_STORE/node.key")" 600
mesh=$(field mesh) node=$(field node) first=$(field first_op)
check 'nothing is left beside it' same "$(find "$work" -name '*.new-*')" ''
run --store "$work/a/b/c/" init
check 'init makes the folders above' test -e "$work/a/b/c/data.mdb"
check 'init explains the root key' printed 'root.key'
mkdir "$work/empty"
run --store "$work/empty" init
check 'init takes an empty folder' ended 0
check 'and makes it ours alone' same "$(mode "$work/empty")" 700
mkdir "$work/target" && ln -s target "$work/link"
run --store "$work/link" init
check 'init through a link' test -e "$work/target/data.mdb"
(cd "$work" && "$MESHLOG" --store relative init >/dev/null)
check 'init of a relative folder' test -e "$work/relative/data.mdb"
run --json --store "$work/"$'gr\u00fc\u00dfe\t' init
check 'the path in JSON as it is' printed '/grüße\t"'
run --json --store "$work/"$'\xff' init
check 'a path that is no text' printed '/\\xff"'
refused 'init twice' 1 exists "There is a store in $MESHLOG_STORE already" init
mkdir -p "$work/used/file"
refused 'init of a folder in use' 1 exists 'something else' --store "$work/used" init
: >"$work/plain"
refused 'init of a file' 1 exists 'is no folder' --store "$work/plain" init
refused 'init below a file' 1 io "$work/plain" --store "$work/plain/x" init
# Stopped at any time, init leaves a whole store or nothing.
torn=0
for ((i = 0; i < 30; i++)); do
    "$MESHLOG" --store "$work/stopped-$i" init >/dev/null 2>&1 &
    sleep "0.0$((i / 10))$((i % 10))"
    kill -TERM $! 2>/dev/null
    wait $!
    if [ -e "$work/stopped-$i" ] && ! "$MESHLOG" --store "$work/stopped-$i" verify >/dev/null; then
        torn=$((torn + 1))
    fi
done 2>/dev/null
check 'init is never half done' same "$torn" 0
check 'init leaves nothing when stopped' same "$(find "$work" -name '*.new-*')" ''
check 'init leaves nothing when refused' same "$(find "$work" -name '*.new-*')" ''

# append
run --json append IngestEvidence --payload "{\"source_type\":\"note\",\"size\":3,\"content\":\"$(printf '%064d' 7)\"}"
check 'append' ended 0
check 'append fields' has_fields ok id hash seq kind verdict reason rule
check 'append applies' printed '"verdict":"applied","reason":null'
evidence=$(field id)
check 'id has 26 letters' same "${#evidence}" 26
run append CreateClaim --payload '{"text":"grüße","bytes":{"/":{"bytes":"AAEC"}}}' --dep "$evidence"
check 'append prints the id alone' same "$out" "$(echo "$out" | grep -E '^[0-9A-HJKMNP-TV-Z]{26}$')"
claim=$out
echo '{"text":"from a file"}' >"$work/payload"
run append CreateClaim --payload "@$work/payload"
check 'payload from a file' ended 0
run append CreateClaim --payload - <"$work/payload"
check 'payload from stdin' ended 0
run append CreateClaim --payload '{"text":"t"}' --dep "${claim:0:24}" --dep "$evidence"
check 'dep by prefix' ended 0
last=$out
run --json append CreateClaim --payload '{"text":"t"}' --dep 01000000000000000000000000
check 'dep that is not here' printed '"verdict":"pending","reason":"dep_missing"'
check 'and its id' printed '"missing":["01000000000000000000000000"]'
run append CreateClaim --payload '{"text":"t"}' --dep 01000000000000000000000000
check 'and people are told' complained 'pending (dep_missing: 01000000000000000000000000)'
run append Abandon --payload '{}'
check 'Abandon' ended 0

# log
run --json log
check 'log' ended 0
check 'log fields' has_fields id hash author kind seq prev deps time_ms size payload payload_state \
    verdict reason
check 'log has no trailer' same "$(grep -c '"seq":' "$work/out")" "$(wc -l <"$work/out")"
total=$(wc -l <"$work/out")
check 'log begins with the first op' same "$(sed -n 1p "$work/out" | grep -c "$first")" 1
check 'log ends with the newest' same "$(field kind)" Abandon
check 'log shows bytes' printed '"bytes":{"/":{"bytes":"AAEC"}}'
run --json log --kind CreateClaim
check 'log --kind NAME' same "$(wc -l <"$work/out")" 6
run --json log --kind 22
check 'log --kind NUMBER' same "$(wc -l <"$work/out")" 6
run --json log --kind 9999
check 'log of an unknown kind is empty' same "$code$out" 0
run --json log --author "$node"
check 'log --author' same "$(wc -l <"$work/out")" "$total"
run --json log --author "$mesh"
check 'log of somebody else is empty' same "$code$out" 0
run --json log --since "$evidence" --until "$claim"
check 'since is exclusive, until inclusive' same "$(wc -l <"$work/out") $(field id)" "1 $claim"
run --json log --limit 2
check 'limit shows the last' same "$(wc -l <"$work/out") $(field kind)" '2 Abandon'
run --json log --limit 1 --until "$claim"
check 'limit and until' same "$(wc -l <"$work/out") $(field id)" "1 $claim"
run --json log --limit 1 --kind IngestEvidence
check 'limit and kind' same "$(wc -l <"$work/out") $(field id)" "1 $evidence"
run --json log --limit 1000000000000
check 'limit over everything' same "$(wc -l <"$work/out")" "$total"
run log
check 'log for people' printed "$claim"
check 'log for people marks what is pending' printed '[pending: dep_missing]'
check 'no colours without a terminal' bash -c "! grep -q $'\\033' '$work/out'"

# show
run --json show "$claim"
check 'show' ended 0
check 'show fields' has_fields ok id hash author kind seq prev deps time_ms size payload \
    payload_state verdict reason rule
check 'show has its payload' printed '"text":"grüße"'
check 'show names its dep' printed "\"deps\":[\"$evidence\"]"
run --json show "$(echo "${claim:0:25}" | tr '[:upper:]' '[:lower:]')"
check 'show by prefix, in small letters' same "$(field id)" "$claim"
run show "$claim"
check 'show for people' printed 'text: "grüße"'
run append CreateClaim --payload '{"text":"\u001b[31mred\u0007"}'
run show "$out"
check 'control characters reach no terminal' bash -c "! grep -q $'[\\033\\007]' '$work/out'"
refused 'show of an unknown id' 1 unknown_id 'No op in' show 01000000000000000000000000
refused 'show of an unknown prefix' 1 unknown_id 'No op in' show 000000
refused 'show of an ambiguous prefix' 1 ambiguous_id 'give more letters' show "${claim:0:6}"
refused 'dep of an ambiguous prefix' 1 ambiguous_id 'give more letters' \
    append CreateClaim --payload '{"text":"t"}' --dep "${claim:0:6}"
refused 'dep of an unknown prefix' 1 unknown_id 'No op in' \
    append CreateClaim --payload '{"text":"t"}' --dep 000000

# payloads that are refused
refused 'payload that is no JSON' 1 bad_json 'is not JSON' append CreateClaim --payload '{"a":'
refused 'payload that is empty' 1 bad_json '--payload is empty: {} is an empty one.' append CreateClaim --payload ''
refused 'payload that is no object' 1 bad_payload 'JSON object' append CreateClaim --payload '[1]'
refused 'payload with a fraction' 1 bad_payload 'at .a[].b' append CreateClaim --payload '{"a":[{"b":1.5}]}'
refused 'payload with the key op' 1 bad_payload '"op"' append CreateClaim --payload '{"op":1}'
refused 'payload with the key target' 1 bad_payload '"target"' append CreateClaim --payload '{"target":1}'
refused 'payload with an empty key' 1 bad_payload 'empty key' append CreateClaim --payload '{"":1}'
refused 'payload with a key twice' 1 bad_json 'is not JSON' append CreateClaim --payload '{"a":1,"a":2}'
refused 'payload too large' 1 too_large 'over a limit' append CreateClaim \
    --payload "{\"a\":\"$(printf '%070000d' 0)\"}"
refused 'payload too deep' 1 too_large 'nested too deeply' append CreateClaim \
    --payload '{"a":[[[[[[[[[[]]]]]]]]]]}'
refused 'payload from a missing file' 1 io 'No such file' append CreateClaim --payload "@$work/none"
refused 'dep twice' 1 bad_deps 'named twice' append CreateClaim --payload '{"text":"t"}' --dep "$claim" --dep "$claim"
refused 'dep in the future' 1 bad_deps 'dated in the future' append CreateClaim --payload '{"text":"t"}' \
    --dep 7ZZZZZZZZZ0000000000000000
many=()
for ((i = 10; i < 43; i++)); do many+=(--dep "010000000000000000000000$i"); done
refused 'too many deps' 1 bad_deps '32 dependencies' append CreateClaim --payload '{"text":"t"}' "${many[@]}"
run --json log
check 'nothing refused was stored' same "$(wc -l <"$work/out")" $((total + 1))

# frontier, verify
run --json frontier
check 'frontier' ended 0
check 'frontier fields' has_fields ok mesh ops log authors author heads seq hash id abandoned
check 'frontier counts' printed "\"ops\":$((total + 1))"
check 'frontier is of this mesh' printed "$mesh"
run frontier
check 'frontier for people' printed "$((total + 1)) ops by 1 author"
run --json verify
check 'verify' ended 0
check 'verify fields' has_fields ok ops authors damaged
check 'verify finds nothing' printed '"damaged":[]'
run verify
check 'verify for people' printed 'all are whole'

# a second store of the mesh
run --json --store "$work/second" init --mesh "$mesh"
check 'init --mesh' printed '"has_root":false,"first_op":null'
check 'no root key there' test ! -e "$work/second/root.key"
run --json --store "$work/second" log
check 'its log is empty' same "$code$out" 0
run --json --store "$work/second" log --limit 3
check 'and so are its last ops' same "$code$out" 0
run --json --store "$work/second" frontier
check 'its frontier is empty' printed '"ops":0'
run --store "$work/second" verify
check 'it verifies' ended 0
refused 'append before being admitted' 1 unknown_author 'not been admitted' \
    --store "$work/second" append CreateClaim --payload '{"text":"t"}'
refused 'batch before being admitted' 1 unknown_author 'not been admitted' \
    --store "$work/second" append --batch

# a copy that went its own way is shown as forked only where both branches meet; here one head
run frontier
check 'one open head' bash -c "! grep -q forked '$work/out'"
totals
