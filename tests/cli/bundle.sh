#!/usr/bin/env bash
# bundle.sh - export and import: whole, through pipes, again, and from files that are wrong.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

other="$work/other"
on_other() { MESHLOG_STORE=$other run "$@"; }
log_of() { "$MESHLOG" --store "$1" --json frontier | sed -n 's/.*"log":"\([0-9a-f]*\)".*/\1/p'; }
refused 'no store' 1 no_store 'init' export "$work/none"

run --json init
mesh=$(field mesh)
node=$(field node)
claims 3000 | "$MESHLOG" append --batch >/dev/null
MESHLOG_STORE=$other run init --mesh "$mesh"

# there and back
bundle="$work/a.bundle"
run --json export "$bundle"
check 'export' ended 0
check 'export: fields' has_fields ok file ops bytes
check 'export: ops' same "$(field ops)" 3001
check 'export: bytes' same "$(field bytes)" "$(stat -c %s "$bundle")"
check 'export: only for us' same "$(stat -c %a "$bundle")" 600
check 'export: nothing beside it' same "$(find "$work" -name 'a.bundle*' | wc -l)" 1
refused 'a file that is there' 1 exists 'a.bundle is there already' export "$bundle"
on_other --json import "$bundle"
check 'a store not yet admitted imports' ended 0
check 'import: fields' has_fields ok ops appended duplicate parked rejected reasons repaired own
check 'import: appended' same "$(field ops) $(field appended) $(field duplicate) $(field own)" '3001 3001 0 0'
check 'equal logs' same "$(log_of "$other")" "$(log_of "$MESHLOG_STORE")"
on_other --json import "$bundle"
check 'again' same "$(field appended) $(field duplicate) $(field rejected)" '0 3001 0'
on_other import "$bundle"
check 'again, for people' same "$out$err" '3,001 ops read: 0 new, 3,001 here already.'
on_other export "$work/b.bundle"
check 'for people' printed "3,001 ops exported to $work/b.bundle ($(grouped "$(stat -c %s "$bundle")") bytes)."
check 'the same bytes' cmp "$bundle" "$work/b.bundle"
on_other verify
check 'verify' ended 0

run --json export "$work/"$'\xff.bundle'
check 'a name that is no text' ended 0
check 'a name that is no text: shown' printed '\\xff.bundle"'

# one author
run --json export "$work/mine" --author "$node"
check 'one author' same "$(field ops)" 3001
refused 'an author without ops' 1 unknown_author 'frontier' export "$work/none" --author "$mesh"
refused 'no author' 2 usage 'is no node' export "$work/none" --author somebody
check 'nothing is left of them' test ! -e "$work/none"

# pipes: the bundle alone on stdout
"$MESHLOG" --json export - >"$work/out" 2>"$work/err"
check 'to stdout' same "$?" 0
check 'to stdout: the bundle' cmp "$bundle" "$work/out"
check 'to stdout: the answer on stderr' same "$(cat "$work/err")" "{\"ok\":true,\"file\":\"-\",\"ops\":3001,\"bytes\":$(stat -c %s "$bundle")}"
"$MESHLOG" export /dev/stdout 2>/dev/null | cmp - "$bundle"
check 'to /dev/stdout' same "${PIPESTATUS[1]}" 0
mkfifo "$work/fifo"
cat "$work/fifo" >"$work/from-fifo" &
run export "$work/fifo"
wait $!
check 'into a fifo' cmp "$bundle" "$work/from-fifo"
MESHLOG_STORE=$work/third run init --mesh "$mesh"
"$MESHLOG" export - 2>/dev/null | "$MESHLOG" --store "$work/third" --json import - >"$work/out"
check 'from store to store' same "$(field appended)" 3001
if command -v script >/dev/null; then
    script -qec "'$MESHLOG' export -" /dev/null >"$work/out" 2>&1 </dev/null
    check 'not to a terminal' same "$?" 2
    check 'not to a terminal: says so' grep -q 'no text for a terminal' "$work/out"
    script -qec "stty cols 100; '$MESHLOG' --store '$work/third' import '$bundle'" /dev/null >"$work/out" 2>&1 </dev/null
    check 'a bar on a terminal' grep -q 'Importing  \[#*-*\]  [ 0-9]* %  [0-9,]* of 3,001 ops' "$work/out"
fi
"$MESHLOG" export - >/dev/null 2>"$work/err"
check 'no bar elsewhere' bash -c "! grep -q '\[' '$work/err'"

# what is no bundle, or not a good one: one sentence, exit 1, nothing changes
whole=$(stat -c %s "$bundle")
before=$(log_of "$other")
printf 'Dear diary, today I made a bundle.\n' >"$work/text"
: >"$work/empty"
refused 'a text' 1 not_a_bundle 'is no bundle' import "$work/text"
refused 'an empty file' 1 not_a_bundle 'is empty' import "$work/empty"
refused 'a missing file' 1 io 'No such file' import "$work/missing"
refused 'a folder' 1 io 'Is a directory' import "$work"
refused 'no input' 1 not_a_bundle 'The standard input is empty' import -
refused 'no name' 2 usage 'one more argument' import
{
    head -c 15 "$bundle"
    printf '\007'
    tail -c +17 "$bundle"
} >"$work/newer"
refused 'a newer version' 1 newer_schema 'version 7' import "$work/newer"
"$MESHLOG" --store "$work/foreign" init >/dev/null
"$MESHLOG" --store "$work/foreign" export "$work/foreign.bundle" >/dev/null
refused 'another mesh' 1 wrong_mesh "$mesh" import "$work/foreign.bundle"
check 'all this changed nothing' same "$(log_of "$other")" "$before"

# a fault in the middle: what came before is kept and counted
# faulty WHAT CODE TEXT FILE: import it into a new store.
faulty() {
    local what=$1 error=$2 text=$3 file=$4 kept
    rm -rf "$work/new"
    "$MESHLOG" --store "$work/new" init --mesh "$mesh" >/dev/null
    MESHLOG_STORE=$work/new run --json import "$file"
    check "$what: exit 1" ended 1
    check "$what: $error" json_failure "$error"
    kept=$(field appended)
    check "$what: some are kept" test "$kept" -gt 0 -a "$kept" -lt 3001
    check "$what: as counted" same "$("$MESHLOG" --store "$work/new" --json verify)" \
        "{\"ok\":true,\"ops\":$kept,\"authors\":1,\"blobs\":0,\"damaged_total\":0,\"damaged\":[]}"
    MESHLOG_STORE=$work/new run import "$file"
    check "$what: one sentence" same "$(wc -l <"$work/err")" 1
    check "$what: says '$text'" complained "$text"
    check "$what: says that it is known" complained '(all before that was here already)'
    rm -rf "$work/fresh"
    "$MESHLOG" --store "$work/fresh" init --mesh "$mesh" >/dev/null
    MESHLOG_STORE=$work/fresh run import "$file"
    check "$what: says what is kept" complained "(the $(grouped "$kept") new ops before that are kept)"
    MESHLOG_STORE=$work/new run --json import "$bundle"
    check "$what: the whole file adds the rest" same "$(field appended) $(field duplicate)" "$((3001 - kept)) $kept"
}
# byte N of the file, as a number; and the frames: lengths from the 72nd byte on.
frame() {
    local at=72 i
    for ((i = 0; i < $1; i++)); do
        at=$((at + 20 + 0x$(od -An -tx1 -j "$at" -N 4 "$bundle" | tr -d ' ')))
    done
    echo "$at"
}
head -c $((whole / 2)) "$bundle" >"$work/cut"
faulty 'cut in the middle' truncated "is cut off at byte $((whole / 2))" "$work/cut"
at=$(frame 5)
byte=$(od -An -tu1 -j $((at + 100)) -N 1 "$bundle")
{
    head -c $((at + 100)) "$bundle"
    printf '%b' "\\x$(printf %x $(((byte + 1) % 256)))"
    tail -c +$((at + 102)) "$bundle"
} >"$work/changed"
check 'one byte was changed' same "$(cmp -l "$bundle" "$work/changed" | wc -l)" 1
faulty 'one byte changed' malformed "is damaged at byte $at" "$work/changed"
{
    head -c "$at" "$bundle"
    tail -c +$(($(frame 6) + 1)) "$bundle" | head -c $(($(frame 7) - $(frame 6)))
    tail -c +$((at + 1)) "$bundle" | head -c $(($(frame 6) - at))
    tail -c +$(($(frame 7) + 1)) "$bundle"
} >"$work/order"
check 'segments in another order' same "$(stat -c %s "$work/order")" "$whole"
faulty 'wrong order' malformed "at byte $at" "$work/order"
{
    head -c "$(frame 6)" "$bundle"
    tail -c +$((at + 1)) "$bundle"
} >"$work/twice"
faulty 'a segment repeated' malformed "at byte $(frame 6)" "$work/twice"
{
    cat "$bundle"
    echo more
} >"$work/more"
MESHLOG_STORE=$work/third run --json import "$work/more"
check 'more after the end' json_failure trailing
check 'more after the end: all is here' same "$(field duplicate)" 3001
head -c 100 "$bundle" >"$work/head"
on_other import "$work/head"
check 'nothing whole: says so' complained '(nothing of it was taken)'

# a store that was set back knows its own ops again, and goes on
cp -r "$MESHLOG_STORE" "$work/old"
claims 300 | "$MESHLOG" append --batch >/dev/null
run --json export "$work/newer.bundle"
MESHLOG_STORE=$work/old run append CreateClaim --payload '{"text":"went on"}'
MESHLOG_STORE=$work/old run --json import "$work/newer.bundle"
check 'set back: its own ops' same "$(field own) $(field appended)" '300 300'
MESHLOG_STORE=$work/old run append CreateClaim --payload '{"text":"joins"}'
MESHLOG_STORE=$work/old run --json frontier
check 'set back: the next op joins' same "$(grep -o '"seq"' "$work/out" | wc -l)" 1
check 'set back: nothing is lost' same "$(field ops)" 3303

# Ctrl-C: whole segments stay, and it says how far it came
rm -rf "$work/new"
"$MESHLOG" --store "$work/new" init --mesh "$mesh" >/dev/null
rm "$work/fifo"
mkfifo "$work/fifo"
# Not in the background of a shell that ignores it there.
env --default-signal=INT "$MESHLOG" --store "$work/new" --json import "$work/fifo" >"$work/out" 2>"$work/err" &
pid=$!
exec 9>"$work/fifo"
head -c $((whole / 2)) "$bundle" >&9
sleep 0.3
kill -INT "$pid"
wait "$pid"
code=$?
exec 9>&-
out=$(cat "$work/out") err=$(cat "$work/err")
check 'stopped: exit 130' ended 130
check 'stopped: says so' json_failure stopped
check 'stopped: what it took is there' same "$(field appended)" \
    "$("$MESHLOG" --store "$work/new" --json frontier | sed -n 's/.*"ops":\([0-9]*\),"log".*/\1/p')"
check 'stopped: that is something' test "$(field appended)" -gt 0

# output that cannot be written
run export "$work/no/such/folder"
check 'no folder: one sentence' one_sentence
(ulimit -f 64 && "$MESHLOG" export "$work/too-large" >"$work/out" 2>"$work/err")
code=$? out='' err=$(cat "$work/err")
check 'full disk: exit 1' ended 1
check 'full disk: one sentence' one_sentence
check 'full disk: nothing is left' same "$(find "$work" -name 'too-large*')" ''
rm -rf "$work/new"
"$MESHLOG" --store "$work/new" init --mesh "$mesh" >/dev/null
(ulimit -f 100 && "$MESHLOG" --store "$work/new" import "$bundle" >"$work/out" 2>"$work/err")
check 'import to a full disk: one sentence' same "$(wc -l <"$work/err")" 1
check 'import to a full disk: says what was taken' complained "Import of $bundle: nothing of it was taken."
"$MESHLOG" export - 2>"$work/err" | head -c 1 >/dev/null
check 'a closed pipe: one sentence' same "$(wc -l <"$work/err")" 1

totals
