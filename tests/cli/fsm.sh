#!/usr/bin/env bash
# fsm.sh - the state machines as the program shows them, and the same in spec/.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

# The list.
run fsm
check 'the list' ended 0
for machine in node claim episode action job execution; do
    check "the list has $machine" grep -qE "^$machine +[a-z]" "$work/out"
done
mapfile -t machines < <(awk '{ print $1 }' "$work/out")
run --json fsm
check 'the list as JSON: a line for each' same "$(wc -l <"$work/out")" "${#machines[@]}"
check 'the list as JSON' printed '{"name":"node","about":"'

# One of them.
states='"states":\[{"name":"Pending","about":"[^"]*","initial":true,"terminal":false},'
states+='{"name":"Active","about":"[^"]*","initial":false,"terminal":false},'
states+='{"name":"Suspended","about":"[^"]*","initial":false,"terminal":false},'
states+='{"name":"Revoked","about":"[^"]*","initial":false,"terminal":false}\]'
moves='"moves":[{"from":null,"event":"appeared","to":"Pending","guard":null},'
moves+='{"from":"Pending","event":"observed","to":"Active","guard":null},'
moves+='{"from":"Active","event":"expired","to":"Suspended","guard":null},'
moves+='{"from":"Suspended","event":"renewed","to":"Active","guard":null},'
moves+='{"from":"Active","event":"revoked","to":"Revoked","guard":null},'
moves+='{"from":"Suspended","event":"revoked","to":"Revoked","guard":null},'
moves+='{"from":"Revoked","event":"readmitted","to":"Active","guard":null}]'
run --json fsm node
check 'node as JSON' ended 0
check 'node as JSON: name' printed '{"ok":true,"name":"node",'
check 'node as JSON: states' grep -qx ".*$states.*" "$work/out"
check 'node as JSON: moves' printed "$moves"
check 'node as JSON: what words mean' printed '"events":[{"name":"appeared","about":"'
check 'node as JSON: no guards' printed '"guards":[]'
check 'node as JSON: a tree' printed '"format":"table","diagram":"(new)\n└─ appeared → Pending\n'

run fsm node
check 'node for people' ended 0
check 'node: a state' printed '  Suspended  its delegation is out of its time'
check 'node: where it begins' grep -qE '^  Pending .*\(initial\)$' "$work/out"
check 'node: a move' printed '  Active     expired     → Suspended'
check 'node: a creation' printed '  (new)      appeared    → Pending'
check 'node: the tree' printed '   └─ observed → Active'
check 'node: no line ends in blanks' bash -c "! grep -qE ' +$' '$work/out'"
check 'node: no line is too long for a terminal' bash -c "! grep -qE '.{81}' '$work/out'"
same_as_table=$out
run fsm node --format table
check 'table is the default' same "$out" "$same_as_table"
run fsm --format dot node
check 'dot' same "$(head -n 1 "$work/out")$(tail -n 1 "$work/out")" 'digraph "node" {}'
check 'dot: an arrow' printed '    "Revoked" -> "Active" [label="readmitted"];'
run --json fsm node --format dot
check 'dot as JSON' printed '"format":"dot","diagram":"digraph \"node\" {\n'

# Those that have guards. The numbers of states stand in records, and the names in the contract.
# states NAME: in the order of their numbers, with what is terminal in brackets.
states() {
    "$MESHLOG" fsm "$1" | awk '/^Events/ { exit } /^  / { print $1 (/ \(terminal\)$/ ? "(end)" : "") }' | xargs
}
check 'states of a claim' same "$(states claim)" 'Hint Claim Fact Disputed Rejected Superseded Stale'
check 'states of an episode' same "$(states episode)" 'Active Stale Archived'
check 'states of an action' same "$(states action)" \
    'Proposed Approved Executing Completed(end) Failed(end) Rejected Dismissed Expired'
check 'states of a job' same "$(states job)" 'Pending Claimed Completed(end) Failed Cancelled'
check 'states of an execution' same "$(states execution)" \
    'LEASED IN_PROGRESS COMMITTED DONE(end) ABORTED(end)'
run --json fsm claim
check 'claim: what decides' printed '"guards":[{"name":"supported","about":"'
check 'claim: a guard' printed '{"from":"Claim","event":"disputed","to":"Disputed","guard":"conflict"}'
check 'claim: several guards' printed \
    '{"from":"Fact","event":"superseded","to":"Superseded","guard":"replacement and by_user"}'
check 'claim: may begin as three' same "$(grep -oF '"initial":true' "$work/out" | wc -l)" 3
run fsm job
check 'job: the exception first' printed \
    '  Claimed    failed     → Pending    if attempts_left'
check 'job: a guard in the tree' printed 'claimed [lease_over] → Claimed …'
run fsm execution --format dot
check 'execution: an end' printed '    "ABORTED" [peripheries=2];'
check 'execution: a guard' printed '    "IN_PROGRESS" -> "COMMITTED" [label="committed [in_time]"];'

refused 'unknown machine' 2 usage "There is no state machine 'nodes': those known are node, claim, " fsm nodes
refused 'no name at all' 2 usage "There is no state machine ''" fsm ''
refused 'control characters' 2 usage "'a\\x1bb'" fsm $'a\eb'
refused 'unknown format' 2 usage "--format is table, dot or mermaid, not 'svg'" fsm node --format svg
refused 'format of nothing' 2 usage 'name it' fsm --format dot
refused 'two names' 2 usage 'one argument too many' fsm node node
check 'no store is needed or made' test ! -e "$MESHLOG_STORE"

# Every machine's diagram in spec/ is the one that the program draws.
# documented NAME: what stands there, behind a comment with the command that drew it.
documented() {
    awk -v mark="<!-- meshlog fsm $1 --format mermaid -->" '
        $0 == mark { marked = 1; next }
        marked && /^```mermaid$/ { inside = 1; next }
        inside && /^```$/ { inside = marked = 0 }
        inside' spec/*.md
}
check 'there are machines' [ "${#machines[@]}" -gt 0 ]
for machine in "${machines[@]}"; do
    run fsm "$machine" --format mermaid
    check "mermaid: $machine" same "$(head -n 1 "$work/out")" stateDiagram-v2
    check "spec/ shows $machine as it is" same "$(documented "$machine")" "$out"
done
totals
