#!/usr/bin/env bash
# jobs.sh - work by command: schedule, claim, commit, complete; every refusal by its name; two stores.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

phone="$work/phone"
on_phone() { run --json --store "$phone" "$@"; }
# carry FROM TO: everything that FROM has.
carry() {
    "$MESHLOG" --store "$1" export - 2>/dev/null | "$MESHLOG" --store "$2" import - >"$work/carried" 2>&1
}
both() { carry "$MESHLOG_STORE" "$phone" && carry "$phone" "$MESHLOG_STORE"; }
# schedule KIND [FLAG…]: leaves the new job's id in $job.
schedule() {
    run --json job schedule "$@"
    job=$(field id)
}
# status_of STORE JOB: "Claimed"
status_of() {
    "$MESHLOG" --json --store "$1" job show "$2" | sed -n 's/.*"state":"\([A-Za-z]*\)".*/\1/p'
}
# ops_in STORE
ops_in() { "$MESHLOG" --json --store "$1" frontier | sed -n 's/.*,"ops":\([0-9]*\),"log".*/\1/p'; }
# refused_by RULE WHAT ARGUMENT…: the rule refuses it, and nothing is written.
refused_by() {
    local rule=$1 what=$2 before
    shift 2
    before=$(ops_in "$MESHLOG_STORE")
    run --json "$@" </dev/null
    check "$what: exit code" ended 1
    check "$what: the rule is $rule" by_rule fsm "$rule"
    check "$what: nothing was written" same "$(ops_in "$MESHLOG_STORE")" "$before"
    run "$@" </dev/null
    check "$what: one sentence" one_sentence
    check "$what: says the rule" complained "$rule"
}
# why_of STORE ID: "rejected fsm lease_held"
why_of() {
    "$MESHLOG" --json --store "$1" why "$2" |
        sed -n 's/.*"verdict":"\([a-z]*\)","reason":"\{0,1\}\([a-z_]*\)"\{0,1\},"rule":"\{0,1\}\([a-z_]*\).*/\1 \2 \3/p'
}

refused 'job list without a store' 1 no_store 'init' job list
refused 'job schedule without a store' 1 no_store 'init' job schedule mail
refused 'job without a verb' 2 usage 'job' job
refused 'job with a verb that is none' 2 usage 'job' job sing

# Two stores of one mesh
run --json init --name laptop
mesh=$(field mesh)
run --json --store "$phone" init --mesh "$mesh" --name phone
node=$(field node)
run delegate "$node" --cmd / --out "$work/phone.token"
on_phone accept "$work/phone.token"
both
both
check 'both stores have the same ops' same "$(ops_in "$MESHLOG_STORE")" "$(ops_in "$phone")"

# Schedule
run job list
check 'no jobs: exit code' ended 0
check 'no jobs: says how to make one' complained 'job schedule'
schedule video.render --payload '{"file":"a.mp4"}' --lease 1h --attempts 2 --timeout 2m
check 'schedule' ended 0
check 'schedule fields' has_fields ok id op state duplicate
check 'a new job is Pending' printed '"state":"Pending","duplicate":false'
video=$job
schedule mail.send --key k1 --payload '[1,2]'
keyed=$job
before=$(ops_in "$MESHLOG_STORE")
schedule mail.send --key k1 --payload '[1,2]'
check 'the same key and content is the same job' same "$job" "$keyed"
check 'and told so' printed '"op":null,"state":"Pending","duplicate":true'
check 'and nothing is written' same "$(ops_in "$MESHLOG_STORE")" "$before"
schedule mail.send --key k1 --payload '[1,2,3]'
check 'other content is another job' test "$job" != "$keyed"
run job schedule mail.send --key k1 --payload '[1,2]'
check 'schedule for people' same "$out" "$keyed  Pending, was there already"
refused 'schedule without a kind' 2 usage 'one more argument' job schedule
refused 'a lease that is none' 2 usage '--lease needs a duration' job schedule mail --lease soon
refused 'a lease that is too short' 1 bad_payload 'lease_ms' job schedule mail --lease 0s
refused 'a lease that is too long' 1 bad_payload 'lease_ms' job schedule mail --lease 8d
refused 'a commit that is none' 1 bad_payload 'commit' job schedule mail --commit nobody
refused 'too many attempts' 1 bad_payload 'attempts' job schedule mail --attempts 1001
refused 'a payload with a fraction' 1 bad_payload 'cannot be made' job schedule mail --payload 1.5
refused 'a dependency that is none' 2 usage 'is no id' job schedule mail --dep soon
run --json job schedule mail.late --dep 7ZZZZZZZZZZZZZZZZZZZZZZZZZ
check 'a dependency in the future' printed '"error":"bad_deps"'
run --json job schedule mail.late --dep 01AAAAAAAAAAAAAAAAAAAAAAAA
check 'a job that waits for an op' printed '"state":null,"duplicate":false'

# Claim
run --json job list
check 'jobs are listed' same "$(wc -l <"$work/out")" 3
check 'list fields' has_fields id kind state holder attempt lease_end_ms executions payload output version
check 'the oldest first' same "$(head -1 "$work/out" | sed 's/{"id":"\([^"]*\).*/\1/')" "$video"
run --json job list --kind 'video.*' --state Pending
check 'by kind and state' same "$(wc -l <"$work/out")" 1
refused 'a state that is none' 2 usage 'Pending, Claimed' job list --state Lost
refused 'claim nothing' 2 usage 'ID, or --kind' job claim
refused 'claim both' 2 usage 'ID, or --kind' job claim "$video" --kind video
refused 'claim what is not there' 1 unknown_id 'No record' job claim 01AAAAAAAAAAAAAAAAAAAAAAAA
refused 'claim by a kind that nobody has' 1 none 'kind like nothing.*' job claim --kind 'nothing.*'
run --json job claim --kind 'video.*'
check 'claim by kind' ended 0
check 'claim fields' has_fields ok op id execution attempt lease_end_ms kind payload
check 'it is the oldest' same "$(field id)" "$video"
check 'the first attempt' printed '"attempt":1,'
execution=$(field execution)
claimed=$(field op)
refused_by lease_held 'a second claim' job claim "$video"
check 'it says whose lease it is' complained 'This node holds the job itself, until 20'
refused 'a second claim by kind' 1 none 'can be claimed by this node now' job claim --kind 'video.*'
refused 'the job of a prefix' 1 unknown_id 'its type is execution' job claim "$execution"
both
on_phone job claim "$video"
check 'nor can the other node' by_rule fsm lease_held
check 'it sees who holds the job' printed '"message":"laptop holds the job until 20'
on_phone job list --state Claimed
check 'it sees who holds it' printed '"holder_name":"laptop"'
run job list
check 'list for people' printed "Claimed    $video  video.render    laptop until 20"
check 'with its attempts' printed ', attempt 1 of 2'

# The same refused op from another author is kept and not applied.
claim_by_hand='{"job":"'$video'"}'
on_phone append ClaimWork --payload "$claim_by_hand"
check 'append refuses it too' by_rule fsm lease_held
MESHLOG_STORE=$phone refused_by not_holder 'start of what another node holds' job start "$video"
on_phone job show "$video"
check 'it has one execution' same "$(grep -o '"status":' "$work/out" | wc -l)" 1
# Each node claims one job while it does not hear of the other.
schedule race.run
race=$job
both
run --json job claim "$race"
first=$(field op)
sleep 0.01
on_phone job claim "$race" --lease 2h
check 'apart, both claim' ended 0
second=$(field op)
on_phone job start "$race"
check 'and both work' printed '"state":"Claimed","execution":"'"$second"'","status":"IN_PROGRESS"'
both
for store in "$MESHLOG_STORE" "$phone"; do
    check 'the later claim is refused when they meet' same "$(why_of "$store" "$second")" 'rejected fsm lease_held'
    check 'the earlier one is not' same "$(why_of "$store" "$first")" 'applied null null'
    run --json --store "$store" job show "$race"
    check 'the earlier one holds the job' printed '"holder_name":"laptop","execution":"'"$first"'"'
    check 'the other execution is kept' printed '"id":"'"$second"'"'
    run --store "$store" why "$second"
    check 'why for people' printed 'phone with ClaimWork, rejected: fsm (lease_held); allowed by the root'
done
on_phone job commit "$race" --output '"late"'
check 'and its commit counts in its own lease' printed '"execution":"'"$second"'","status":"COMMITTED"'
both
refused_by already_committed 'a commit after one that counts' job commit "$race"
refused_by already_committed 'a claim after one' job claim "$race"
refused_by already_committed 'to cancel after one' job cancel "$race"
run --json job complete "$race" --output '"mine"'
check 'any node completes it' printed '"state":"Completed"'
run --json job show "$race"
check 'what the commit put out stays' printed '"output":"late"'
refused_by no_move 'to complete twice' job complete "$race"
refused_by already_committed 'to claim what is Completed' job claim "$race"

# Work
schedule plain.work
refused_by not_holder 'start of what nobody has claimed' job start "$job"
check 'it says what to do' complained 'job claim'
refused_by not_holder 'commit of what nobody has claimed' job commit "$job"
refused_by not_committed 'complete of what nobody has claimed' job complete "$job"
refused_by no_move 'expire of what nobody holds' job expire "$job"
run --json job renew "$video" --lease 3h
check 'renew' printed '"execution":"'"$execution"'","status":"LEASED"'
check 'renew fields' has_fields ok op id state execution status lease_end_ms
refused_by lease_held 'expire of what is held' job expire "$video"
run --json job start "$video"
check 'start' printed '"state":"Claimed","execution":"'"$execution"'","status":"IN_PROGRESS"'
refused_by no_move 'start twice' job start "$video"
run --json job fail "$video" --error 'no space left'
check 'a failure with attempts left' printed '"state":"Pending","execution":"'"$execution"'","status":"ABORTED"'
refused_by no_move 'renew what is over' job renew "$video"
run --json job claim "$video"
check 'the second attempt' printed '"attempt":2,'
second=$(field execution)
run --json job start "$video" --execution "$second"
check 'an execution by its id' printed '"status":"IN_PROGRESS"'
run --json job start "$video" --execution "$first"
check 'an execution of another job' by_rule unknown_target no_target
run --json job fail "$video"
check 'the last failure' printed '"state":"Failed"'
refused_by no_move 'claim of what has failed' job claim "$video"
schedule plain.work
run --json job claim "$job"
run --json job fail "$job" --final
check 'a final failure' printed '"state":"Failed"'
run --json job cancel "$job" --reason 'not needed'
check 'a failed job can be cancelled' printed '"state":"Cancelled"'
refused_by no_move 'cancel twice' job cancel "$job"
refused_by no_move 'claim of what is cancelled' job claim "$job"
schedule plain.work
run --json job claim "$job"
run --json job yield "$job" --reason 'going to sleep'
check 'yield' printed '"state":"Pending"'
check 'what is given back can be claimed' same "$("$MESHLOG" --json job claim "$job" | grep -c '"attempt":2')" 1
run --json job complete "$job" --output '{"n":7}'
check 'complete commits what was claimed' printed '"state":"Completed"'
run --json job show "$job"
check 'with its output' printed '"output":{"n":7}'
check 'and its end' printed '"status":"DONE","start_ms":1'
run job show "$job"
check 'show for people' printed 'state      Completed, committed by laptop, attempt 2 of 3'

# Leases that end
schedule short.work --lease 1s
short=$job
run --json job claim "$short"
sleep 1.1
run --json job list --overdue
check 'what is overdue is listed' same "$(sed 's/{"id":"\([^"]*\).*/\1/' "$work/out")" "$short"
check 'alone' same "$(wc -l <"$work/out")" 1
refused_by lease_over 'start after the lease' job start "$short"
refused_by lease_over 'commit after the lease' job commit "$short"
refused_by lease_over 'renew after the lease' job renew "$short"
both
on_phone job expire "$short"
check 'another node expires it' printed '"state":"Pending"'
both
run --json job claim --kind 'short.*' --lease 1s
check 'claim again' printed '"attempt":2,'
sleep 1.1
both
on_phone job claim --kind 'short.*'
check 'or claims it once the lease is over' printed '"attempt":3,'

# Serial keys and routes
schedule doc.index --serial-key doc1
schedule doc.index --serial-key doc1
other=$job
run --json job claim --kind 'doc.*'
refused_by serial_busy 'a second job of one serial key' job claim "$other"
refused 'nor by kind' 1 none 'can be claimed' job claim --kind 'doc.*'
run append RouteKind --payload '{"kind":"gpu.train","node":"'"$node"'"}'
schedule gpu.train
refused_by routed_elsewhere 'a kind that another node has' job claim "$job"
check 'it says whose it is' complained 'gpu.train are routed to phone'
refused 'nor by kind of a route' 1 none 'can be claimed' job claim --kind 'gpu.*'
run job list --kind 'gpu.*' --for phone
check 'the node that has the route could claim it' printed "$job"
run job list --kind 'gpu.*' --for laptop
check 'no other could' same "$(cat "$work/out")" ''
refused 'as of an op nobody claims' 2 usage '--for asks' job list --for phone --as-of "$job"
both
on_phone job claim --kind 'gpu.*'
check 'there it is claimed' ended 0

# The order of jobs is that of their scheduling, whatever ids their keys give them.
schedule order.a --key o1
oldest=$job
schedule order.b
check 'a keyed id is none of an op' test "$oldest" '>' "$job"
run --json job list --kind 'order.*'
check 'the oldest comes first' same "$(head -1 "$work/out" | sed 's/{"id":"\([^"]*\).*/\1/')" "$oldest"
run --json job claim --kind 'order.*'
check 'and is claimed first' same "$(field id)" "$oldest"

# Versions and the past
schedule plain.version
version=$(field op)
run --json job claim "$job" --if-version "$version"
check 'claim of a version' ended 0
run --json job cancel "$job" --if-version "$version"
check 'a version that is gone by' by_rule stale_version version_taken
refused 'a version of no job' 2 usage '--if-version' job claim --kind plain --if-version "$version"
run --json job show "$job" --as-of "$version"
check 'as it was' printed '"state":"Pending","holder":null'
run --json job list --as-of "$claimed"
check 'what there was then' same "$(wc -l <"$work/out")" 3
check 'and how it was' same "$(grep -c '"state":"Claimed","holder":"did' "$work/out")" 1
refused 'as of before it was there' 1 unknown_id 'later than the op' job show "$job" --as-of "$claimed"

# A node that may only do a part
run --json --store "$work/worker" init --mesh "$mesh" --name worker
worker=$(field node)
run delegate "$worker" --cmd /job/claim --policy '["like", ".target.kind", "small.*"]' --out "$work/worker.token"
check 'a policy is a list of statements' ended 1
run delegate "$worker" --cmd /job/claim --policy '[["like", ".target.kind", "small.*"]]' --out "$work/worker.token"
schedule big.work
schedule small.work
run --json --store "$work/worker" accept "$work/worker.token"
carry "$MESHLOG_STORE" "$work/worker"
run --json --store "$work/worker" job claim --kind '*.work'
check 'a policy picks what it may claim' same "$(field id)" "$job"
run --json --store "$work/worker" job start "$job"
check 'and may not go on' printed '"error":"no_grant"'
run --json --store "$work/worker" job schedule more
check 'nor schedule' printed '"error":"no_grant"'

both
run --json job list
cp "$work/out" "$work/here"
on_phone job list
check 'both stores tell the same of every job' cmp -s "$work/here" "$work/out"
totals
