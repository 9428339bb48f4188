#!/usr/bin/env bash
# why.sh - why says of every type of record, and of ops that count or not, what a reader needs.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

phone="$work/phone"
worker="$work/worker"
make() {
    run --json "$@"
    id=$(field id)
    [ "$code" -eq 0 ] || show_run
}
carry() {
    "$MESHLOG" --store "$1" export - 2>/dev/null | "$MESHLOG" --store "$2" import - >"$work/carried" 2>&1
}
# first_of TYPE: the id of the first record of a type.
first_of() { "$MESHLOG" --json records --type "$1" | sed -n '1s/.*"id":"\([^"]*\)".*/\1/p'; }
# told WHAT TEXT…: the last run did it, and printed each of these.
told() {
    local what=$1 text
    shift
    check "$what" ended 0
    for text in "$@"; do
        check "$what: $text" printed "$text"
    done
}
# line TEXT: one whole line of the output, its end apart.
line() { grep -qE -e "^$1" "$work/out" || show_run; }

run --json init --name laptop
mesh=$(field mesh)
# admit STORE NAME COMMAND
admit() {
    run --json --store "$1" init --mesh "$mesh" --name "$2"
    node=$(field node)
    run --json delegate "$node" --cmd "$3" --out "$work/token.$2"
    run --json --store "$1" accept "$work/token.$2"
}
admit "$phone" phone /
phone_did=$node
admit "$worker" worker /claim
carry "$phone" "$MESHLOG_STORE"
printf hello >"$work/mail"

# What rests on what
make evidence add "$work/mail" --type mail --anchor 'no. 17'
mail=$id
run --json show "$(field op)"
ingested=$(field id)
make claim add --subject Ada --predicate lives --object London --support "$mail"
london=$id
make claim add --subject Ada --predicate lives --object Paris
paris=$id
make claim add --text 'Ada comes on Sunday.' --support "$london" --support "$paris"
sunday=$id
make episode add 'Lunch with Ada' --support "$sunday"
lunch=$id
make action add 'Invite Ada' --type mail --support "$lunch"
invite=$id
make artifact add summary "$work/mail" --support "$lunch" --media text/plain
summary=$id
run why "$paris"
told 'why of a claim alone' 'rests on nothing' 'Claim since it was made.'
run why "$mail"
told 'why of evidence' "with IngestEvidence $ingested, applied; allowed by the root → laptop (/)." \
    '1 record rests on it'
check 'why of evidence: it need not rest on anything' bash -c "! grep -q 'rests on nothing' '$work/out'"
run --json action status "$invite" Approved
run --json claim status "$paris" Disputed
disputing=$(field op)
run why "$paris"
told 'why of a disputed claim' 'because laptop disputed it.'
check 'why of a disputed claim: the history names the op' line \
    "  .*  disputed it            Claim → Disputed        laptop  $disputing"
run --json claim edit "$london" Oxford
edit=$(field op)
run why "$edit"
told 'why of an edit' "An edit of $london." 'made it of another'
run why "$london"
told 'why of what was edited' "Replaced by $edit." 'Claim → Superseded'
run --json evidence tombstone "$mail" --reason 'another Ada'
tombstone=$(field op)
run why "$mail"
told 'why of tombstoned evidence' 'because laptop tombstoned it, saying “another Ada”.'
run why "$invite"
told 'why of a cascade' \
    "because laptop tombstoned evidence $mail (mail: no. 17), on which it rests through others, saying " \
    'saying “another Ada”.' "└─ Stale episode $lunch  Lunch with Ada" "   └─ Stale claim $sunday  Ada comes on Sunday." \
    "      │  └─ Tombstoned evidence $mail  mail: no. 17" 'approved it' 'Approved → Rejected' "$tombstone"
run why "$summary"
told 'why of an artifact' 'summary, text/plain' 'Fresh → Stale'
run why "$lunch"
told 'why of an episode' '2 records rest on it' "Rejected action $invite  Invite Ada"
run --json episode status "$lunch" Active
run --json episode status "$lunch" Archived
run --json episode title "$lunch" 'Lunch'
run why "$lunch"
told 'why of an archived episode' 'brought it back' 'archived it' 'gave it another title'
run --json why "$invite"
told 'why as JSON' "\"op\":\"$tombstone\",\"kind\":\"TombstoneEvidence\"" '"deed":"tombstoned it","note":"another Ada"'
check 'why as JSON: fields' has_fields id type status made_by rests_on dependents history op kind author from to cause
run why "$invite" --as-of "$invite"
told 'why as it was' 'Proposed since it was made.'

# Entities
make entity add Ada
ada=$id
make entity add Augusta
augusta=$id
run --json entity alias "$ada" Countess
run --json entity merge "$augusta" "$ada"
run why "$augusta"
told 'why of a merged entity' "Merged into $ada." 'merged it into another'
run --json entity split "$ada" --alias Countess
countess=$(field id)
run why "$ada"
told 'why of a split entity' 'gave it another name' 'split it '
check 'it was merged into nothing' bash -c "! grep -q 'Merged into' '$work/out'"
run why "$countess"
told 'why of what was split off' 'split it from another'

# Work
make job schedule video.render
render=$id
run --json job claim "$render" --lease 1h
execution=$(field execution)
run why "$render"
told 'why of a job that is held' 'Held by laptop until 2' ", attempt 1, execution $execution."
check 'its lease is not over' bash -c "! grep -q '(over)' '$work/out'"
run why "$execution"
told 'why of an execution' "Of the job $render; its own lease is until 2"
run --json job fail "$render" --error 'no disk'
run why "$render"
told 'why of a job that failed once' 'because laptop failed at it, saying “no disk”.'
make job schedule short --serial-key one
short=$id
run --json job claim "$short" --lease 1s
run why "$(first_of serial)"
told 'why of a serial key' 'one' 'Busy since it was made.'
run --json job start "$short"
sleep 1.1
run why "$short"
told 'why of a job whose lease is over' '(over), attempt 1'

# Settings, which no op names
run --json rules set house '{"smoking":false}'
run --json rules set claim_threshold 600000
run --json rules set claim_threshold 700000
run --json claim lane "$edit" confirm
run --json route gpu.train phone
run --json route cpu.any
run --json coordinator laptop
run records --type rule
told 'rules among the records' 'claim_threshold = 700000' 'house = {"smoking":false}'
run why "$(first_of lane)"
told 'why of a lane' 'lane  ' 'Ada lives' "set its lane's rule" 'Confirm'
run records --type route
told 'routes among the records' 'gpu.train by phone' 'cpu.any by any'
run why "$(first_of route)"
told 'why of a route' 'routed it'
run why "$(first_of coordinator)"
told 'why of the coordinator' '  laptop' 'designated it'
for rule in $("$MESHLOG" --json records --type rule | sed 's/.*"id":"\([^"]*\)".*/\1/'); do
    run why "$rule"
    check 'why of a rule' ended 0
done
run --json claim confirm "$rule"
check 'a setting is confirmed by none' by_rule unknown_target wrong_type
run records --type coordinator
check 'columns of records: the longest type' line 'coordinator Set '
run records
check 'columns of records: the longest status' line 'execution   IN_PROGRESS 0'

# Ops that do not count: pending, rejected, void
run --json append CreateClaim --payload '{"text":"It waits."}' --dep 01AAAAAAAAAAAAAAAAAAAAAAAA
run why "$(field id)"
told 'why of an op that waits' 'says       It waits.' 'pending: dep_missing' \
    'An op that it depends on is not here yet: 01AAAAAAAAAAAAAAAAAAAAAAAA.'
make claim add --subject Bob --predicate is --object here
bob=$id
carry "$MESHLOG_STORE" "$worker"
run --json claim confirm "$bob"
run --json --store "$worker" claim confidence "$bob" 300000
late=$(field op)
make --store "$worker" claim add --text 'Made by the worker.'
by_worker=$id
carry "$worker" "$MESHLOG_STORE"
run why "$late"
told 'why of a rejected op' 'rejected: frozen (fact_frozen)' "Fact claim $bob  Bob is here" 'laptop confirmed it on 2'
check 'why of a rejected op: its target is told once' same "$(grep -c "$bob" "$work/out")" 1
make claim add --text 'On the worker.' --support "$by_worker"
on_worker=$id
run --json revoke worker --void-all
run why "$by_worker"
told 'why of a void op' 'CreateClaim  ' 'says       Made by the worker.' 'void: revoked' 'to worker: /claim until'
run why "$late"
told 'why of a void op with a target' "about      Fact claim $bob  Bob is here"
run why "$on_worker"
told 'why of what rests on a void op' "because the op $by_worker, on which it rests, is void (revoked)."
run --json why "$late"
check 'why of an op: fields' has_fields id type kind author verdict reason rule by detail target says changed

refused 'why of nothing' 1 unknown_id 'Neither a record nor an op' why 01ARZ3NDEKTSV4RRFFQ69G5FAV
refused 'why of a beginning of nothing' 1 unknown_id 'Neither a record nor an op' why 01ARZ3ND
refused 'why of no id' 2 usage 'is no id' why hello
refused 'why of too few letters' 2 usage 'give 6 or more' why 01ARZ
refused 'why of several' 1 ambiguous_id 'more letters' why "${bob:0:6}"

# A store that has one author's ops alone
run --store "$work/alone" init --mesh "$mesh"
carry "$MESHLOG_STORE" "$phone"
run --json --store "$phone" claim add --text 'On Sunday.' --support "$sunday"
alone=$(field op)
"$MESHLOG" --store "$phone" export "$work/phone.bundle" --author "$phone_did" >/dev/null 2>&1
"$MESHLOG" --store "$work/alone" import "$work/phone.bundle" >/dev/null 2>&1
run --store "$work/alone" why "$alone"
told 'why where a support is not here' 'rejected: unknown_target (support_missing)' \
    "unknown op $sunday  (not here)" 'says       On Sunday.'

# A late op: what comes after it is judged anew, on both stores
carry "$MESHLOG_STORE" "$phone"
make claim add --subject shop --predicate opens --object 9
shop=$id
carry "$MESHLOG_STORE" "$phone"
run --json --store "$phone" claim reject "$shop"
sleep 0.05
make claim add --text 'Breakfast at nine.' --support "$shop"
breakfast=$id
carry "$phone" "$MESHLOG_STORE"
run why "$breakfast"
told 'why of what a late op changed' 'Stale from the start, because on 2' \
    " phone rejected claim $shop (shop opens 9), on which it rests."
carry "$MESHLOG_STORE" "$phone"
for record in "$breakfast" "$shop" "$sunday" "$on_worker" "$ada" "$late"; do
    run --json why "$record"
    cp "$work/out" "$work/here"
    run --json --store "$phone" why "$record"
    check 'both stores tell the same' cmp -s "$work/here" "$work/out"
done
totals
