#!/usr/bin/env bash
# queries.sh - claim list and show, entity show, records, rules, graph, digest, rebuild: what they
# answer, now and as of an op, and what they refuse.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

nobody=01ARZ3NDEKTSV4RRFFQ69G5FAV
make() {
    run --json "$@"
    id=$(field id)
    [ "$code" -eq 0 ] || show_run
}
count() { wc -l <"$work/out"; }
# list_of FIELD: the items of a list in the last line, apart by spaces.
list_of() { tail -n 1 "$work/out" | sed -n "s/.*\"$1\":\[\([^]]*\)\].*/\1/p" | tr -d '"' | tr ',' ' '; }

for query in 'claim list' "claim show $nobody" "entity show $nobody" records rules graph digest rebuild "why $nobody"; do
    # shellcheck disable=SC2086
    refused "$query without a store" 1 no_store 'init' $query
done
run --json init --name laptop
node=$(field node)
first=$(field first_op)
run claim list
check 'no claims' same "$code$out" 0
run graph --format dot
check 'an empty graph' printed 'digraph records {'
run --json rules
check 'rules that nobody has set' printed '"claim_threshold":500000'

# Claims
printf hello >"$work/mail"
make evidence add "$work/mail" --type mail
mail=$id
make claim add --subject Ada --predicate lives --object London --support "$mail" --domain people
london=$id
make claim add --subject Ada --predicate lives --object Paris --confidence 100000
paris=$id
make claim add --subject Ada --predicate born --object 1815
born=$id
make claim add --text 'He said "no" \ and
went.' --support "$london"
said=$id
run --json claim list
check 'claim list' same "$(count)" 4
check 'claim list fields' has_fields id type status frozen confidence subject predicate object text domain \
    supports pinned hidden superseded_by author time_ms version
run --json claim list --subject Ada --predicate lives
check 'by subject and predicate' same "$(count)" 2
run --json claim list --status Hint
check 'by status' same "$(count)$(field id)" "1$paris"
run --json claim list --subject ada
check 'subjects are compared as written' same "$code$out" 0
run --json claim list --status Hint --subject Ada --predicate born
check 'all of it must hold' same "$code$out" 0
run --json claim list --as-of "$paris"
check 'claim list as it was' same "$(count)" 2
refused 'a status that is none' 2 usage 'Hint, Claim, Fact' claim list --status hint
refused 'an as-of that is no id' 2 usage 'is no id' claim list --as-of now
refused 'an as-of that is not there' 1 unknown_id 'No op' claim list --as-of "$nobody"
run --json claim show "${london:0:16}"
check 'claim show' ended 0
check 'claim show fields' has_fields ok id type status frozen confidence subject predicate object text domain \
    supports pinned hidden superseded_by author time_ms version
check 'claim show: its supports' printed "\"supports\":[\"$mail\"]"
check 'claim show: by whom' printed "\"author\":\"$node\",\"name\":\"laptop\""
run claim show "$said"
check 'claim show for people' printed "$london"
refused 'claim show of no claim' 1 unknown_id 'its type is evidence' claim show "$mail"
refused 'claim show of nothing' 1 unknown_id 'No record' claim show "$nobody"
refused 'claim show of no id' 2 usage 'is no id' claim show Ada
refused 'claim show of an op' 1 unknown_id 'has made no record' claim show "$first"
refused 'claim show of too few letters' 2 usage 'give 6 or more' claim show "${london:0:5}"
refused 'claim show of several' 1 ambiguous_id 'more letters' claim show "${london:0:6}"
refused 'claim show of none' 2 usage 'one more argument' claim show
refused 'claim show before it was there' 1 unknown_id 'no record' claim show "$paris" --as-of "$london"
run --json claim confirm "$paris"
confirm=$(field op)
run --json claim show "$paris" --as-of "$paris"
check 'claim show as it was' printed '"status":"Hint","frozen":false'
run --json claim show "$paris" --as-of "$confirm"
check 'as of is inclusive' printed '"status":"Fact","frozen":true'

# Entities: by name or id, through merges and splits, and round in circles
make entity add Ada
ada=$id
make entity add 'Ada Lovelace'
lovelace=$id
make entity add Countess
countess=$id
run --json entity alias "$ada" Augusta
run --json entity merge "$lovelace" "$ada"
merge=$(field op)
run --json entity merge "$countess" "$lovelace"
run --json entity merge "$ada" "$countess"
check 'a merge in a circle is taken' ended 0
run --json entity show Ada
check 'entity show' ended 0
check 'entity show fields' has_fields id names merged_into members claims version
check 'a circle is passed over' printed "\"id\":\"$ada\",\"type\":\"entity\""
check 'all its names' same "$(list_of names)" 'Ada Ada Lovelace Countess Augusta'
check 'all its members' same "$(list_of members)" "$lovelace $countess"
check 'all claims about it' same "$(list_of claims)" "$london $paris $born"
run --json entity show Countess
check 'a name leads to what it was merged into' same "$(field id)" "$ada"
run --json entity show "$countess"
check 'an id stays' printed "\"id\":\"$countess\""
check 'and says where it leads' printed "\"merged_into\":\"$ada\""
run --json entity show "$ada" --as-of "$merge"
check 'entity show as it was' same "$(list_of members)" "$lovelace"
run --json entity split "$ada" --alias Augusta
augusta=$(field id)
run --json entity show Augusta
check 'what was split off is found by its name' same "$(field id)" "$augusta"
run --json entity show Ada
check 'and is no name of the other' same "$(list_of names)" 'Ada Ada Lovelace Countess'
run entity show Countess
check 'entity show for people' printed 'Ada Lovelace'
refused 'a name that nobody has' 1 unknown_id 'compared as written' entity show Bob
refused 'entity show of a claim' 1 unknown_id 'its type is claim' entity show "$london"
refused 'an alias of a claim' 1 unknown_target 'wrong_type' entity alias "$london" Ada
refused 'a merge into a claim' 1 unknown_target 'wrong_type' entity merge "$ada" "$london"
refused 'a merge of nothing' 1 unknown_target 'no_target' entity merge "$nobody" "$ada"
refused 'a name that is too long' 1 bad_payload '256' entity add "$(head -c 257 /dev/zero | tr '\0' x)"

# Records
run --json records
all=$(count)
run --json records --type claim
check 'records of a type' same "$(count)" 4
run --json records --type claim --status Fact
check 'of a status' same "$(field id)" "$paris"
refused 'a type that is none' 2 usage 'evidence, entity' records --type claims
refused 'a status that is none of the type' 2 usage 'has the status' records --type evidence --status Fact

# Rules, a word that is a command and a group
run --json rules set claim_threshold 600000
threshold=$(field op)
run --json rules
check 'rules' ended 0
check 'rules: what is set' printed '{"ok":true,"rules":{"claim_threshold":600000,'
check 'rules: by whom' printed "\"set\":{\"claim_threshold\":{\"op\":\"$threshold\""
run --json rules --as-of "$ada"
check 'rules as they were' printed '"claim_threshold":500000'
run rules
check 'rules for people' printed "claim_threshold   600000     set "
check 'what is not set' printed 'fold_version      1          unless set'
run help rules
check 'help of both' printed 'meshlog rules [--as-of ID]'
check 'help of the group' printed 'rules set '
run rules --help
check '--help of both' printed 'meshlog rules [--as-of ID]'
refused 'a word that the group does not have' 2 usage "no command 'rules list'" rules list
refused 'a group that is no command' 2 usage 'needs one more word' claim

# Graphs
run --json graph
check 'graph' ended 0
check 'graph fields' has_fields ok nodes edges id type status from to
check 'an edge goes from what rests to what bears it' printed "{\"from\":\"$london\",\"to\":\"$mail\"}"
run --json graph "$said"
check 'graph around one' same "$(grep -o '"id"' "$work/out" | wc -l)" 3
run --json graph "$said" --as-of "$said"
check 'graph as it was' ended 0
refused 'graph before it was there' 1 unknown_id 'no record' graph "$said" --as-of "$london"
refused 'graph in a format that is none' 2 usage 'json or dot' graph --format svg
refused 'graph of nothing' 1 unknown_id 'No record' graph "$nobody"
run graph --format dot
check 'graph as dot: what it is' printed "\"$mail\" [shape=note, label=\"Present evidence\\nmail\"];"
check 'graph as dot: quotes' printed 'label="Claim claim\nHe said \"no\" \\ and went."'
check 'graph as dot: an edge' printed "\"$london\" -> \"$mail\";"
if command -v dot >/dev/null; then
    check 'graphviz reads it' dot -Tsvg -o "$work/graph.svg" "$work/out"
    for machine in node claim episode action job execution; do
        run fsm "$machine" --format dot
        check "graphviz reads $machine" dot -Tsvg -o "$work/fsm.svg" "$work/out"
    done
else
    skip_test 'graphviz is not here'
fi

# Digests
run --json digest
check 'digest fields' has_fields ok digest records ops log as_of
check 'digest counts settings too' same "$(field records)" $((all + 1))
digest=$(field digest)
log=$(field log)
run --json frontier
check 'its log is that of the frontier' printed "\"log\":\"$log\""
run --json rebuild
check 'rebuild' ended 0
check 'rebuild fields' has_fields ok digest same records ops seconds
check 'rebuild changes nothing' printed "\"digest\":\"$digest\",\"same\":true"
run --json digest --as-of "$confirm"
check 'digest as it was' printed '"log":null'
then=$(field digest)
check 'it is another' test "$digest" != "$then"
refused 'digest as of nothing' 1 unknown_id 'No op' digest --as-of "$nobody"
refused 'rebuild has no past' 2 usage 'no flag here' rebuild --as-of "$confirm"
run digest
check 'digest for people' printed "digest  $digest"

# A fold version that this program does not know
refused 'a fold version from the future' 1 bad_payload 'folds by version 1' rules set fold_version 2
refused 'a fold version that is none' 1 bad_payload 'folds by version 1' rules set fold_version soon
run --json rules set fold_version 1
check 'the one that it knows' printed '"verdict":"applied","reason":null,"rule":null'
run --json digest
check 'folds that do not end' printed '"folds_end":null'
run --json append SetMeshRules --payload '{"rules":{"fold_version":2}}'
end=$(field id)
run --json claim add --text 'later'
check 'an op after one from elsewhere' ended 0
check 'makes nothing' printed '"verdict":"pending","reason":"version_unknown","rule":null'
check 'and nothing is said to be' printed '"status":null'
pending=$(field op)
run claim add --text 'later still'
check 'people are told' complained 'it is pending (version_unknown) and has changed nothing'
run why "$pending"
check 'why tells what it says' printed 'says       later'
check 'why tells that it is pending' printed 'pending: version_unknown'
run --json digest
check 'digest tells where the folds ended' printed "\"folds_end\":\"$end\""
run digest
check 'also people' printed "The folds end at $end"
totals
