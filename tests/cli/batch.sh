#!/usr/bin/env bash
# batch.sh - append --batch: results in order, bad lines, signals, readers beside it.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

run init
claims 5000 >"$work/lines"
run --json append --batch <"$work/lines"
check 'batch' ended 0
check 'a result for each line' same "$(wc -l <"$work/out")" 5000
check 'result fields' has_fields ok id hash seq ref
check 'results in order' same "$(sed -n 's/.*"ref":\([0-9]*\)}/\1/p' "$work/out" | sort -nc 2>&1; field ref)" 5000
run append --batch <"$work/lines"
check 'plain: an id for each line' same "$(grep -cE '^[0-9A-Z]{26}$' "$work/out")" 5000
check 'ids ascend' sort -c "$work/out"
run append --batch </dev/null
check 'an empty batch' same "$code$out$err" 0
printf '{"kind":"CreateClaim","payload":{"text":"t"}}' >"$work/one"
run append --batch <"$work/one"
check 'a last line without newline' same "$code ${#out}" '0 26'

# Bad lines are answered in their place, and do not stop the others.
{
    claims 6
    echo '{"kind":"CreateClaim","payload":{"text":'
    echo
    echo '{"kind":"CreateClam","payload":{"text":"t"},"ref":"nine"}'
    echo '{"kind":22,"payload":{"text":"t"},"ref":10}'
    echo '{"payload":{}}'
    echo '{"kind":"CreateClaim"}'
    echo '{"kind":"CreateClaim","payload":{"a":0.5}}'
    echo '{"kind":"CreateClaim","payload":{},"dep":[],"ref":"odd"}'
    echo '{"kind":"CreateClaim","payload":{},"deps":"x"}'
    echo '{"kind":"CreateClaim","payload":{},"deps":["000000"]}'
    echo '{"kind":"CreateClaim","payload":{"text":"t"},"ref":[1]}'
    echo '[]'
    printf '{"kind":"CreateClaim","payload":{"a":"%0300000d"},"ref":19}\n' 0
    printf '   \t\r\n'
    printf '{"kind":"CreateClaim","payload":{"a":"%02000000d"},"ref":21}\n' 0
    echo '{"kind":"CreateClaim","payload":{"text":"t"},"ref":22}'
    printf '{"kind":"CreateClaim","payload":{"text":"t"},"ref":23}\r\n'
} >"$work/bad"
run --json append --batch <"$work/bad"
check 'bad lines: exit 1' ended 1
check 'bad lines: an answer for each line' same "$(wc -l <"$work/out")" 21
# answer LINE: error and line of the answer in that place
answer() { sed -n "$1p" "$work/out" | sed 's/.*"error":"\([a-z_]*\)".*"line":\([0-9]*\),"ref":\(.*\)}/\1 \2 \3/'; }
check 'line 7 is no JSON' same "$(answer 7)" 'bad_json 7 null'
check 'line 7 is named' printed '"message":"Line 7 is refused: '
check 'an empty line counts' same "$(answer 8)" 'usage 9 "nine"'
check 'the kind is suggested' printed 'did you mean CreateClaim'
check 'a kind by number' same "$(sed -n 9p "$work/out" | cut -c 1-10)" '{"ok":true'
check 'no kind' same "$(answer 10)" 'bad_json 11 null'
check 'no payload' same "$(answer 11)" 'bad_json 12 null'
check 'a fraction' same "$(answer 12)" 'bad_payload 13 null'
check 'a field that means nothing' same "$(answer 13)" 'bad_json 14 "odd"'
check 'deps that are no array' same "$(answer 14)" 'bad_json 15 null'
check 'a dep that is not here' same "$(answer 15)" 'unknown_id 16 null'
check 'a ref that is no text' same "$(answer 16)" 'bad_json 17 null'
check 'no object' same "$(answer 17)" 'bad_json 18 null'
check 'a line too long' same "$(answer 18)" 'too_large 19 null'
check 'a line much too long' same "$(answer 19)" 'too_large 21 null'
check 'and it goes on after it' same "$(sed -n 20p "$work/out" | grep -c '"ok":true.*"ref":22')" 1
check 'a line that ends as on Windows' same "$(sed -n 21p "$work/out" | grep -c '"ok":true.*"ref":23')" 1
run append --batch <"$work/bad"
check 'plain: error CODE in its place' same "$(sed -n 7p "$work/out")" 'error bad_json'
check 'plain: the line is named' complained 'meshlog: Line 7 is refused: '
check 'plain: an answer for each line' same "$(wc -l <"$work/out")" 21

check 'plain: stdout and stderr in order' same \
    "$("$MESHLOG" append --batch <"$work/bad" 2>&1 | sed -n '7,8p' | cut -c 1-23)" \
    $'error bad_json\nmeshlog: Line 7 is refu'
# Ops that the records refuse are answered in their place, and nothing of them is stored.
before=$("$MESHLOG" --json frontier | sed -n 's/.*"ops":\([0-9]*\),"log".*/\1/p')
nobody=$(printf '%026d' 1)
{
    echo '{"kind":"CreateClaim","payload":{"text":"one"},"ref":1}'
    echo "{\"kind\":\"CreateClaim\",\"payload\":{\"text\":\"two\",\"supports\":[\"$nobody\"]},\"ref\":2}"
    echo '{"kind":"CreateClaim","payload":{"text":"three"},"ref":3}'
    echo "{\"kind\":\"TombstoneEvidence\",\"payload\":{\"evidence\":\"$nobody\"},\"ref\":4}"
} >"$work/refused"
run --json append --batch <"$work/refused"
check 'refused by rules: exit 1' ended 1
check 'refused by rules: the first' same "$(sed -n 1p "$work/out" | grep -c '"ok":true.*"ref":1}')" 1
check 'refused by rules: the second' same "$(sed -n 2p "$work/out" | grep -c \
    '"error":"unknown_target".*"line":2,"rule":"support_missing","ref":2}')" 1
check 'refused by rules: the third' same "$(sed -n 3p "$work/out" | grep -c '"ok":true.*"ref":3}')" 1
check 'refused by rules: the fourth' same "$(sed -n 4p "$work/out" | grep -c \
    '"error":"unknown_target".*"line":4,"rule":"no_target","ref":4}')" 1
check 'refused by rules: two are stored' same \
    "$("$MESHLOG" --json frontier | sed -n 's/.*"ops":\([0-9]*\),"log".*/\1/p')" "$((before + 2))"

# Who names the version of a record must name the one that it has now.
run --json append CreateClaim --payload '{"text":"versions"}'
claim=$(field id)
sure() { echo "{\"claim\":\"$claim\",\"confidence\":$1,\"if_version\":\"$2\"}"; }
run --json append UpdateClaimConfidence --payload "$(sure 1 "$claim")"
check 'the version that it has' printed '"verdict":"applied"'
second=$(field id)
run --json append UpdateClaimConfidence --payload "$(sure 2 "$claim")"
check 'a version that it had' json_failure stale_version
check 'and which rule is against it' printed '"rule":"version_taken"'
run --json append UpdateClaimConfidence --payload "$(sure 2 "$nobody")"
check 'a version that it never had' printed '"rule":"version_gone"'
run --json append UpdateClaimConfidence --payload "{\"claim\":\"$claim\",\"confidence\":3}"
check 'without a version' ended 0
run --json append UpdateClaimConfidence --payload "$(sure 4 "$second")"
check 'a version that nobody else named, but that is past' printed '"rule":"version_taken"'
echo "{\"kind\":\"UpdateClaimConfidence\",\"payload\":$(sure 4 "$second")}" >"$work/stale"
run --json append --batch <"$work/stale"
check 'the same in a batch' printed '"line":1,"rule":"version_taken"'

{
    echo '{"kind":"CreateClaim","payload":{"text":"t"},"ref":true}'
    echo '{"kind":"CreateClaim","payload":[],"ref":false}'
    echo '{"kind":["x"],"payload":{"text":"t"},"ref":null}'
    echo '{"kind":"CreateClaim","payload":{},"deps":[7],"ref":1.5}'
    echo '{"kind":"CreateClaim","payload":{},"deps":[7]}'
    echo '{"kind":"CreateClaim","payload":{"a":"\u0000"}}'
} >"$work/refs"
run --json append --batch <"$work/refs"
check 'a ref that is true' same "$(sed -n 1p "$work/out" | grep -c '"ok":true.*"ref":true}')" 1
check 'a ref that is false' same "$(answer 2)" 'bad_payload 2 false'
check 'a kind that is no text' same "$(answer 3)" 'bad_json 3 null'
check 'and its field is named' printed 'The kind (\"kind\") must be'
check 'a ref that is a fraction' same "$(answer 4)" 'bad_json 4 null'
check 'a dep that is no text' same "$(answer 5)" 'bad_json 5 null'
check 'and its field is named too' printed '(\"deps\") must be a text'
check 'a zero in a text' printed 'Texts cannot hold U+0000.'

# A batch that stays open: answers come at once, readers work, and others write in between.
mkfifo "$work/fifo"
"$MESHLOG" append --batch <"$work/fifo" >"$work/answers" 2>"$work/batch-err" &
batch=$!
exec 9>"$work/fifo"
claims 3 >&9
check 'answers come while the input is open' wait_for 10 lines_in "$work/answers" 3
run --json show "$(sed -n 3p "$work/answers")"
check 'a reader beside the writer sees it' printed '"text":"claim 3"'
run --json log --limit 3
check 'log beside the writer' same "$(wc -l <"$work/out")" 3
run verify
check 'verify beside the writer' ended 0
run --json append CreateClaim --payload '{"text":"t"}'
check 'a second writer' ended 0
between=$(field id)
claims 1 >&9
check 'and the batch goes on' wait_for 10 lines_in "$work/answers" 4
run --json show "$(sed -n 4p "$work/answers")"
check 'after what the other wrote' printed "\"prev\":[\"$("$MESHLOG" --json show "$between" | sed -n 's/.*"hash":"\([0-9a-f]*\)".*/\1/p')\"]"

# Ctrl-C ends it after the current group.
kill -INT "$batch"
wait "$batch"
check 'SIGINT: exit 130' same "$?" 130
exec 9>&-
while read -r id; do
    run show "$id"
    check "$id is there" ended 0
done <"$work/answers"
"$MESHLOG" append --batch <"$work/fifo" >"$work/answers" 2>&1 &
batch=$!
exec 9>"$work/fifo"
claims 1 >&9
check 'answer before SIGTERM' wait_for 10 lines_in "$work/answers" 1
kill -TERM "$batch"
wait "$batch"
check 'SIGTERM: exit 143' same "$?" 143
exec 9>&-
"$MESHLOG" append --batch <"$work/fifo" >"$work/answers" 2>&1 &
batch=$!
exec 9>"$work/fifo"
claims 1 >&9
check 'answer before SIGHUP' wait_for 10 lines_in "$work/answers" 1
if (((0x$(awk '/^SigIgn:/ { print $2 }' "/proc/$batch/status") & 1) == 0)); then
    kill -HUP "$batch"
    wait "$batch"
    check 'SIGHUP: exit 129' same "$?" 129
    exec 9>&-
else
    exec 9>&-
    wait "$batch"
    skip_test 'SIGHUP is ignored here'
fi

# Ctrl-C while lines pour in: what was printed is there, nothing is torn.
(while claims 500 2>/dev/null; do :; done) >"$work/fifo" &
"$MESHLOG" append --batch <"$work/fifo" >"$work/answers" 2>"$work/err" &
batch=$!
wait_for 10 lines_in "$work/answers" 500
kill -INT "$batch"
wait "$batch"
check 'SIGINT in the middle: exit 130' same "$?" 130
check 'whole lines only' same "$(grep -vcE '^[0-9A-Z]{26}$' "$work/answers")" 0
run --json log
sed -n 's/^{"id":"\([0-9A-Z]*\)".*/\1/p' "$work/out" | sort >"$work/there"
check 'every printed id is there' same "$(sort "$work/answers" | comm -23 - "$work/there")" ''
run verify
check 'the store is whole' ended 0

# follow
"$MESHLOG" --json log --follow --limit 2 >"$work/followed" 2>"$work/follow-err" &
follow=$!
check 'follow shows what is there' wait_for 10 lines_in "$work/followed" 2
id=$("$MESHLOG" append CreateEntity --payload '{"name":"new"}')
check 'follow shows what arrives' wait_for 10 grep -q "$id" "$work/followed"
claims 50 | "$MESHLOG" append --batch >"$work/more"
check 'follow shows a batch' wait_for 10 lines_in "$work/followed" 53
kill -INT "$follow"
wait "$follow"
check 'SIGINT ends follow with 0' same "$?" 0
check 'each op once' same "$(sort "$work/followed" | uniq -d | wc -l)" 0
"$MESHLOG" log --follow --kind CreateEntity | head -n 1 >"$work/out"
check 'follow ends when nobody listens' same "$(wc -l <"$work/out")" 1
# What another process has written meanwhile counts at once: here, that the node was revoked.
run --json --store "$work/revoked" init
self=$(field node)
"$MESHLOG" --json --store "$work/revoked" append --batch <"$work/fifo" >"$work/answers" 2>&1 &
batch=$!
exec 9>"$work/fifo"
claims 1 >&9
check 'a batch of a node' wait_for 10 lines_in "$work/answers" 1
run --store "$work/revoked" revoke "$self" --as root
check 'that is revoked meanwhile' ended 0
claims 1 >&9
check 'is refused at once' wait_for 10 lines_in "$work/answers" 2
check 'by its reason' same "$(sed -n 2p "$work/answers" | cut -c 1-31)" '{"ok":false,"error":"revoked","'
exec 9>&-
wait "$batch"

totals
