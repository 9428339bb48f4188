#!/usr/bin/env bash
# late.sh - what a node decides while another has not heard of it: the other's op is kept, not applied,
# and why says on both what its command says once it has heard.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

laptop=$MESHLOG_STORE
worker="$work/worker"
make() {
    run --json "$@"
    id=$(field id)
    [ "$code" -eq 0 ] || show_run
}
carry() {
    "$MESHLOG" --store "$1" export - 2>/dev/null | "$MESHLOG" --store "$2" import - >"$work/carried" 2>&1
}
both() { carry "$laptop" "$worker" && carry "$worker" "$laptop"; }
ops_in() { "$MESHLOG" --json --store "$1" frontier | sed -n 's/.*,"ops":\([0-9]*\),"log".*/\1/p'; }
# decide WORD…: what the laptop does, of which the worker does not hear for now.
decide() {
    run --json "$@"
    check "decide: $*" ended 0
    sleep 0.01 # So that what the worker does is later.
}
# late WHAT REASON RULE WORD…: the worker has not heard, and does this; $who is another one. Of jobs
# the command says more than why: who holds it, and until when.
late() {
    local what=$1 reason=$2 rule=$3 store detail before
    shift 3
    store=${who:-$worker}
    run --json --store "$store" "$@"
    check "$what: it has not heard" ended 0
    op=$(field op)
    both
    for told in "$laptop" "$worker"; do
        run --json --store "$told" why "$op"
        check "$what: kept, not applied" printed "\"verdict\":\"rejected\",\"reason\":\"$reason\",\"rule\":\"$rule\""
        detail=$(field detail)
        run --store "$told" why "$op"
        check "$what: why for people" printed "rejected: $reason ($rule)"
    done
    before=$(ops_in "$store")
    run --json --store "$store" "$@"
    check "$what: now it is refused" by_rule "$reason" "$rule"
    check "$what: exit code" ended 1
    [ "$1" = job ] || check "$what: in the words of why" printed "$detail"
    check "$what: nothing was signed" same "$(ops_in "$store")" "$before"
    run --store "$store" "$@"
    check "$what: one sentence" one_sentence
    check "$what: with the rule's name" complained "$rule"
}

run --json init --name laptop
mesh=$(field mesh)
run --json --store "$worker" init --mesh "$mesh" --name worker
node=$(field node)
run --json delegate "$node" --cmd /claim --out "$work/token"
run --json --store "$worker" accept "$work/token"
for command in /evidence /entity /episode /action /artifact /job; do
    run --json delegate "$node" --cmd "$command"
done
printf hello >"$work/mail"
both

# Claims
make claim add --subject Ada --predicate lives --object London
ada=$id
make claim add --subject Ada --predicate lives --object Paris
paris=$id
both
decide claim confirm "$ada"
late 'a Fact is disputed' frozen fact_frozen claim status "$ada" Disputed
run --json --store "$worker" claim supersede "$ada" "$paris"
check 'nor superseded' by_rule frozen fact_frozen
decide claim pin "$paris"
late 'what is pinned' frozen pinned claim confidence "$paris" 400000
decide claim pin "$paris" --undo
both
decide claim reject "$paris"
late 'what the user has rejected' frozen user_decided claim status "$paris" Disputed
make claim add --text one
one=$id
run --json claim show "$one"
version=$(field version)
both
decide claim confidence "$one" 700000 --if-version "$version"
late 'a version that is taken' stale_version version_taken claim confidence "$one" 600000 --if-version "$version"
run --json rules set claim_threshold 900000
make claim add --text hint --confidence 850000
hint=$id
run --json rules set claim_threshold 800000
both
decide rules set claim_threshold 900000
late 'a hint below the threshold' fsm below_threshold claim status "$hint" Claim
run --json rules set claim_threshold 500000
both
decide claim lane "$paris" block
late 'a lane that is blocked' fsm lane_blocked claim add --subject Ada --predicate lives --object Rome
make claim add --text 'a guess' --domain guesses --confidence 100000
guess=$id
run --json claim confidence "$guess" 900000
both
decide claim lane "$guess" confirm
late 'a lane that waits for the user' fsm lane_confirm claim status "$guess" Claim

# Evidence, episodes, actions, artifacts
make evidence add "$work/mail" --type mail
mail=$id
make episode add 'A day'
day=$id
make action add 'Call Ada'
call=$id
make artifact add note "$work/mail"
note=$id
both
decide evidence tombstone "$mail"
late 'evidence that is gone' fsm no_move evidence tombstone "$mail"
decide artifact evict "$note"
late 'an artifact that is gone' fsm no_move artifact evict "$note"
decide episode status "$day" Archived
late 'an episode that the user has archived' frozen user_decided episode status "$day" Stale
run --json action status "$call" Approved
both
decide action status "$call" Dismissed
late 'an action that the user has dismissed' frozen user_decided action status "$call" Executing

# Work
make job schedule mail.send
mail=$id
make job schedule gpu.train
train=$id
make job schedule doc.index --serial-key one
index=$id
make job schedule doc.index --serial-key one --payload 2
index2=$id
both
decide job claim "$mail"
late 'a job that is held' fsm lease_held job claim "$mail"
execution=$op
run why "$execution"
check 'its execution: why it is refused' printed 'refused    The lease on it has not ended.'
check 'its execution: what is in the way' printed "Claimed job $mail  mail.send"
check 'its execution: until when' printed '; until 2'
decide route gpu.train laptop
late 'a job that is routed' fsm routed_elsewhere job claim "$train"
decide job claim "$index"
late 'a serial key that is busy' fsm serial_busy job claim "$index2"
make job schedule twice.done
twice=$id
both
run --json job claim "$twice"
decide job commit "$twice"
run --json --store "$worker" job claim "$twice"
late 'work that is done already' fsm already_committed job commit "$twice"
make job schedule gone
gone=$id
both
decide job cancel "$gone"
late 'a job that is cancelled' fsm no_move job claim "$gone"
make job schedule long
long=$id
both
run --json --store "$worker" job claim "$long" --lease 1s
both
run --json --store "$worker" job renew "$long" --lease 1h
check 'the worker renews its lease' ended 0
sleep 1.1
who=$laptop
late 'a lease that was renewed' fsm lease_held job expire "$long"
unset who

run --json digest
cp "$work/out" "$work/here"
run --json --store "$worker" digest
check 'both end with one digest' cmp -s "$work/here" "$work/out"
totals
