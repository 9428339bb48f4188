#!/usr/bin/env bash
# program.sh - the second reader and the program, on the same bundles: the same heads, ids and refusals.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/../cli/_lib.sh"

reader() { node tests/interop/read-bundle.mjs "$@" 2>&1; }
code_in() { sed -n 's/.*"error":"\([a-z_]*\)".*/\1/p' | tail -n 1; }
ids_of() { "$MESHLOG" --store "$1" --json log --limit 100000 | sed -n 's/^{"id":"\([^"]*\)".*/\1/p'; }

count_in() { "$MESHLOG" --store "$1" --json frontier | sed -n 's/.*"ops":\([0-9]*\),"log".*/\1/p'; }

# new_store MESH: an empty store in $work/new.
new_store() {
    rm -rf "$work/new"
    "$MESHLOG" --store "$work/new" init --mesh "$1" >/dev/null
}

# agree WHAT STORE: the reader finds in the store's bundle what the store shows.
agree() {
    local what=$1 store=$2
    rm -f "$work/bundle"
    run --store "$store" export "$work/bundle"
    check "$what: exported" ended 0
    check "$what: heads" same "$(reader "$work/bundle" --json)" "$("$MESHLOG" --store "$store" --json frontier)"
    check "$what: ids" same "$(reader "$work/bundle" --ids)" "$(ids_of "$store")"
}

# A store with a line, an erased op, a fork and a branch that is abandoned
run --json init
mesh=$(field mesh)
agree 'a new store' "$MESHLOG_STORE"
claims 700 | "$MESHLOG" append --batch >/dev/null
run --json append CreateClaim --payload '{"text":"Ada was born on 1815-12-10"}'
id=$(field id)
erase="{\"record\":\"$id\",\"ops\":[{\"id\":\"$id\",\"hash\":\"$(field hash)\"}]}"
run append Erase --payload "$erase"
run compact --final
run --json show "$id"
check 'there is a stub' printed '"payload_state":"redacted"'
agree 'a stub' "$MESHLOG_STORE"
cp "$work/bundle" "$work/line"

cp -r "$MESHLOG_STORE" "$work/copy"
claims 3 | "$MESHLOG" append --batch >/dev/null
claims 2 | "$MESHLOG" --store "$work/copy" append --batch >/dev/null
"$MESHLOG" export - 2>/dev/null | "$MESHLOG" --store "$work/copy" import - >/dev/null
run --json --store "$work/copy" frontier
check 'there is an open fork' same "$(grep -o '"seq"' "$work/out" | wc -l)" 2
agree 'a fork' "$work/copy"
"$MESHLOG" --store "$work/copy" append Abandon --payload '{}' >/dev/null
claims 4 | "$MESHLOG" append --batch >/dev/null
"$MESHLOG" append Erase --payload "$erase" >/dev/null
"$MESHLOG" export - 2>/dev/null | "$MESHLOG" --store "$work/copy" import - >/dev/null
run --json --store "$work/copy" frontier
check 'a branch is abandoned' same "$(grep -o '"abandoned":true' "$work/out" | wc -l)" 1
agree 'an abandoned branch, with a control op' "$work/copy"
cp "$work/bundle" "$work/fork"

# Several authors, from the known answers and from the cases that are hard to judge
# bundle_of VECTOR: the bundle of that name.
bundle_of() {
    printf '%b' "$(sed -n "s/.*\"why\":\"$1\".*\"bundle\":\"\\([0-9a-f]*\\)\".*/\\1/p" spec/vectors/bundles.json |
        sed 's/../\\x&/g')"
}
bundle_of 'two authors and a fork' >"$work/authors"
mesh_of() { reader "$1" --json | sed -n 's/.*"mesh":"\([^"]*\)".*/\1/p'; }
new_store "$(mesh_of "$work/authors")"
run --store "$work/new" import "$work/authors"
check 'two authors: imported' ended 0
agree 'two authors' "$work/new"

mkdir "$work/cases"
node tests/interop/_cases.mjs "$work/cases"
cases_mesh=$(mesh_of "$work/cases/0.bundle")
while read -r number error ops what; do
    new_store "$cases_mesh"
    run --store "$work/new" --json import "$work/cases/$number.bundle"
    [ "$error" = none ] && error=''
    check "$what" same "$(code_in <"$work/out") $(count_in "$work/new")" "$error $ops"
    case $what in
    'a join as'* | 'a second first op' | 'a bundle') agree "$what" "$work/new" ;;
    esac
done <"$work/cases/list"

# What is no good bundle: the same refusal
line=$work/line
size=$(stat -c %s "$line")
# at N: where frame N begins, counted from 0 (spec/bundle.md).
at() {
    local at=72 i
    for ((i = 0; i < $1; i++)); do
        at=$((at + 20 + 0x$(od -An -tx1 -j "$at" -N 4 "$line" | tr -d ' ')))
    done
    echo "$at"
}
# part FROM TO: these bytes of the bundle.
part() { head -c "$2" "$line" | tail -c +$(($1 + 1)); }
# changed AT: the bundle with one bit of one byte another.
changed() {
    part 0 "$1"
    printf '%b' "\\x$(printf %x $((0x$(part "$1" $(($1 + 1)) | od -An -tx1 | tr -d ' ') ^ 1)))"
    part $(($1 + 1)) "$size"
}
# refuse_alike WHAT CODE: what stands on the input is refused with this code by both.
refuse_alike() {
    cat >"$work/broken"
    new_store "$mesh"
    run --store "$work/new" --json import "$work/broken"
    check "$1: the program" same "$(code_in <"$work/out")" "$2"
    check "$1: the reader" same "$(reader "$work/broken" "--mesh=$mesh" | code_in)" "$2"
}
refuse_alike 'a text' not_a_bundle <<<'Dear diary, today I made a bundle.'
refuse_alike 'an empty file' not_a_bundle </dev/null
refuse_alike 'another mesh' wrong_mesh <"$work/authors"
refuse_alike 'a newer version' newer_schema < <(part 0 15 && printf '\007' && part 16 "$size")
refuse_alike 'the mesh changed' malformed < <(changed 20)
refuse_alike 'cut in the head' truncated < <(part 0 60)
refuse_alike 'cut in the middle' truncated < <(part 0 $((size / 2)))
refuse_alike 'cut before the end' truncated < <(part 0 $((size - 20)))
refuse_alike 'one byte changed' malformed < <(changed $((size / 2)))
refuse_alike 'the last byte changed' malformed < <(changed $((size - 1)))
refuse_alike 'wrong order' malformed < <(part 0 "$(at 1)" && part "$(at 2)" "$(at 3)" &&
    part "$(at 1)" "$(at 2)" && part "$(at 3)" "$size")
refuse_alike 'a segment repeated' malformed < <(part 0 "$(at 2)" && part "$(at 1)" "$size")
refuse_alike 'a segment left out' malformed < <(part 0 "$(at 1)" && part "$(at 2)" "$size")
refuse_alike 'a byte too many' trailing < <(cat "$line" && echo)
refuse_alike 'two bundles' trailing < <(cat "$line" "$work/fork")

totals
