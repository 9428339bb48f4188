#!/usr/bin/env bash
# authority.sh - admit a device, see what it may, take it back: by command, on two stores.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

phone="$work/phone"
on_phone() { run --store "$phone" "$@"; }
# claim STORE TEXT: append one, and leave its id in $id.
claim() {
    run --json --store "$1" append CreateClaim --payload "{\"text\":\"$2\"}"
    id=$(field id)
}
# carry FROM TO: everything that FROM has.
carry() {
    "$MESHLOG" --store "$1" export - 2>/dev/null | "$MESHLOG" --store "$2" import - >"$work/carried" 2>&1
}
# verdict_of STORE ID: "void revoked"
verdict_of() {
    "$MESHLOG" --json --store "$1" show "$2" |
        sed -n 's/.*"verdict":"\([a-z]*\)","reason":"\{0,1\}\([a-z_]*\).*/\1 \2/p'
}
# state_of STORE NAME [FLAG…]
state_of() {
    local store=$1 name=$2
    shift 2
    "$MESHLOG" --json --store "$store" nodes "$@" |
        sed -n "s/.*\"name\":\"$name\",\"state\":\"\\([A-Za-z]*\\)\".*/\\1/p"
}
ops_in() { "$MESHLOG" --json --store "$1" frontier | sed -n 's/.*,"ops":\([0-9]*\),"log".*/\1/p'; }
now() { date +%s; }

refused 'nodes without a store' 1 no_store 'init' nodes
refused 'grants without a store' 1 no_store 'init' grants laptop
refused 'revoke without a store' 1 no_store 'init' revoke laptop
refused 'delegate without a store' 1 no_store 'init' delegate \
    did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --cmd /
refused 'accept without a store' 1 no_store 'init' accept "$work/none"

# The first device
run --json init --name laptop
mesh=$(field mesh)
laptop=$(field node)
run --json nodes
check 'nodes' ended 0
check 'nodes fields' has_fields node name state owner user_bearing ops last_ms
check 'the first node is active' printed '"state":"Active","owner":true,"user_bearing":true,"ops":1'
check 'and has its name' printed '"name":"laptop"'
run nodes
check 'nodes for people' printed "$laptop  laptop  1 op"
run --json grants laptop
check 'grants by name' ended 0
check 'grants fields' has_fields cid iss aud sub cmd pol nbf exp meta op chain in_force reason
check 'the root has issued it' printed "\"iss\":\"$mesh\",\"aud\":\"$laptop\",\"sub\":\"$mesh\""
check 'without an end' printed '"nbf":null,"exp":null,"meta":null'
check 'it is in force' printed '"in_force":true,"reason":null'
own=$(field cid)
run --json grants "$laptop"
check 'grants by did:key' same "$(field cid)" "$own"
run --json grants "${laptop:0:20}"
check 'grants by a beginning of it' same "$(field cid)" "$own"
run grants laptop
check 'grants for people' printed 'in force'
refused 'grants of too few letters' 2 usage 'or more letters' grants "${laptop:0:14}"
refused 'grants of nobody' 1 unknown_id "called 'nobody'" grants nobody
refused 'grants of a beginning that nobody has' 1 unknown_id 'meshlog nodes' grants did:key:z6MkZZZZZZZ
refused 'grants at no time' 2 usage 'Unix seconds' grants laptop --at yesterday
refused 'nodes at no time' 2 usage 'Unix seconds' nodes --at -5

# A second one
run --json --store "$phone" init --mesh "$mesh" --name phone
check 'init --mesh' ended 0
check 'it has no op yet' printed '"first_op":null'
did=$(field node)
run --json grants "$did"
check 'a node without grants' same "$code$(wc -l <"$work/out")" 00
check 'is told of' complained 'No token here'
refused 'append before accept' 1 unknown_author 'meshlog accept' --store "$phone" \
    append CreateClaim --payload '{"text":"t"}'
refused 'delegate before accept' 1 unknown_author 'meshlog accept' --store "$phone" \
    delegate "$laptop" --cmd /

# delegate refuses, and signs nothing
before=$(ops_in "$MESHLOG_STORE")
refused 'delegate to nobody' 2 usage 'Say whom' delegate --cmd /
refused 'delegate nothing' 2 usage 'Say what' delegate "$did"
refused 'delegate to a name' 2 usage 'is no node' delegate phone --cmd /
refused 'delegate to another method' 2 usage 'is no node' delegate did:web:example.org --cmd /
refused 'delegate to a key that cannot sign' 2 usage 'no key that can sign' \
    delegate did:key:z6MkeTG3bFFSLYVU7VqhgZxqr6YzpaGrQtFMh1uvqGy1vDnP --cmd /
refused 'delegate to the root' 2 usage 'root of the mesh' delegate "$mesh" --cmd /
refused 'delegate to oneself' 2 usage 'itself' delegate "$laptop" --cmd /
refused 'a command without a slash' 2 usage '--cmd is a path' delegate "$did" --cmd claim
refused 'a command with a slash at its end' 2 usage '--cmd is a path' delegate "$did" --cmd /claim/
refused 'a command with capitals' 2 usage '--cmd is a path' delegate "$did" --cmd /Claim
refused 'an empty command' 2 usage '--cmd is a path' delegate "$did" --cmd ''
refused 'a policy that is no JSON' 1 bad_json '--policy' delegate "$did" --cmd / --policy '['
refused 'a policy that is no array' 1 malformed 'array of statements' delegate "$did" --cmd / \
    --policy '{}'
refused 'a policy with an unknown operator' 1 malformed 'pol[0]' delegate "$did" --cmd / \
    --policy '[["~",".a",1]]'
refused 'a policy with a bad selector' 1 malformed 'selector' delegate "$did" --cmd / \
    --policy '[["==","a",1]]'
refused 'an expiry without a unit' 2 usage 'in the past' delegate "$did" --cmd / --expires 90
refused 'an expiry of no kind' 2 usage 'a duration such as' delegate "$did" --cmd / --expires soon
refused 'an expiry with a wrong unit' 2 usage 'a duration such as' delegate "$did" --cmd / --expires 3w
refused 'an expiry of now' 2 usage 'in the past' delegate "$did" --cmd / --expires 0s
refused 'an expiry far away' 2 usage 'too far away' delegate "$did" --cmd / --expires 285616413y
refused 'an expiry beyond all numbers' 2 usage 'a duration such as' delegate "$did" --cmd / \
    --expires 99999999999999999999d
refused 'an end before its beginning' 2 usage 'never in force' delegate "$did" --cmd / \
    --expires 1d --not-before "$(($(now) + 172800))"
refused 'a beginning of no kind' 2 usage '--not-before needs' delegate "$did" --cmd / --not-before 1d
refused 'meta that is no object' 1 bad_json 'JSON object' delegate "$did" --cmd / --meta '[]'
refused 'meta that means nothing' 1 bad_payload 'meshlog.sanitize' delegate "$did" --cmd / \
    --meta '{"meshlog.what":1}'
refused 'as somebody else' 2 usage 'node or root' delegate "$did" --cmd / --as me
refused 'as the node with a root' 2 usage '--as root' delegate "$did" --cmd / --as node --root x
refused 'renewal with a command' 2 usage 'leave out --cmd' delegate --renew "$own" --cmd /
refused 'renewal of no CID' 2 usage 'whole CID' delegate --renew bafy
refused 'renewal of an unknown token' 1 unknown_id 'CID' delegate --renew \
    bafyreiflvw2aj5hzveqfij2rlu2ivp2dgcgwfqf63zsw7jbnqfqqblmhqy
refused "renewal of the root's" 1 no_grant '--as root' delegate --renew "$own"
refused 'renewal of what does not end' 1 no_grant 'does not end' delegate --renew "$own" --as root
touch "$work/there"
refused 'a file that is there' 1 exists 'is there already' delegate "$did" --cmd / --out "$work/there"
refused 'a file in no folder' 1 io 'cannot be written' delegate "$did" --cmd / --out "$work/no/file"
check 'nothing was signed' same "$(ops_in "$MESHLOG_STORE")" "$before"
check 'no file was left' same "$(find "$work" -name '*.token*' -o -name 'there.*')" ''

# delegate
run --json delegate "$did" --cmd / --out "$work/phone.token"
check 'delegate' ended 0
check 'delegate fields' has_fields ok op cid file iss aud cmd nbf exp
check 'it ends after 90 days' test $(($(field exp) - $(now) - 7776000 + 60)) -le 120
token=$(field cid)
check 'the file has the token and one proof' same "$(wc -l <"$work/phone.token")" 2
run --json ucan inspect "$work/phone.token"
check 'the first is the token' same "$(field cid)" "$token"
check 'its signature is good' printed '"signature_ok":true'
check 'its author is pinned' printed "\"pol\":[[\"==\",\".op.author\",\"$did\"]]"
refused 'delegate into the same file' 1 exists 'is there already' delegate "$did" --cmd / \
    --out "$work/phone.token"
run --json nodes
check 'a node that has not written yet' printed \
    "\"node\":\"$did\",\"name\":null,\"state\":\"Pending\""

# accept refuses
printf 'x\n' >"$work/bad.token"
: >"$work/empty.token"
head -n 1 "$work/phone.token" >"$work/alone.token"
tail -n 1 "$work/phone.token" >"$work/proof.token"
{ cat "$work/phone.token" && tail -n 1 "$work/phone.token"; } >"$work/twice.token"
{ head -n 1 "$work/phone.token" | sed 's/^\(glhA..........\)A/\1B/; t; s/^\(glhA..........\)./\1A/' && tail -n 1 "$work/phone.token"; } >"$work/forged.token"
for ((i = 0; i < 9; i++)); do head -n 1 "$work/phone.token"; done >"$work/long.token"
mint() { "$MESHLOG" ucan mint --aud "$did" --cmd / --out "$work/$1" "${@:2}" >/dev/null; }
mint ended.token --key "$MESHLOG_STORE/root.key" --sub "$mesh" --exp 1500000000
mint power.token --key "$MESHLOG_STORE/root.key" --sub null
mint invocation.token --invocation --key "$MESHLOG_STORE/root.key" --sub "$mesh"
accept=(--store "$phone" accept)
refused 'accept of no file' 1 io 'cannot be opened' "${accept[@]}" "$work/none"
refused 'accept of a folder' 1 io 'cannot be read' "${accept[@]}" "$work"
refused 'accept of nothing' 1 malformed 'is empty' "${accept[@]}" "$work/empty.token"
refused 'accept of something else' 1 malformed 'Line 1' "${accept[@]}" "$work/bad.token"
refused 'accept without proofs' 1 no_grant 'no chain of tokens' "${accept[@]}" "$work/alone.token"
refused 'accept of another node' 1 no_grant 'not for this node' "${accept[@]}" "$work/proof.token"
refused 'accept of a broken chain' 1 no_grant 'Line 3' "${accept[@]}" "$work/twice.token"
refused 'accept of a forged token' 1 bad_signature 'not signed' "${accept[@]}" "$work/forged.token"
refused 'accept of too many' 1 too_large 'more than 8' "${accept[@]}" "$work/long.token"
refused 'accept of what has ended' 1 no_grant 'ended at 2017' "${accept[@]}" "$work/ended.token"
refused 'accept of a powerline' 1 no_grant 'names no subject' "${accept[@]}" "$work/power.token"
refused 'accept of an invocation' 1 malformed 'is an invocation' "${accept[@]}" "$work/invocation.token"
refused 'accept where a node is admitted' 1 exists 'admitted already' accept "$work/phone.token"
run --json --store "$work/other" init --name other
check 'another mesh' ended 0
run --json --store "$work/other" delegate "$did" --cmd / --out "$work/other.token"
refused 'accept of another mesh' 1 wrong_mesh 'about the mesh' "${accept[@]}" "$work/other.token"
check 'nothing came of it' same "$(ops_in "$phone")" 0

# accept
on_phone --json accept "$work/phone.token"
check 'accept' ended 0
check 'accept fields' has_fields ok op cid node state
check 'the node is active' printed "\"cid\":\"$token\",\"node\":\"$did\",\"state\":\"Active\""
on_phone show "$(field op)"
check 'its first op has its name' printed 'name: "phone"'
refused 'accept for the second time' 1 exists 'admitted already' "${accept[@]}" "$work/phone.token"
claim "$phone" 'from the phone'
first=$id
check 'it can write' printed '"verdict":"applied"'
carry "$phone" "$MESHLOG_STORE"
check 'on the other device it is applied too' same "$(verdict_of "$MESHLOG_STORE" "$first")" 'applied null'
check 'and the node is active' same "$(state_of "$MESHLOG_STORE" phone)" Active
check 'nor once its token has ended' same "$(state_of "$MESHLOG_STORE" phone --at "$(($(now) + 8000000))")" Suspended
run --json grants phone --at "$(($(now) + 8000000))"
check 'its token has ended by then' printed '"in_force":false,"reason":"not_in_force"'
run --json why "$first"
check 'why' ended 0
check 'why fields' has_fields id type kind author verdict reason rule by detail
check 'the token decides' printed "\"author\":\"$did\",\"name\":\"phone\",\"verdict\":\"applied\",\"reason\":null,\"rule\":null,\"by\":\"$token\""
run why "$first"
check 'why for people' printed 'by phone with CreateClaim, applied; allowed by the root → laptop (/) → phone (/).'
refused 'why of nothing' 1 unknown_id 'has the id' why 01000000000000000000000000
refused 'why of no id' 2 usage 'is no id' why '!'

# What a node may pass on
refused 'passing on what is pinned' 1 no_grant '--delegable' --store "$phone" \
    delegate did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --cmd /claim
run --json --store "$work/tablet" init --mesh "$mesh" --name tablet
tablet=$(field node)
run --json delegate "$tablet" --cmd /claim --delegable --expires 2d --out "$work/tablet.token"
check 'delegate --delegable' ended 0
tablet_token=$(field cid)
end=$(field exp)
run --json ucan inspect "$work/tablet.token"
check 'it is not pinned' printed '"pol":[]'
run --store "$work/tablet" accept "$work/tablet.token"
check 'accept for people' printed 'Active: it may /claim until'
refused 'passing on another command' 1 no_grant 'itself may not /evidence, so it cannot pass that on: it may /claim.' \
    --store "$work/tablet" delegate "$did" --cmd /evidence
third=did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK
run --json --store "$work/tablet" delegate "$third" --cmd /claim/create --out "$work/third.token"
check 'passing on a part' ended 0
check 'it ends with what is above it' same "$(field exp)" "$end"
run --store "$work/tablet" delegate "$third" --cmd /claim/create --expires 90d
check 'unless it shall end later' ended 0
check 'of which the end above is noted' complained 'ends before it'
check 'with both proofs' same "$(wc -l <"$work/third.token")" 3
claim "$work/tablet" 'from the tablet'
check 'it may do that' printed '"verdict":"applied"'
run --json --store "$work/tablet" append CreateEntity --payload '{"name":"Ada"}'
check 'and nothing else' printed '"error":"no_grant","message":"No token of its author allows what it does. Nothing was signed.","rule":null'
run --json delegate "$tablet" --cmd /evidence/ingest --policy '[["==",".source_type","calendar"]]' \
    --not-before now --meta '{"note":"only dates"}' --expires never
check 'delegate with everything' ended 0
check 'without an end' printed '"exp":null'
carry "$MESHLOG_STORE" "$work/tablet"
run --json --store "$work/tablet" grants tablet
check 'a policy and the pin' grep -qF "\"pol\":[[\"==\",\".source_type\",\"calendar\"],[\"==\",\".op.author\",\"$tablet\"]]" "$work/out"
content="\"size\":3,\"content\":\"$(printf '%064d' 7)\""
run --json --store "$work/tablet" append IngestEvidence --payload "{\"source_type\":\"mail\",$content}"
check 'a policy that does not hold' json_failure policy
run --json --store "$work/tablet" append IngestEvidence --payload "{\"source_type\":\"calendar\",$content}"
check 'one that does' printed '"verdict":"applied"'
carry "$work/tablet" "$MESHLOG_STORE"

# A chain is at most eight tokens long
above=$MESHLOG_STORE
for ((i = 2; i <= 8; i++)); do
    run --json --store "$work/chain$i" init --mesh "$mesh"
    link=$(field node)
    "$MESHLOG" --store "$above" delegate "$link" --cmd /claim --delegable --out "$work/chain$i.token" >/dev/null
    run --json --store "$work/chain$i" accept "$work/chain$i.token"
    above=$work/chain$i
done
check 'the eighth of a chain is active' printed '"state":"Active"'
check 'its file has all of it' same "$(wc -l <"$work/chain8.token")" 8
claim "$above" 'from far away'
check 'it may write' printed '"verdict":"applied"'
refused 'a ninth' 1 no_grant 'longer than 8' --store "$above" delegate "$laptop" --cmd /claim

# A renewal
run --json delegate --renew "$tablet_token" --expires 1d
check 'a renewal that ends earlier' ended 1
check 'says so' json_failure no_grant
run --json delegate --renew "$tablet_token" --expires 30d --out "$work/renewed.token"
check 'delegate --renew' ended 0
check 'for the same node' printed "\"aud\":\"$tablet\",\"cmd\":\"/claim\""
check 'in force after the old one' same \
    "$(state_of "$MESHLOG_STORE" tablet --at "$(($(now) + 1000000))")" Active
carry "$MESHLOG_STORE" "$phone"
run --json --store "$phone" delegate --renew "$token"
check 'only its issuer' json_failure no_grant

# Revoke: first only look
refused 'revoke nothing' 2 usage 'one more argument' revoke
refused 'revoke nobody' 1 unknown_id "called 'nobody'" revoke nobody
refused 'revoke an unknown token' 1 unknown_id 'CID' revoke \
    bafyreiflvw2aj5hzveqfij2rlu2ivp2dgcgwfqf63zsw7jbnqfqqblmhqy
refused 'revoke a node without tokens' 1 unknown_id 'nothing to revoke' revoke \
    did:key:z6MkmM42vxfqZQsv4ehtTjFFxQ4sQKS2w6WR7emozFAn5cxu
refused 'revoke through no hash' 2 usage '--keep-through needs' revoke phone --keep-through yesterday
refused 'revoke through half a hash' 2 usage '--keep-through needs' revoke phone --keep-through abcdef
refused 'revoke through nothing' 2 usage '--keep-through needs' revoke phone --keep-through ''
refused 'revoke and keep' 2 usage 'cannot stand beside' revoke phone --void-all --keep-through now
refused "revoke the root's token" 1 no_grant '--as root' revoke laptop
refused 'revoke what another has issued' 1 no_grant 'Only' --store "$phone" revoke "$tablet_token"
before=$(ops_in "$MESHLOG_STORE")
run --json revoke phone --void-all --dry-run
check 'revoke --dry-run' ended 0
check 'revoke fields' has_fields op cids dry_run ops_total ops records_total records revocations
check 'nothing is written' printed "\"op\":null,\"cids\":[\"$token\"],\"revocations\":[],\"dry_run\":true"
check 'what would change' printed "\"ops_total\":1,\"ops\":[{\"id\":\"$first\",\"from\":\"applied\",\"to\":\"void\",\"reason\":\"revoked\",\"rule\":null}],\"records_total\":1,\"records\":[{\"id\":\"$first\",\"type\":\"claim\",\"from\":\"Claim\",\"to\":null}]"
run revoke phone --void-all --dry-run
check 'a dry run for people' printed '1 op would change'
check 'and what becomes of records' printed "$first  claim Claim -> nothing"
check 'says that nothing was written' printed 'Nothing was written'
check 'and nothing was' same "$(ops_in "$MESHLOG_STORE")" "$before"
check 'the op stands' same "$(verdict_of "$MESHLOG_STORE" "$first")" 'applied null'

# Then for real: what is here stays, what comes later does not
run --json revoke phone
check 'revoke' ended 0
check 'no op changes' printed '"ops_total":0,"ops":[]'
revocation=$(field op)
check 'the op is named' same "$("$MESHLOG" --json show "$revocation" | sed -n 's/.*"kind":"\([A-Za-z]*\)".*/\1/p')" RevokeUcan
check 'the node is revoked' same "$(state_of "$MESHLOG_STORE" phone)" Revoked
claim "$phone" 'still from the phone'
late=$id
check 'the phone does not know yet' printed '"verdict":"applied"'
carry "$phone" "$MESHLOG_STORE"
check 'what it wrote before stays' same "$(verdict_of "$MESHLOG_STORE" "$first")" 'applied null'
check 'what it wrote after is void' same "$(verdict_of "$MESHLOG_STORE" "$late")" 'void revoked'
run --json why "$late"
check 'why it is void' printed "\"by\":\"$revocation\",\"detail\":\"Its author's token $token was revoked by the op $revocation; the cut does not reach it.\""
rm -f "$work/news" && "$MESHLOG" export "$work/news" >/dev/null 2>&1
run --json --store "$phone" import "$work/news"
check 'the phone is told what it lost' printed "\"undone_total\":1,\"undone\":[{\"id\":\"$late\",\"kind\":\"CreateClaim\",\"from\":\"applied\",\"to\":\"void\",\"reason\":\"revoked\",\"rule\":null}]"
check 'the phone learns it' same "$(verdict_of "$phone" "$late")" 'void revoked'
check 'and agrees on the rest' same "$(verdict_of "$phone" "$first")" 'applied null'
refused 'writing what would be void' 1 revoked 'was revoked' --store "$phone" \
    append CreateClaim --payload '{"text":"in vain"}'
refused 'passing on what was revoked' 1 no_grant 'No token of this node is in force' \
    --store "$phone" delegate "$tablet" --cmd /claim
refused 'renewal of what was revoked' 1 no_grant 'was revoked' delegate --renew "$token"
run --json grants phone
check 'its token is revoked' printed '"in_force":false,"reason":"revoked"'

# Admitted again, from a time on: what was void stays so
run --json delegate "$did" --cmd /claim --not-before "$(($(now) + 100000))" --expires 2d
check 'admitted again for later' ended 0
check 'what was void stays void' same "$(verdict_of "$MESHLOG_STORE" "$late")" 'void revoked'
check 'not active yet' same "$(state_of "$MESHLOG_STORE" phone)" Suspended
check 'active by then' same "$(state_of "$MESHLOG_STORE" phone --at "$(($(now) + 110000))")" Active
run --json delegate "$did" --cmd /claim
again=$(field cid)
check 'admitted again for all times' same "$(verdict_of "$MESHLOG_STORE" "$late")" 'applied null'
check 'active again' same "$(state_of "$MESHLOG_STORE" phone)" Active

# Through a hash, and of one token
hash=$("$MESHLOG" --json show "$first" | sed -n 's/.*"id":"[^"]*","hash":"\([0-9a-f]*\)".*/\1/p')
run --json revoke "$again" --keep-through "$hash"
check 'revoke a token through a hash' ended 0
check 'only what comes after is void' same \
    "$(verdict_of "$MESHLOG_STORE" "$first") $(verdict_of "$MESHLOG_STORE" "$late")" 'applied null void revoked'

# The root
run --json delegate "$did" --cmd / --as root
check 'delegate --as root' ended 0
check 'the root is the issuer' printed "\"iss\":\"$mesh\""
of_root=$(field cid)
run revoke phone
check 'revoke what can be revoked' ended 0
check 'the rest is told' complained 'only the root'
check 'the node is still active' same "$(state_of "$MESHLOG_STORE" phone)" Active
umask 077
echo sesame >"$work/sesame"
run --passphrase-file "$work/sesame" root export "$work/root.away" --remove
check 'the root goes away' ended 0
refused 'the root is away: revoke' 1 key_missing 'root import' revoke phone --as root
refused 'the root is away: delegate' 1 key_missing 'root import' delegate "$did" --cmd / --as root
run --json revoke phone --void-all --as root --root "$work/root.away" --passphrase-file "$work/sesame"
check 'revoke --as root --root' ended 0
check 'all of its tokens' grep -qF "$of_root" "$work/out"
check 'the root is not kept' test ! -e "$MESHLOG_STORE/root.key"
check 'the node is revoked' same "$(state_of "$MESHLOG_STORE" phone)" Revoked
check 'and all that it wrote is void' same "$(verdict_of "$MESHLOG_STORE" "$first")" 'void revoked'
carry "$MESHLOG_STORE" "$phone"
check 'on the phone too' same "$(verdict_of "$phone" "$first")" 'void revoked'
run --json --store "$phone" show "$(field op)"
check 'the revocation is the root'"'"'s' printed '"revocation"'

# An owner, made by the root elsewhere
run --json --store "$work/desk" init --mesh "$mesh" --root "$work/root.away" --name desk \
    --passphrase-file "$work/sesame"
check 'a device that brought the root' ended 0
carry "$MESHLOG_STORE" "$work/desk"
carry "$work/desk" "$MESHLOG_STORE"
run --json --store "$work/desk" --passphrase-file "$work/sesame" revoke "$tablet_token" --dry-run
check 'an owner revokes what another owner has issued' ended 0

# Sealing (tests/unit/test_sealing.c has a clock of its own)
run --json seal
check 'seal' ended 0
check 'nothing to seal' printed '{"ok":true,"sealed":[]}'
run seal
check 'seal for people' printed 'No token of this node'

mint old.token --key "$MESHLOG_STORE/node.key" --sub "$mesh" --exp 1500000000
bytes() { printf '{"/":{"bytes":"%s"}}' "$(tr -d '=\n')"; }
key=$("$MESHLOG" --json --store "$phone" log --author "$did" | sed -n '1s/.*"payload":{"key":\({"\/":{[^}]*}}\).*/\1/p')
proof=$(tail -n 1 "$work/phone.token" | bytes)
run --json append DelegateUcan --payload \
    "{\"key\":$key,\"token\":$(bytes <"$work/old.token"),\"proofs\":[$proof]}"
check 'a token that has ended, by hand' printed '"verdict":"applied"'
run --json seal
check 'it is sealed' printed "\"node\":\"$did\",\"op\":\""
run --json show "$(field op)"
check 'by a revocation' printed '"kind":"RevokeUcan"'
run --json seal
check 'only once' printed '{"ok":true,"sealed":[]}'

# By hand
refused 'a CID in a payload that is none' 1 bad_json '--payload' append RevokeUcan --payload '{"cid":'
run --json append RevokeUcan --payload "{\"cid\":\"$tablet_token\",\"cut\":[\"$hash\"]}"
check 'RevokeUcan by hand' printed '"verdict":"applied"'
run --json show "$(field id)"
check 'the cut is bytes' printed '"cut":[{"/":{"bytes":"'
run --json append UserAssert --payload "{\"about\":\"$first\",\"hash\":\"$hash\",\"assert\":\"confirm\"}"
check 'UserAssert by hand' printed '"verdict":"applied"'
check 'a confirmed op stands' same "$(verdict_of "$MESHLOG_STORE" "$first")" 'applied null'
run why "$first"
check 'why it stands' printed 'Fact since 20'
check 'and who says so' printed ', because laptop confirmed it.'
run --json append CreateClaim --payload "{\"text\":\"t\",\"hash\":\"$hash\"}"
run --json show "$(field id)"
check 'a claim keeps its texts' printed "\"payload\":{\"hash\":\"$hash\",\"text\":\"t\"}"

run verify
check 'all of it verifies' ended 0
for command in nodes grants delegate accept revoke seal why; do
    run help "$command"
    check "help $command has examples" printed 'Examples:'
done
totals
