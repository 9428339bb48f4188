#!/usr/bin/env bash
# repair.sh - a damaged store is built anew, from what is left of it and from bundles.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

data=$MESHLOG_STORE/data.mdb
log_hash() { "$MESHLOG" --json frontier | sed -n 's/.*"log":"\([0-9a-f]*\)".*/\1/p'; }
kept() { find "$MESHLOG_STORE" -name 'data.mdb.damaged-*'; }
left_over() { find "$work" -name '*.new-*'; }
files() { ls -A --ignore=lock.mdb "$MESHLOG_STORE"; }
keys() { (cd "$MESHLOG_STORE" && sha256sum ./*.key); }

# flip OFFSET: change one byte of the data file.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$1" -N 1 "$data")
    printf '%b' "\\x$(printf %x $((byte ^ 1)))" | dd of="$data" bs=1 seek="$1" conv=notrunc status=none
}

# flip_text TEXT: change it wherever it stands; copies may be left in places that are not in use.
flip_text() {
    local at
    while IFS=: read -r at _; do flip "$at"; done < <(grep -abo "$1" "$data")
}

# zero PAGE: nothing is left of one page.
zero() { dd if=/dev/zero of="$data" bs=4096 seek="$1" count=1 conv=notrunc status=none; }

# number_at PAGE OFFSET: two bytes of a page.
number_at() { od -An -tu2 -j $(($1 * 4096 + $2)) -N 2 "$data" | tr -d ' '; }

# set_back: the store as it was before it was damaged.
set_back() {
    rm -rf "$MESHLOG_STORE"
    cp -r "$work/good" "$MESHLOG_STORE"
}

# clean WHAT: the store verifies, its keys are as they were, nothing lies about.
clean() {
    run verify
    check "$1: verifies" ended 0
    check "$1: the keys are as they were" same "$(keys)" "$keys"
    check "$1: nothing is left over" same "$(left_over)" ''
}

refused 'repair without a store' 1 no_store 'init' repair
run --json init --name laptop
mesh=$(field mesh) node=$(field node)
claims 3000 | "$MESHLOG" append --batch >"$work/ids"
run export "$work/bundle"
cp -r "$MESHLOG_STORE" "$work/good"
whole=$(log_hash)
keys=$(keys)

# A store that is whole is left alone
before=$(sha256sum "$data")
run --json repair
check 'whole: exit 0' ended 0
check 'whole: fields' has_fields ok ops salvaged imported parked lost lost_known own_lost missing kept_as bytes
check 'whole: nothing to do' printed '"ops":3001,"salvaged":0,"imported":0,"parked":0,"lost":0,"lost_known":true'
check 'whole: nothing is kept' printed '"kept_as":null'
run repair "$work/bundle"
check 'whole: people are told' printed 'the store is whole, there is nothing to repair'
check 'whole: as it was' same "$(sha256sum "$data")" "$before"

# One bit of each kind of page: verify sends to repair, and without any bundle nothing is lost
pages=$(($(stat -c %s "$data") / 4096)) branch='' leaf=''
# in_use PAGE: not a free one.
in_use() {
    set_back
    flip $(($1 * 4096 + 12))
    ! "$MESHLOG" verify >/dev/null 2>&1
}
# A leaf with many rows: not the one that names the databases, for there the counts are lost.
for ((page = 2; page < pages; page++)); do
    case $(number_at "$page" 10) in
    1) [ -n "$branch" ] || ! in_use "$page" || branch=$page ;;
    2) [ -n "$leaf" ] || [ "$(number_at "$page" 12)" -lt 100 ] || ! in_use "$page" || leaf=$page ;;
    esac
    set_back
done
check 'there are pages to damage' test -n "$branch" -a -n "$leaf"
for page in "$branch" "$leaf"; do
    for at in 12 16; do
        set_back
        flip $((page * 4096 + at))
        "$MESHLOG" verify >"$work/out" 2>&1
        check "page $page at $at: verify sends to repair" printed 'meshlog repair'
        run --json repair
        check "page $page at $at: repaired" ended 0
        check "page $page at $at: nothing lost" printed '"salvaged":3001,"imported":0,"parked":0,"lost":0,"lost_known":true'
        check "page $page at $at: the same log" same "$(log_hash)" "$whole"
        check "page $page at $at: it says where the damaged file is" printed "\"kept_as\":\"$(kept)\""
        clean "page $page at $at"
    done
done
check 'the damaged file is kept' same "$(kept | wc -l)" 1
check 'the damaged file is ours alone' same "$(stat -c %a "$(kept)")" 600
check 'the new file is ours alone' same "$(stat -c %a "$data")" 600
run append CreateClaim --payload '{"text":"goes on"}'
check 'repaired: goes on' ended 0
run --json frontier
check 'repaired: the mesh is the same' printed "$mesh"

# A row of the log: its op, and what follows it, is lost until a bundle has it
lose_op() {
    set_back
    flip_text 'claim 1500'
}
lose_op
run --json repair
check 'lost op: repaired' ended 0
lost=$(field lost)
check 'lost op: counted' same "$(field ops)" $((3001 - lost))
check 'lost op: some are lost' test "$lost" -ge 1500 -a "$lost" -lt 2000
check 'lost op: named' printed "\"missing\":[{\"author\":\"$node\",\"first_seq\":$((3002 - lost)),\"last_seq\":3001}]"
check 'lost op: all of them our own' same "$(field own_lost)" "$lost"
clean 'lost op'
run --json import "$work/bundle"
check 'lost op: a bundle brings them back' same "$(field own)" "$lost"
check 'lost op: the same log' same "$(log_hash)" "$whole"
lose_op
run repair
check 'lost op: people are told' printed "$(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<<"$lost") ops lost."
check 'lost op: by number' printed "numbers $((3002 - lost)) to 3001 of $node"
check 'lost op: and what to do' printed 'meshlog import'
check 'lost op: and that its own are among them' printed 'the next append joins them'
check 'lost op: and of erased bytes' printed 'what was erased may be in it'
lose_op
run append CreateClaim --payload '{"text":"before"}'
run --json repair "$work/bundle"
check 'lost op with a bundle' printed '"lost":0,"lost_known":true'
check 'lost op with a bundle: counted' same "$(($(field salvaged) + $(field imported)))" "$(field ops)"
clean 'lost op with a bundle'

# Facts: mesh and node come from what else there is
set_back
for ((page = 2; page < pages; page++)); do
    dd if="$data" bs=4096 skip="$page" count=1 status=none | grep -qa 'schema' && zero "$page"
done
run --json repair
check 'facts: repaired without a bundle' ended 0
check 'facts: nothing lost' same "$(field ops) $(field lost)" '3001 0'
check 'facts: the same log' same "$(log_hash)" "$whole"
run append CreateClaim --payload '{"text":"as the same node"}'
check 'facts: the node is the same' ended 0
clean 'facts'

# Nothing is left of the file
for what in text empty short gone; do
    set_back
    case $what in
    text) echo 'Nothing to see here.' >"$data" ;;
    empty) : >"$data" ;;
    short) truncate -s 5000 "$data" ;;
    gone) rm "$data" ;;
    esac
    before=$(files)
    if [ $what = gone ]; then
        refused "$what: without a bundle" 1 no_store 'meshlog repair BUNDLE' repair
    else
        refused "$what: without a bundle" 1 corrupt 'a bundle that has its ops' repair
    fi
    check "$what: nothing was changed" same "$(files)" "$before"
    run --json repair "$work/bundle"
    check "$what: repaired" ended 0
    check "$what: from the bundle" same "$(field ops) $(field imported)" '3001 3001'
    check "$what: nobody knows what it had" printed '"lost_known":false'
    check "$what: the same log" same "$(log_hash)" "$whole"
    clean "$what"
    run append CreateClaim --payload '{"text":"goes on"}'
    check "$what: goes on" ended 0
done

# Bundles that will not do change nothing
damage() {
    set_back
    flip $((branch * 4096 + 12))
    flip_text 'claim 1500'
    before=$(sha256sum "$data")
}
unchanged() {
    check "$1: as it was" same "$(sha256sum "$data")" "$before"
    check "$1: nothing is left over" same "$(left_over)$(kept)" ''
}
damage
"$MESHLOG" --store "$work/other" init >/dev/null
"$MESHLOG" --store "$work/other" export "$work/foreign" >/dev/null
head -c 100000 "$work/bundle" >"$work/cut"
refused 'of another mesh' 1 wrong_mesh 'another mesh' repair "$work/foreign"
refused 'no bundle' 1 not_a_bundle 'is no bundle' repair "$work/ids"
refused 'cut off' 1 truncated 'nothing was changed' repair "$work/cut"
refused 'the second is cut off' 1 truncated 'cut is cut off' repair "$work/bundle" "$work/cut"
refused 'a file that is not there' 1 io 'No such file' repair "$work/none"
unchanged 'bad bundles'
(ulimit -f 64 && "$MESHLOG" --json repair "$work/bundle" >"$work/out" 2>"$work/err")
code=$? out=$(cat "$work/out") err=$(cat "$work/err")
check 'full disk: exit 1' ended 1
check 'full disk: says so' json_failure disk_full
unchanged 'full disk'
"$MESHLOG" --json repair - <"$work/bundle" >"$work/out"
check 'from standard input' same "$(log_hash)" "$whole"
clean 'from standard input'

# Several bundles, each with what the other lacks
run --json --store "$work/second" init --mesh "$mesh" --root "$work/good/root.key"
second=$(field node)
claims 200 | "$MESHLOG" --store "$work/second" append --batch >/dev/null
run --store "$work/second" export "$work/second.bundle"
damage
run --json repair "$work/bundle" "$work/second.bundle"
check 'two bundles' same "$(field ops)" 3202
run --json frontier
check 'two bundles: both authors' printed "$second"
clean 'two bundles'

# Somebody else is at work
set_back
"$MESHLOG" log --follow >/dev/null 2>&1 &
reader=$!
sleep 0.5
flip $((branch * 4096 + 12))
before=$(sha256sum "$data")
run --json repair
check 'beside a reader: exit 1' ended 1
check 'beside a reader: busy' json_failure busy
unchanged 'beside a reader'
kill "$reader"
wait "$reader" 2>/dev/null
run --json repair
check 'when it has ended: repaired' ended 0
check 'when it has ended: the same log' same "$(log_hash)" "$whole"

# Stopped at any time it is the old one or the new one
torn=0
trap - EXIT # A shell that is killed before it has become the program would clean up.
for ((i = 0; i < 15; i++)); do
    damage
    "$MESHLOG" repair "$work/bundle" >/dev/null 2>&1 &
    sleep "0.$((i / 10))$((i % 10))"
    kill -TERM $! 2>/dev/null
    wait $!
    if [ "$(sha256sum "$data")" != "$before" ] && [ "$(log_hash)" != "$whole" ]; then
        torn=$((torn + 1))
    fi
    [ -z "$(left_over)" ] || torn=$((torn + 1))
done 2>/dev/null
trap clean_up EXIT
check 'stopped: old or new, and nothing left over' same "$torn" 0

run help repair
check 'help tells what is kept' printed 'delete it when all is well'
check 'help has examples' printed 'meshlog repair monday.bundle'
run help import
check 'help import knows its limit' printed 'meshlog'
refused 'repair of a wrong name' 2 usage 'none' repair ''

totals
