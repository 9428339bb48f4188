#!/usr/bin/env bash
# backup.sh - backup beside a writer, restoring it, and folders that will not do.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

mode() { stat -c %a "$1"; }
log_hash() { "$MESHLOG" --json --store "$1" frontier | sed -n 's/.*"log":"\([0-9a-f]*\)".*/\1/p'; }
ops_in() { "$MESHLOG" --json --store "$1" frontier | sed -n 's/.*"mesh":"[^"]*","ops":\([0-9]*\).*/\1/p'; }
left_over() { find "$work" -name '*.new-*'; }

refused 'backup without a store' 1 no_store 'init' backup "$work/none"
run --json init
mesh=$(field mesh)
claims 3000 | "$MESHLOG" append --batch >"$work/ids"
refused 'backup without a folder' 2 usage 'one more argument' backup

# A backup
run --json backup "$work/backup"
check 'backup' ended 0
check 'backup fields' has_fields ok dir ops bytes
check 'backup tells where' printed "\"dir\":\"$work/backup\""
check 'backup counts the ops' same "$(field ops)" 3001
check 'backup counts the bytes' same "$(field bytes)" "$(stat -c %s "$work/backup/data.mdb")"
check 'no keys and no locks in it' same "$(ls "$work/backup")" data.mdb
check 'folder is ours alone' same "$(mode "$work/backup")" 700
check 'file is ours alone' same "$(mode "$work/backup/data.mdb")" 600
check 'nothing is left beside it' same "$(left_over)" ''
check 'the copy has the same ops' same "$(log_hash "$work/backup")" "$(log_hash "$MESHLOG_STORE")"
run --store "$work/backup" verify
check 'the copy verifies' ended 0
run --json --store "$work/backup" log --limit 2
check 'the copy can be read' same "$code$(wc -l <"$work/out")" 02
refused 'append to a backup' 1 key_missing 'if this is a backup' --store "$work/backup" append \
    CreateClaim --payload '{}'
run backup "$work/a//b/c/"
check 'backup makes the folders above' test -e "$work/a/b/c/data.mdb"
check 'and says for people how to go on' printed 'help backup'
check 'folders above are ours alone' same "$(mode "$work/a")" 700
mkdir "$work/empty" && chmod 755 "$work/empty"
run backup "$work/empty"
check 'backup into an empty folder' test -e "$work/empty/data.mdb"
check 'and makes it ours alone' same "$(mode "$work/empty")" 700
(cd "$work" && "$MESHLOG" backup relative >/dev/null)
check 'backup into a relative folder' test -e "$work/relative/data.mdb"
mkdir "$work/target" && ln -s target "$work/link"
run backup "$work/link"
check 'backup through a link' test -e "$work/target/data.mdb"
run backup "$work/link/../beside"
check 'backup beside what a link names' test -e "$work/beside/data.mdb"
run --json backup "$work/"$'\xff'
check 'a path that is no text' printed '/\\xff"'
run --json --store "$work/backup" backup "$work/again"
check 'a backup of a backup' same "$(log_hash "$work/again")" "$(log_hash "$MESHLOG_STORE")"

# Folders that will not do: one sentence, and nothing is made
before=$(ls -A "$work" "$MESHLOG_STORE")
refused 'a backup is there' 1 exists 'There is a store' backup "$work/backup"
refused 'a folder in use' 1 exists 'something else' backup "$work/a"
refused 'a file' 1 exists 'is no folder' backup "$work/ids"
refused 'below a file' 1 io "$work/ids" backup "$work/ids/x"
refused 'the store itself' 1 exists 'There is a store' backup "$MESHLOG_STORE"
refused 'inside the store' 1 exists 'inside the store' backup "$MESHLOG_STORE/backup"
refused 'deep inside the store' 1 exists 'inside the store' backup "$MESHLOG_STORE/x/y"
ln -s "$MESHLOG_STORE" "$work/alias"
refused 'inside the store through a link' 1 exists 'inside the store' backup "$work/alias/backup"
rm "$work/alias"
ln -s nowhere "$work/dangling"
refused 'a link to nowhere' 1 exists 'is no folder' backup "$work/dangling"
rm "$work/dangling"
refused 'a way that leads back' 1 io 'There is no way' backup "$work/gone/../x"
refused 'no name' 2 usage 'is empty' backup ''
refused 'a name too long' 2 usage 'too long' backup "$work/$(printf '%05000d' 0)"
mkdir "$work/here"
(cd "$work/here" && "$MESHLOG" backup . >"$work/out" 2>"$work/err")
code=$? out='' err=$(cat "$work/err")
check 'where we stand' complained 'You stand in'
rmdir "$work/here"
refused 'the root of a disk' 1 exists '/proc' backup /proc
check 'nothing was made' same "$(ls -A "$work" "$MESHLOG_STORE")" "$before"
check 'nothing is left after refusals' same "$(left_over)" ''

# A full disk, a disk that cannot be written to
(ulimit -f 64 && "$MESHLOG" --json backup "$work/x/full" >"$work/out" 2>"$work/err")
code=$? out=$(cat "$work/out") err=$(cat "$work/err")
check 'full disk: exit 1' ended 1
check 'full disk: says so' json_failure disk_full
check 'full disk: leaves nothing' same "$(find "$work" -maxdepth 1 -name 'x*')" ''
if become_other; then
    locked=$other_home/locked
    as_other mkdir "$locked" && as_other chmod 500 "$locked"
    run_other --store "$other_home/mine" init
    run_other --json --store "$other_home/mine" backup "$locked/x"
    check 'read-only folder: exit 1' ended 1
    check 'read-only folder: says so' json_failure read_only
    check 'read-only folder: names it' printed "$locked/x"
else
    skip_test 'nobody else to be'
fi

# Beside a writer: each copy is the log as it was at one moment
claims 60000 >"$work/lines"
"$MESHLOG" append --batch <"$work/lines" >"$work/acked" 2>/dev/null &
writer=$!
wait_for 20 lines_in "$work/acked" 2000
bad=0 made=0 beside=0
for ((i = 0; i < 8; i++)); do
    acked=$(wc -l <"$work/acked")
    run --json backup "$work/hot-$i"
    [ "$code" -eq 0 ] && [ "$(field ops)" -ge $((acked + 3001)) ] && made=$((made + 1))
    kill -0 "$writer" 2>/dev/null && beside=$((beside + 1))
    "$MESHLOG" --store "$work/hot-$i" verify >/dev/null || bad=$((bad + 1))
    rm -r "$work/hot-$i"
done
wait "$writer"
check 'beside a writer: what was printed before is in it' same "$made" 8
check 'beside a writer: every copy verifies' same "$bad" 0
check 'beside a writer: it was at work' test "$beside" -gt 0
run verify
check 'beside a writer: the store is whole' ended 0

# Ctrl-C removes what was begun
torn=0
for ((i = 0; i < 20; i++)); do
    "$MESHLOG" backup "$work/stopped-$i" >/dev/null 2>&1 &
    sleep "0.0$((i / 10))$((i % 10))"
    kill -TERM $! 2>/dev/null
    wait $!
    if [ -e "$work/stopped-$i" ] && ! "$MESHLOG" --store "$work/stopped-$i" verify >/dev/null; then
        torn=$((torn + 1))
    fi
done 2>/dev/null
check 'a backup is never half done' same "$torn" 0
check 'stopped, it leaves nothing' same "$(left_over)" ''
rm -rf "$work"/stopped-*

# Restoring: the store is as it was, and goes on
run append CreateClaim --payload '{"text":"lost"}'
lost=$out
all=$(ops_in "$MESHLOG_STORE")
run export "$work/bundle"
check 'a bundle of everything' ended 0
then=$(log_hash "$work/backup")
cp "$work/backup/data.mdb" "$MESHLOG_STORE/data.mdb"
check 'restored: as it was' same "$(log_hash "$MESHLOG_STORE")" "$then"
run verify
check 'restored: whole' ended 0
refused 'restored: what came later is not there' 1 unknown_id "$lost" show "$lost"
run append CreateClaim --payload '{"text":"after"}'
check 'restored: goes on' ended 0
run --json frontier
check 'restored: the mesh is the same' printed "$mesh"
check 'restored: one op more' same "$(ops_in "$MESHLOG_STORE")" 3002

# The lost ops come back from a bundle: a fork, which the next op joins
heads() { "$MESHLOG" --json frontier | grep -o '"seq":' | wc -l; }
run --json import "$work/bundle"
check 'lost ops: imported' ended 0
check 'lost ops: told as our own' same "$(field own)" $((all - 3001))
check 'lost ops: a fork' same "$(heads)" 2
run show "$lost"
check 'lost ops: back' ended 0
run append CreateClaim --payload '{"text":"joins"}'
check 'lost ops: joined' same "$(heads)" 1
check 'lost ops: none is missing' same "$(ops_in "$MESHLOG_STORE")" $((all + 2))
check 'lost ops: all apply' same "$("$MESHLOG" --json log | grep -vc '"verdict":"applied"')" 0
run verify
check 'lost ops: the store is whole' ended 0
cp "$work/backup/data.mdb" "$MESHLOG_STORE/data.mdb"
run import "$work/bundle"
check 'lost ops met first: people are told' printed 'own came back'
run append CreateClaim --payload '{"text":"goes on"}'
check 'lost ops met first: no fork' same "$(heads)" 1
run --store "$work/backup" export "$work/bundle2"
check 'a backup can be exported' ended 0

run help backup
check 'help tells how to restore' printed 'To restore'
check 'help tells of keys' printed 'node.key'
check 'help tells of erased bytes' printed 'older backups'

totals
