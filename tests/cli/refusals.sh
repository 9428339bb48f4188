#!/usr/bin/env bash
# refusals.sh - disks, files and stores that are not as they should be: one clear sentence,
# nothing lost.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

refused 'no store' 1 no_store 'init' log
for command in 'show 012345' frontier verify 'append CreateClaim --payload {"text":"t"}' 'append --batch'; do
    # shellcheck disable=SC2086
    refused "no store: $command" 1 no_store "$MESHLOG_STORE" $command
done

run init
id=$("$MESHLOG" append CreateClaim --payload '{"text":"kept"}')

# keys
chmod 644 "$MESHLOG_STORE/node.key"
refused 'a key that others can read' 1 key_permissions 'chmod 600' append CreateClaim --payload '{"text":"t"}'
chmod 600 "$MESHLOG_STORE/node.key"
mv "$MESHLOG_STORE/node.key" "$work/key"
refused 'no key' 1 key_missing 'node.key is missing' append CreateClaim --payload '{"text":"t"}'
ln -s "$work/key" "$MESHLOG_STORE/node.key"
refused 'a key that is a link' 1 key_permissions 'node.key' append CreateClaim --payload '{"text":"t"}'
rm "$MESHLOG_STORE/node.key"
"$MESHLOG" --store "$work/other" init >/dev/null
cp -p "$work/other/node.key" "$MESHLOG_STORE/node.key"
refused 'the key of another store' 1 key_missing "not this store's key" append CreateClaim --payload '{"text":"t"}'
rm "$MESHLOG_STORE/node.key"
printf 'this is no key' >"$MESHLOG_STORE/node.key"
chmod 600 "$MESHLOG_STORE/node.key"
refused 'a key file that is none' 1 key_missing 'node.key' append CreateClaim --payload '{"text":"t"}'
run log
check 'reading needs no key' ended 0
mv "$work/key" "$MESHLOG_STORE/node.key"
run append CreateClaim --payload '{"text":"t"}'
check 'with the key it goes on' ended 0

# a full disk: no file may grow
claims 40000 >"$work/lines"
kib=$(($(stat -c %s "$MESHLOG_STORE/data.mdb") / 1024 + 8000))
(ulimit -f "$kib" && "$MESHLOG" append --batch <"$work/lines" >"$work/out" 2>"$work/err")
code=$? out='' err=$(cat "$work/err")
check 'full disk: exit 1' ended 1
check 'full disk: says so' complained 'The disk is full'
check 'full disk: says what was stored' complained 'on nothing was acknowledged'
printed_ids=$(wc -l <"$work/out")
run --json log
check 'full disk: what was printed is there' test "$(wc -l <"$work/out")" -ge "$printed_ids"
check 'full disk: something was refused' test "$printed_ids" -lt 40000
check 'full disk: something was taken' test "$printed_ids" -gt 0
run verify
check 'full disk: the store is whole' ended 0
run append CreateClaim --payload '{"text":"t"}'
check 'full disk: with room it goes on' ended 0
(ulimit -f 4 && "$MESHLOG" --json --store "$work/full" init >"$work/out" 2>"$work/err")
code=$? out=$(cat "$work/out") err=$(cat "$work/err")
check 'full disk: init says so' json_failure disk_full
check 'full disk: init leaves nothing' same "$(find "$work" -maxdepth 1 -name 'full*')" ''

# output that cannot be written
if [ -w /dev/full ]; then
    "$MESHLOG" log >/dev/full 2>"$work/err"
    code=$? out=''
    check 'full output: exit 1' ended 1
    check 'full output: says so' complained 'No space left'
    "$MESHLOG" append CreateClaim --payload '{"text":"t"}' >/dev/full 2>"$work/err"
    code=$? out='' err=$(cat "$work/err")
    check 'full output of append: exit 1' ended 1
    stored=$(sed -n 's/.*The op is stored all the same: \([0-9A-Z]*\)\.$/\1/p' "$work/err")
    run show "$stored"
    check 'full output of append: names the op' ended 0
    claims 3 | "$MESHLOG" --json append --batch >/dev/full 2>"$work/err"
    code=$? out='' err=$(cat "$work/err")
    check 'full output of a batch: exit 1' ended 1
    check 'full output of a batch: how many' complained '3 ops are stored'
    read -r first last < <(sed -n 's/.* reported: \([0-9A-Z]*\) to \([0-9A-Z]*\)\.$/\1 \2/p' "$work/err")
    run --json show "$first"
    check 'full output of a batch: the first' printed '"text":"claim 1"'
    run --json show "$last"
    check 'full output of a batch: the last' printed '"text":"claim 3"'
else
    skip_test 'there is no /dev/full'
fi
{
    sleep 0.3 # Until nobody listens.
    "$MESHLOG" log 2>"$work/err"
    echo "$?" >"$work/code"
} | true
check 'closed pipe: exit 1' same "$(cat "$work/code")" 1
check 'closed pipe: not a word' test ! -s "$work/err"
{
    sleep 0.3
    "$MESHLOG" append --batch <"$work/lines" 2>"$work/err"
    echo "$?" >"$work/code"
} | true
check 'closed pipe of a batch: exit 1' same "$(cat "$work/code")" 1
check 'closed pipe of a batch: says what is stored' grep -qE \
    'Broken pipe\. [0-9,]+ ops are stored that were not all reported' "$work/err"
run verify
check 'closed pipe of a batch: the store is whole' ended 0

# standard files that are closed: no file of the store may take their place
"$MESHLOG" append CreateClaim --payload '{"text":"t"}' >&- 2>"$work/err"
code=$? out=''
check 'closed output: exit 1' ended 1
check 'closed output: says so' complained 'The output cannot be written'
check 'closed output: the op is stored' complained 'The op is stored all the same: '
"$MESHLOG" append CreateClaim --payload '{"text":"t"}' <&- >&- 2>&-
check 'closed everything: exit 1' same "$?" 1
"$MESHLOG" append --batch <&- >"$work/out" 2>"$work/err"
code=$? out=''
check 'closed input: says so' complained 'cannot be read'
run verify
check 'closed files: the store is whole' ended 0

# a store of a newer program: its version and the check of its row stand after the word schema
cp -r "$MESHLOG_STORE" "$work/newer"
while IFS=: read -r at _; do
    printf '\0\0\0\5\x32\x09\xa0\x64' | dd of="$work/newer/data.mdb" bs=1 seek=$((at + 6)) conv=notrunc status=none
done < <(grep -abo schema "$work/newer/data.mdb")
refused 'newer schema' 1 newer_schema 'update meshlog' --store "$work/newer" log
refused 'newer schema, writing' 1 newer_schema 'update meshlog' --store "$work/newer" append \
    CreateClaim --payload '{}'

# damaged files
mkdir "$work/garbage"
head -c 100000 /dev/urandom >"$work/garbage/data.mdb"
refused 'garbage' 1 corrupt 'is not that of a meshlog store' --store "$work/garbage" verify
check 'verify does not send to verify' bash -c "! grep -q 'meshlog verify' '$work/out'"
mkdir "$work/lost"
cp -p "$MESHLOG_STORE/node.key" "$work/lost"
refused 'keys without data' 1 no_store 'restore it from a backup' --store "$work/lost" log
refused 'keys without data: init' 1 exists 'restore it from a backup' --store "$work/lost" init
mkdir "$work/tiny"
echo hello >"$work/tiny/data.mdb"
refused 'a tiny file' 1 corrupt 'is not that of a meshlog store' --store "$work/tiny" log
cp -r "$MESHLOG_STORE" "$work/short"
truncate -s $(($(stat -c %s "$work/short/data.mdb") / 2)) "$work/short/data.mdb"
mkdir "$work/text"
head -c 20000 < <(yes 'Dear diary, today I made no store.') >"$work/text/data.mdb"
refused 'a text' 1 corrupt 'is not that of a meshlog store' --store "$work/text" log
cp -r "$MESHLOG_STORE" "$work/headless"
head -c 4096 /dev/zero | dd of="$work/headless/data.mdb" conv=notrunc status=none
refused 'no first page' 1 corrupt 'is damaged' --store "$work/headless" log
refused 'a file cut short' 1 corrupt 'is damaged' --store "$work/short" log
refused 'a file cut short, writing' 1 corrupt 'is damaged' --store "$work/short" append CreateClaim \
    --payload '{}'

# a changed byte in a payload: verify names the op
"$MESHLOG" --store "$work/bent" init >/dev/null
bent=$("$MESHLOG" --store "$work/bent" append CreateClaim --payload '{"text":"findthisword"}')
while IFS=: read -r at _; do
    printf 'F' | dd of="$work/bent/data.mdb" bs=1 seek="$at" conv=notrunc status=none
done < <(grep -abo findthisword "$work/bent/data.mdb")
run --json --store "$work/bent" verify
check 'damage: exit 1' ended 1
check 'damage: fields' has_fields ok error ops authors damaged author seq id hash problem
check 'damage: not ok' printed '{"ok":false,"error":"corrupt"'
check 'damage: one line' same "$(wc -l <"$work/out")" 1
check 'damage: names the op' printed "\"id\":\"$bent\""
check 'damage: names the problem' printed '"problem":"unreadable"'
run --store "$work/bent" verify
check 'damage for people: exit 1' ended 1
check 'damage for people' printed "unreadable  op $bent"

# folders that may not be written to
if become_other; then
    locked=$other_home/locked
    as_other mkdir "$locked" && as_other chmod 500 "$locked"
    run_other --json --store "$locked/store" init
    check 'read-only folder: init' json_failure read_only
    run_other --store "$other_home/mine" init
    as_other chmod 000 "$other_home/mine/node.key"
    run_other --store "$other_home/mine" append CreateClaim --payload '{"text":"t"}'
    check 'a key that may not be read' complained 'You may not read'
    as_other chmod 600 "$other_home/mine/node.key"
    as_other chmod 400 "$other_home/mine/LOCK" "$other_home/mine/data.mdb"
    run_other --json --store "$other_home/mine" append CreateClaim --payload '{"text":"t"}'
    check 'read-only store: append' json_failure read_only
    run_other --store "$other_home/mine" log
    check 'read-only store: log works' printed DelegateUcan
else
    skip_test 'there is no other user to be'
fi
run show "$id"
check 'the first op is still there' ended 0
totals
