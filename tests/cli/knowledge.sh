#!/usr/bin/env bash
# knowledge.sh - evidence, entities, claims, episodes, actions, artifacts and rules by command: what
# each makes, changes and refuses; and what two stores make of each other's.
# (tests/unit/test_claims.c has ops that no command would sign.)
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

phone="$work/phone"
nobody=01ARZ3NDEKTSV4RRFFQ69G5FAV
ops_in() { "$MESHLOG" --json --store "$1" frontier | sed -n 's/.*,"ops":\([0-9]*\),"log".*/\1/p'; }
blobs_in() { find "$1/blobs" -type f 2>/dev/null | wc -l; }
# make WORD…: run a command that makes a record, and leave its id in $id.
make() {
    run --json "$@"
    id=$(field id)
    [ "$code" -eq 0 ] || show_run
}
# carry FROM TO: everything that FROM has.
carry() {
    "$MESHLOG" --store "$1" export - 2>/dev/null | "$MESHLOG" --store "$2" import - >"$work/carried" 2>&1
}
# verdict_of STORE OP: "rejected fsm no_move"
verdict_of() {
    "$MESHLOG" --json --store "$1" why "$2" |
        sed -n 's/.*"verdict":"\([a-z]*\)","reason":"\{0,1\}\([a-z_]*\)"\{0,1\},"rule":"\{0,1\}\([a-z_]*\).*/\1 \2 \3/p'
}
# changed_with TYPE FROM TO
changed_with() { printed "\"type\":\"$1\",\"from\":\"$2\",\"to\":\"$3\""; }
refused_by() {
    local what=$1 reason=$2 rule=$3 before
    shift 3
    before=$(ops_in "${store:-$MESHLOG_STORE}")
    run --json ${store:+--store "$store"} "$@" </dev/null
    check "$what: exit code" ended 1
    check "$what: $reason, $rule" by_rule "$reason" "$rule"
    check "$what: says that nothing was signed" printed 'Nothing was signed.'
    check "$what: nothing was" same "$(ops_in "${store:-$MESHLOG_STORE}")" "$before"
}

refused 'evidence without a store' 1 no_store 'init' evidence add "$0" --type file
check 'and none is made' test ! -e "$MESHLOG_STORE"
refused 'a claim without a store' 1 no_store 'init' claim add --text t
run --json init --name laptop
mesh=$(field mesh)

# Evidence
printf 'a talk with Ada\n' >"$work/talk"
hash=$(b2sum -l 256 "$work/talk" | cut -d ' ' -f 1)
refused 'evidence of no sort' 2 usage '--type' evidence add "$work/talk"
refused 'evidence of no file' 1 io 'cannot be read' evidence add "$work/none" --type file
refused 'evidence of a folder' 1 io 'cannot be read' evidence add "$work" --type file
check 'nothing is left of them' same "$(find "$MESHLOG_STORE/blobs" -type f)" ''
run --json evidence add "$work/talk" --type talk
check 'evidence add' ended 0
check 'evidence add fields' has_fields ok id hash size duplicate op
check 'its hash' same "$(field hash)" "$hash"
check 'its size' same "$(field size)" 16
talk=$(field id)
check 'where it is' cmp "$work/talk" "$MESHLOG_STORE/blobs/${hash:0:2}/$hash"
check 'for us alone' same "$(stat -c %a "$MESHLOG_STORE/blobs" "$MESHLOG_STORE/blobs/${hash:0:2}/$hash" | xargs)" '700 600'
run --json evidence add - --type talk --anchor monday --media text/plain <"$work/talk"
check 'evidence from stdin' ended 0
anchored=$(field id)
check 'which is new' printed '"duplicate":false'
check 'the content is there once' same "$(blobs_in "$MESHLOG_STORE")" 1
before=$(ops_in "$MESHLOG_STORE")
run --json evidence add "$work/talk" --type talk --anchor monday --media text/plain
check 'the same from the same place' ended 0
check 'is there already' printed '"duplicate":true'
check 'as the same record' same "$(field id)" "$anchored"
check 'without an op' same "$(ops_in "$MESHLOG_STORE")" "$before"
run evidence add "$work/talk" --type talk --anchor monday --media text/plain
check 'people are told so' printed 'there already'
run evidence get "$talk"
check 'evidence get' same "$code$out" '0a talk with Ada'
run --json evidence get "$talk" --out "$work/got"
check 'evidence get into a file' ended 0
check 'evidence get fields' has_fields id hash size file
check 'evidence get: the file' cmp "$work/talk" "$work/got"
refused 'evidence get over a file' 1 exists 'is there already' evidence get "$talk" --out "$work/got"
refused 'evidence get of nothing' 1 unknown_id 'No record' evidence get "$nobody"
"$MESHLOG" --json evidence get "$talk" >"$work/out" 2>"$work/err"
check 'content on stdout is nothing but content' cmp "$work/talk" "$work/out"
check 'JSON goes elsewhere then' grep -q '"ok":true' "$work/err"
printf 'another talk....' >"$MESHLOG_STORE/blobs/${hash:0:2}/$hash"
refused 'evidence get of damaged content' 1 corrupt 'damaged' evidence get "$talk" --out "$work/bad"
check 'nothing of it is given' test ! -e "$work/bad"
run --json verify
check 'verify finds it' printed "\"hash\":\"$hash\",\"problem\":\"bad_blob\""
check 'verify: exit code' ended 1
run verify
check 'verify for people' printed "bad_blob  content $hash"
run --json evidence add "$work/talk" --type talk --anchor monday --media text/plain
check 'adding it again mends it' ended 0
run --json verify
check 'verify is content' ended 0
check 'verify counts content' same "$(field blobs)" 1
rm "$MESHLOG_STORE/blobs/${hash:0:2}/$hash"
refused 'evidence get of content that is elsewhere' 1 content_absent 'not on this device' \
    evidence get "$talk"
run verify
check 'which is no damage' ended 0
make evidence add "$work/talk" --type talk
run --json backup "$work/copy"
check 'backup copies content' same "$(field blobs)$(blobs_in "$work/copy")" 11
run --store "$work/copy" evidence get "$talk"
check 'and it can be got from there' same "$out" 'a talk with Ada'

# Bad input
refused_by 'a target that is not there' unknown_target no_target claim status "$nobody" Claim
refused_by 'a target of another type' unknown_target wrong_type claim status "$talk" Claim
refused_by 'a support that is not there' unknown_target support_missing claim add --text t \
    --support "$nobody"
make entity add Ada --type person
ada=$id
refused_by 'a support that nothing can rest on' unknown_target support_type claim add --text t \
    --support "$ada"
refused_by 'evidence is not confirmed' fsm not_for_type claim confirm "$talk"
refused_by 'evidence that is not there' unknown_target no_target evidence tombstone "$nobody" --erase
refused_by 'an entity merged with itself' fsm itself entity merge "$ada" "$ada"
before=$(ops_in "$MESHLOG_STORE")
refused 'no id at all' 2 usage 'is no id' claim confirm hello
refused 'a prefix of nothing' 1 unknown_id 'No record' claim confirm 01ARZ3N
refused 'a claim of nothing' 1 bad_payload 'subject, predicate and object' claim add
refused 'half a claim' 1 bad_payload 'subject, predicate and object' claim add --subject Ada
refused 'a claim of too much' 1 bad_payload '16384' claim add \
    --text "$(head -c 16385 /dev/zero | tr '\0' x)"
refused 'a confidence over all' 1 bad_payload '1000000' claim add --text t --confidence 1000001
refused 'a confidence that is a fraction' 1 bad_payload '1000000' claim add --text t --confidence 0.5
refused 'a rule of no number' 1 bad_payload 'claim_threshold' rules set claim_threshold high
refused 'a coordinator that nobody knows' 1 unknown_id 'called' coordinator nobody
refused 'rules of no kind' 2 usage "no command 'rules change'" rules change x
check 'nothing was signed' same "$(ops_in "$MESHLOG_STORE")" "$before"

# Claims
run --json claim add --subject Ada --predicate born --object 1815 --support "$talk" --key a1
check 'claim add' ended 0
check 'claim add fields' has_fields id status duplicate
check 'claim add: a Claim' printed '"status":"Claim"'
claim=$(field id)
before=$(ops_in "$MESHLOG_STORE")
run --json claim add --subject Ada --predicate born --object 1815 --support "${talk:0:20}" --key a1
check 'claim add again' ended 0
check 'claim add again: the same' printed "\"id\":\"$claim\",\"type\":\"claim\",\"status\":\"Claim\""
check 'claim add again: is there' printed '"duplicate":true'
check 'claim add again: no op' same "$(ops_in "$MESHLOG_STORE")" "$before"
run --json claim add --subject Ada --predicate born --object 1816 --support "$talk" --key a1
check 'the same key with other content is another' printed '"duplicate":false'
other=$(field id)
make claim add --text 'perhaps' --confidence 400000
hint=$id
check 'below the threshold it is a Hint' printed '"status":"Hint"'
refused_by 'a hint stays one below the threshold' fsm below_threshold claim status "$hint" Claim
refused_by 'no op makes a Fact of it but a confirm' fsm status_not_settable claim status "$hint" Fact
refused 'a status that there is not' 1 bad_payload 'Disputed' claim status "$hint" Certain
run --json claim confidence "$hint" '{"model":900000,"source":600000}'
check 'claim confidence' ended 0
run --json claim status "$hint" Claim
check 'claim status' printed '"status":"Claim"'
run --json claim status "$other" Disputed
check 'a claim that another contradicts' printed '"status":"Disputed"'
refused_by 'a claim that none contradicts' fsm no_conflict claim status "$hint" Disputed
run --json claim confirm "${claim:0:10}"
check 'claim confirm' ended 0
check 'claim confirm fields' has_fields op id status changed
check 'claim confirm: a Fact' printed "\"id\":\"$claim\",\"type\":\"claim\",\"status\":\"Fact\""
run --json show "$(field op)"
check 'it names the op that it means' printed '"assert":"confirm","hash":{"/":{"bytes":'
version=$(field id)
run --json claim pin "$claim" --if-version "$version"
check 'claim pin' printed '"status":"Fact","pinned":true'
refused_by 'a version that has passed' stale_version version_taken claim hide "$claim" --if-version "$version"
refused_by 'a version that never was' stale_version version_gone claim hide "$claim" --if-version "$talk"
run --json claim hide "$claim"
check 'claim hide' printed '"pinned":true,"hidden":true'
run --json claim pin "$claim" --undo
run --json claim hide "$claim" --undo
check 'and back' printed '"pinned":false,"hidden":false'
run --json claim edit "$claim" 1815-12-10
check 'claim edit' printed '"status":"Superseded"'
edited=$(field op)
check 'claim edit makes another' printed "{\"id\":\"$edited\",\"type\":\"claim\",\"from\":null,\"to\":\"Fact\"}"
run --json claim supersede "$other" "$edited"
check 'claim supersede' printed '"status":"Superseded"'
refused_by 'a replacement that is none' fsm no_replacement claim supersede "$hint" "$hint"
run --json claim lane "$hint" block
check 'a claim without a lane' by_rule fsm no_lane
run --json claim lane "$edited" block
check 'claim lane' printed '"type":"lane","from":null,"to":"Blocked"'
make claim add --text 'on the hint' --support "$hint"
on_hint=$id
make episode add 'Lunch with Ada' --support "$on_hint"
episode=$id
make action add 'Call Ada' --type call --support "$on_hint"
action=$id
make artifact add summary "$work/talk" --support "$episode" --media text/plain
artifact=$id
run --json claim reject "$hint"
check 'claim reject' printed '"status":"Rejected"'
check 'and what rests on it' same "$(field changed_total)" 4
check 'a claim' changed_with claim Claim Stale
check 'an episode' changed_with episode Active Stale
check 'an action' changed_with action Proposed Rejected
check 'an artifact' changed_with artifact Fresh Stale
run claim confirm "$on_hint"
check 'claim confirm for people' printed "claim  $on_hint  Fact"
run claim reject "$on_hint"
run claim confirm "$hint"
run claim reject "$hint"
check 'claim reject for people' printed "claim  $hint  Rejected"

# Episodes, actions, artifacts, entities
run --json episode title "$episode" Lunch
check 'episode title' printed '"type":"episode","status":"Stale"'
run --json episode status "$episode" Active
check 'episode status' printed '"status":"Active"'
refused 'an episode of no status' 1 bad_payload 'Archived' episode status "$episode" Gone
make action add 'Write to Ada'
action2=$id
run --json action status "$action2" Approved
check 'action status' printed '"status":"Approved"'
refused_by 'an action that is proposed again' fsm status_not_settable action status "$action2" Proposed
refused_by 'an action has no such move' fsm no_move action status "$action2" Completed
run --json claim confirm "$action"
check 'an action can be confirmed' printed '"type":"action","status":"Approved"'
run evidence get "$artifact"
check 'an artifact has content' same "$out" 'a talk with Ada'
run --json artifact evict "$artifact"
check 'artifact evict' printed '"status":"Evicted"'
make artifact add note
check 'an artifact without content' printed '"hash":null,"size":null'
run --json entity alias "$ada" Augusta
check 'entity alias' printed "\"id\":\"$ada\",\"type\":\"entity\""
check 'entity alias fields' has_fields op
make entity add 'Ada King'
run --json entity merge "$id" "$ada"
check 'entity merge' ended 0
run --json entity split "$ada" --alias Augusta --alias Countess
check 'entity split' ended 0
check 'entity split fields' has_fields op id
check 'entity split makes another' same "$(field id)" "$(field op)"
run --json entity split "$ada" --alias Augusta
check 'an entity can be split again' ended 0
refused 'an entity split of nothing' 1 bad_payload 'names' entity split "$ada"
run --json rules set claim_threshold 700000
check 'rules set' ended 0
check 'rules set fields' has_fields op changed
make claim add --text 'not so sure' --confidence 600000
check 'the new rule holds' printed '"status":"Hint"'
run --json rules set house 'no smoking'
check 'rules of our own' ended 0
run --json coordinator laptop
check 'coordinator' printed '"type":"coordinator","from":null,"to":"Set"'
run --json route video.encode laptop
check 'route' printed '"type":"route","from":null,"to":"Set"'
run route video.encode
check 'route to anybody' ended 0

# Tombstones
make claim add --text 'from the talk' --support "$anchored"
from_talk=$id
run --json claim confirm "$from_talk"
run --json evidence tombstone "$anchored" --reason 'it was another Ada'
check 'evidence tombstone' ended 0
check 'evidence tombstone fields' has_fields op
check 'it goes through a Fact' printed "{\"id\":\"$from_talk\",\"type\":\"claim\",\"from\":\"Fact\",\"to\":\"Stale\"}"
refused_by 'evidence that is gone' fsm no_move evidence tombstone "$anchored"
run evidence get "$anchored"
check 'its content is still here' ended 0
printf 'a secret' >"$work/secret"
make evidence add "$work/secret" --type note
secret=$id
secret_hash=$(field hash)
secret_file="$MESHLOG_STORE/blobs/${secret_hash:0:2}/$secret_hash"
make claim add --text 'from the secret' --support "$secret"
from_secret=$id
run --json evidence tombstone "$secret" --erase
check 'evidence tombstone --erase' ended 0
check 'it has both ops' has_fields op erase
check 'what rests on it is stale' printed "{\"id\":\"$from_secret\",\"type\":\"claim\",\"from\":\"Claim\",\"to\":\"Stale\"}"
check 'the op is void' same "$(verdict_of "$MESHLOG_STORE" "$secret")" 'void erased null'
refused 'evidence get of what is erased' 1 unknown_id 'has made no record' evidence get "$secret"
run --json compact
check 'within the grace' test -e "$secret_file"
run --json compact --final
check 'compact --final takes the content' same "$(field blobs)" 1
check 'from the disk' test ! -e "$secret_file"
run --json evidence tombstone "$anchored" --erase
check 'what is tombstoned can be erased' ended 0
run --json compact --final
check 'what others name stays' test -e "$MESHLOG_STORE/blobs/${hash:0:2}/$hash"
run verify
check 'all is whole' ended 0

# A file that somebody left who was killed goes with the next who writes
touch "$MESHLOG_STORE/blobs/new-abcdef" "$MESHLOG_STORE/blobs/notes"
ln -s "$work/talk" "$MESHLOG_STORE/blobs/new-ghijkl"
make claim add --text 'on'
check 'it is removed' test ! -e "$MESHLOG_STORE/blobs/new-abcdef"
check 'what is not ours stays' test -e "$MESHLOG_STORE/blobs/notes" -a -L "$MESHLOG_STORE/blobs/new-ghijkl"
check 'and what it points to' test -e "$work/talk"
rm "$MESHLOG_STORE/blobs/new-ghijkl"

# A full disk
head -c 3000000 /dev/urandom >"$work/large"
(
    trap '' XFSZ
    ulimit -f 2000
    "$MESHLOG" --json evidence add "$work/large" --type file >"$work/out" 2>"$work/err"
)
check 'full disk: says so' grep -q '"error":"disk_full"' "$work/out"
check 'full disk: nothing is left' same "$(blobs_in "$MESHLOG_STORE")" 2
run --json evidence add "$work/large" --type file
check 'with room it goes on' ended 0

# Killed on the way: the content is whole or not there, and the log as it was
for after in 0.001 0.005 0.01 0.02 0.04; do
    head -c 8000000 /dev/urandom >"$work/large"
    "$MESHLOG" --json evidence add "$work/large" --type file >"$work/killed" 2>/dev/null &
    sleep "$after"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    run --json verify
    check "killed after $after: the store is whole" ended 0
    run --json claim add --text "after $after"
    check "killed after $after: it goes on" ended 0
    check "killed after $after: no half is left" same "$(find "$MESHLOG_STORE/blobs" -name 'new-*')" ''
done

# At once
pids=()
for i in 1 2 3; do
    "$MESHLOG" --json evidence add "$work/large" --type file --anchor "at once $i" >"$work/once.$i" &
    pids+=($!)
done
wait "${pids[@]}"
check 'the same content three times at once' same "$(cat "$work"/once.* | grep -c '"duplicate":false')" 3
large_hash=$(b2sum -l 256 "$work/large" | cut -d ' ' -f 1)
check 'is kept once, and whole' cmp "$work/large" "$MESHLOG_STORE/blobs/${large_hash:0:2}/$large_hash"

# A second device that may claim, and not assert
run --json --store "$phone" init --mesh "$mesh" --name phone
did=$(field node)
run --json delegate "$did" --cmd /claim --out "$work/phone.token"
run --json --store "$phone" accept "$work/phone.token"
check 'the phone is in' ended 0
carry "$MESHLOG_STORE" "$phone"
make claim add --subject Bob --predicate born --object 1900
fact=$id
make claim add --subject Bob --predicate born --object 1901
carry "$MESHLOG_STORE" "$phone"
store=$phone
before=$(ops_in "$phone")
refused 'a node that may not assert' 1 no_grant 'token' --store "$phone" claim confirm "$fact"
refused 'a node that may not add evidence' 1 no_grant 'token' --store "$phone" evidence add "$work/talk" \
    --type talk
check 'nothing was signed' same "$(ops_in "$phone")" "$before"
check 'and no content is left' same "$(blobs_in "$phone")" 0
refused 'content that was not carried' 1 content_absent 'not on this device' --store "$phone" \
    evidence get "$talk"

run --json delegate "$did" --cmd /assert --policy '[["==",".assert","confirm"]]'
carry "$MESHLOG_STORE" "$phone"
refused 'a node that may assert only so' 1 not_user_bearing '/assert without a policy' \
    --store "$phone" claim confirm "$fact"

# The phone changes what the user has decided meanwhile: here it is applied, there it is not
run --json --store "$phone" claim status "$fact" Disputed
check 'the phone disputes it' printed '"status":"Disputed"'
disputing=$(field op)
run --json claim confirm "$fact"
carry "$phone" "$MESHLOG_STORE"
carry "$MESHLOG_STORE" "$phone"
check 'disputed before, confirmed after' same "$(verdict_of "$MESHLOG_STORE" "$disputing")" 'applied null null'
store=$phone
refused_by 'a Fact is frozen' frozen fact_frozen claim status "$fact" Disputed
unset store
make claim add --subject Carl --predicate born --object 1800
carl=$id
make claim add --subject Carl --predicate born --object 1801
carry "$MESHLOG_STORE" "$phone"
run --json claim confirm "$carl"
run --json --store "$phone" claim status "$carl" Disputed
check 'the phone has not heard of the confirm' ended 0
disputing=$(field op)
carry "$phone" "$MESHLOG_STORE"
check 'its op is kept here' same "$(verdict_of "$MESHLOG_STORE" "$disputing")" 'rejected frozen fact_frozen'
run why "$disputing"
check 'why says what the command says' printed 'The claim is a Fact: only the user can change it.'
carry "$MESHLOG_STORE" "$phone"
check 'and there, once it has' same "$(verdict_of "$phone" "$disputing")" 'rejected frozen fact_frozen'

# A third has the phone's ops alone: what they are about is not there
"$MESHLOG" --store "$work/third" init --mesh "$mesh" --name third >/dev/null 2>&1
run --json --store "$phone" claim add --text 'on the fact' --support "$fact"
resting=$(field op)
"$MESHLOG" --store "$phone" export "$work/alone" --author "$did" >/dev/null 2>&1
"$MESHLOG" --store "$work/third" import "$work/alone" >/dev/null 2>&1
check 'a target that is not there' same "$(verdict_of "$work/third" "$disputing")" \
    'rejected unknown_target no_target'
check 'a support that is not there' same "$(verdict_of "$work/third" "$resting")" \
    'rejected unknown_target support_missing'
carry "$MESHLOG_STORE" "$work/third"
check 'with the rest they are as elsewhere' same "$(verdict_of "$work/third" "$disputing") $(verdict_of "$work/third" "$resting")" \
    'rejected frozen fact_frozen applied null null'

# A revocation's preview has the records that change, as they do then
run --json --store "$phone" claim add --text 'by the phone'
by_phone=$(field id)
carry "$phone" "$MESHLOG_STORE"
make claim add --text 'by the laptop' --support "$by_phone"
by_laptop=$id
make episode add 'A day' --support "$by_laptop"
day=$id
records() { sed -n 's/.*"records":\(\[[^]]*\]\).*/\1/p' "$work/out"; }
run --json revoke phone --void-all --dry-run
check 'revoke --dry-run' ended 0
total=$(field records_total)
records >"$work/dry"
check 'a record that goes' printed "{\"id\":\"$by_phone\",\"type\":\"claim\",\"from\":\"Claim\",\"to\":null}"
check 'what rests on it' printed "{\"id\":\"$by_laptop\",\"type\":\"claim\",\"from\":\"Claim\",\"to\":\"Stale\"}"
check 'and on that' printed "{\"id\":\"$day\",\"type\":\"episode\",\"from\":\"Active\",\"to\":\"Stale\"}"
check 'they are counted' same "$(grep -o '"type"' "$work/dry" | wc -l)" "$total"
run --json claim confirm "$by_laptop"
check 'nothing was done' printed '"status":"Fact"'
run --json revoke phone --void-all --dry-run
records >"$work/dry"
check 'a Fact would stay' test -z "$(grep "$by_laptop" "$work/dry")"
run --json revoke phone --void-all
check 'revoke' ended 0
records >"$work/done"
check 'the same records change' cmp "$work/dry" "$work/done"
check 'for good' same "$(verdict_of "$MESHLOG_STORE" "$by_phone")" 'void revoked null'
run claim confirm "$by_phone"
check 'a confirm brings one back' printed "claim  $by_phone  Fact"
check 'on the word of the user' same "$(verdict_of "$MESHLOG_STORE" "$by_phone")" 'applied null null'

totals
