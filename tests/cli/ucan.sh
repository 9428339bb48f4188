#!/usr/bin/env bash
# ucan.sh - tokens made, looked at and judged without a store.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

# Without a terminal, whoever runs this: nobody can be asked for a passphrase.
real=$MESHLOG
printf '#!/bin/sh\nexec setsid -w "%s" "$@"\n' "$real" >"$work/alone"
chmod +x "$work/alone"
MESHLOG=$work/alone
umask 077

# Alice, Bob and Carol of the working group's fixtures.
echo 'gCa9UfZv+yI5/rvUIt21DaGI7EZJlzFO1uDc5AyJ30c6/w==' >"$work/alice"
echo 5f8fdf91cd4d94e75f1330134afdf8dd190cf7e2c07888a13acfef65403a4221 >"$work/bob"
echo 'gCZC43QGw7ZvYQuKTtBwBy+tdjYrKf0hXU3dd+J0HON5dw==' >"$work/carol"
alice=did:key:z6MkgGykN9ARNFjEzowVq4mLP2kL4NsyAaDGXeJFQ5qE1bfg
bob=did:key:z6MkmT9j6fVZqzXV8u2wVVSu49gYSRYGSQnduWXF6foAJrqz
carol=did:key:z6MkmJceVoQSHs45cReEXoLtWm1wosCG8RLxfKwhxoqzoTkC
now=1767225600

# mint NAME KEY ARGUMENT…: leaves the token in $work/NAME.
mint() {
    run ucan mint --key "$work/$2" --out "$work/$1" "${@:3}"
    check "mint $1" ended 0
}

# judged WHAT TIME ERROR LINK ARGUMENT…: `ucan check` answers so; ERROR is null where it allows.
judged() {
    local what=$1 time=$2 error=$3 link=$4 exit=1
    shift 4
    [ "$error" = null ] && exit=0 || error="\"$error\""
    run --json ucan check --time "$time" "$@"
    check "$what: exit $exit" ended $exit
    check "$what: $error at $link" same "$(sed -E 's/"message":".*",//' <<<"$out")" \
        "{\"ok\":$([ $exit -eq 0 ] && echo true || echo false),\"error\":$error,\"link\":$link}"
}

# Help
run help ucan
check 'help of the group' printed 'ucan mint'
check 'help of the group: only its own' bash -c "! grep -q frontier '$work/out'"
for command in inspect check mint policy; do
    run help ucan "$command"
    check "help ucan $command" printed 'Examples:'
    run ucan "$command" --help
    check "ucan $command --help" printed "meshlog ucan $command"
done

# A chain of two links
mint root bob --aud $carol --sub $bob --cmd /log --exp $now --policy '[["==",".lane","work"]]'
check 'mint: says where the token is' printed "The token is in $work/root"
check 'mint: the file is ours alone' same "$(stat -c %a "$work/root")" 600
mint leaf carol --aud $alice --sub $bob --cmd /log/append --nbf $now --exp null \
    --meta '{"a":{"/":{"bytes":"AQID"}},"l":{"/":"bafyreidyjy36xsnbklgotghkc2igi3ri4w3h5o7d6it3jkbexewc223zbe"}}'
proofs=(--proof "$work/root" --proof "$work/leaf")
call=(--sub "$bob" --cmd /log/append --invocation)
mint call alice "${call[@]}" --args '{"lane":"work"}' "${proofs[@]}"
chain=(--invocation "$work/call" --proof "$work/leaf" --proof "$work/root")
judged 'a good chain' $now null null "${chain[@]}"
run ucan check --time $now "${chain[@]}"
check 'for people' same "$out" allowed
judged 'a second later' $((now + 1)) Expired 0 "${chain[@]}"
judged 'a second earlier' $((now - 1)) TooEarly 1 "${chain[@]}"
judged 'a proof is missing' $now UnavailableProof 1 --invocation "$work/call" --proof "$work/root"
run ucan check --time $((now + 1)) "${chain[@]}"
check 'refused, for people: exit 1' ended 1
check 'refused, for people: what and where' printed 'refused: Expired at proof 0'
check 'refused, for people: why' printed "ended at $now"
run ucan check "${chain[@]}"
check 'the time is now' printed 'refused: Expired at proof 0'

# What tokens say
run --json ucan inspect "$work/leaf"
check 'inspect: fields' has_fields ok type cid iss aud sub cmd pol args prf nonce nbf exp iat meta signature_ok
check 'inspect: a delegation' printed "{\"ok\":true,\"type\":\"delegation\",\"cid\":\"bafyrei"
check 'inspect: principals' printed "\"iss\":\"$carol\",\"aud\":\"$alice\",\"sub\":\"$bob\""
check 'inspect: what a delegation has not' printed '"pol":[],"args":null,"prf":null'
check 'inspect: its window' printed "\"nbf\":$now,\"exp\":null,\"iat\":null"
check 'inspect: bytes and links in meta' printed '"meta":{"a":{"/":{"bytes":"AQID"}},"l":{"/":"bafyrei'
check 'inspect: its signature' printed '"signature_ok":true'
leaf=$(field cid)
run --json ucan inspect "$work/root"
root=$(field cid)
run --json ucan inspect "$work/call"
check 'inspect: an invocation' printed '"type":"invocation"'
check 'inspect: what an invocation has' printed "\"aud\":null,\"sub\":\"$bob\",\"cmd\":\"/log/append\",\"pol\":null,\"args\":{\"lane\":\"work\"},\"prf\":[\"$root\",\"$leaf\"]"
run ucan inspect "$work/root"
check 'inspect for people' printed 'A delegation, signed by its issuer'
check 'inspect for people: its end' printed "  exp    $now  20"
judged 'a revoked root' $now Revoked 0 "${chain[@]}" --revoked "$root"
judged 'a revoked leaf' $now Revoked 1 "${chain[@]}" --revoked "$leaf"
judged 'another is revoked' $now null null "${chain[@]}" --revoked bafyreidyjy36xsnbklgotghkc2igi3ri4w3h5o7d6it3jkbexewc223zbe

# All forms of T
text=$(cat "$work/root")
base64 -d "$work/root" >"$work/raw"
tr '+/' '-_' <"$work/root" | tr -d '=\n' >"$work/url"
base64 -w 60 "$work/raw" >"$work/lines"
for form in "$work/raw" "$work/url" "$work/lines" "$text" "$(cat "$work/url")" "${text%%=*}"; do
    run --json ucan inspect "$form"
    check "T as ${form:0:24}" same "$(field cid)" "$root"
done
run --json ucan inspect /dev/stdin <"$work/raw"
check 'T from a pipe' same "$(field cid)" "$root"
(cd "$work" && "$MESHLOG" --json ucan inspect root >"$work/out")
check 'T is a file first' same "$(field cid)" "$root"

# Wrong chains
mint wide carol --aud $alice --sub $bob --cmd / --exp null
mint wide-call alice "${call[@]}" --args '{"lane":"work"}' --proof "$work/root" --proof "$work/wide"
judged 'a wider child' $now InvalidCommand 1 --invocation "$work/wide-call" --proof "$work/root" --proof "$work/wide"
mint power carol --aud $alice --sub null --cmd /
mint power-call alice "${call[@]}" --args '{"lane":"work"}' --proof "$work/root" --proof "$work/power"
judged 'a powerline' $now null null --invocation "$work/power-call" --proof "$work/root" --proof "$work/power"
mint other alice "${call[@]}" --args '{"lane":"home"}' "${proofs[@]}"
judged 'another lane' $now MatchError 0 --invocation "$work/other" "${proofs[@]}"
mint appendix alice --sub $bob --cmd /log/appendix --invocation --args '{"lane":"work"}' "${proofs[@]}"
judged 'the beginning of a word' $now InvalidCommand 1 --invocation "$work/appendix" "${proofs[@]}"
judged 'a delegation for an invocation' $now Malformed null --invocation "$work/root"
mint own bob --sub $bob --cmd /log --invocation --exp $now
judged "the subject's own" $now null null --invocation "$work/own"
mint nobody alice --sub $bob --cmd /log --invocation --exp $now
judged 'without proofs' $now InvalidClaim null --invocation "$work/nobody"
head -c 100 "$work/raw" >"$work/cut"
judged 'a token cut short' $now Malformed null --invocation "$work/cut"
judged 'no token' $now Malformed null --invocation 'no token!'
judged 'no proof' $now Malformed null --invocation "$work/call" --proof "$work/none"
{ base64 -d "$work/call" && printf x; } >"$work/long"
judged 'a byte behind it' $now Malformed null --invocation "$work/long"
head -c 20000 /dev/zero >"$work/zeros"
judged 'a file that is no token' $now Malformed null --invocation "$work/zeros"
{ printf '\202\130\100' && base64 -d "$work/call" | tail -c +4 | sed 's/append/appenD/'; } >"$work/bent"
run --json ucan inspect "$work/bent"
check 'inspect: an upper-case command' json_failure malformed
{ base64 -d "$work/own" | head -c 10 && printf '\0\0' && base64 -d "$work/own" | tail -c +13; } >"$work/forged"
run --json ucan inspect "$work/forged"
check 'inspect: a wrong signature is no error' ended 0
check 'inspect: but is told' printed '"signature_ok":false'
run ucan inspect "$work/forged"
check 'inspect: also to people' printed 'NOT signed by its issuer'
judged 'a wrong signature' $now InvalidSignature null --invocation "$work/forged"

# Policies
run --json ucan policy --policy '[["==",".a",1],["like",".b","x*"]]' --args '{"a":1,"b":"xyz"}'
check 'policy: match' same "$code $out" '0 {"ok":true,"match":true,"statement":null}'
run --json ucan policy --policy '[["==",".a",1],["like",".b","x*"]]' --args '{"a":1,"b":"y"}'
check 'policy: no match' same "$code $out" '1 {"ok":true,"match":false,"statement":1}'
run ucan policy --policy '[]' --args '{}'
check 'policy: for people' same "$code $out" '0 match'
run ucan policy --policy '[["==",".a",1]]' --args '{}'
check 'policy: no match, for people' same "$code $out" '1 no match: statement 0 is false'
echo '[["==",".a",1.5]]' >"$work/policy"
run --json ucan policy --policy "@$work/policy" --args - <<<'{"a":1.5}'
check 'policy: from a file and the input' ended 0
refused 'policy that is none' 1 malformed '--policy: pol[0]: expected' ucan policy --policy '["=="]' --args '{}'
refused 'policy that is no JSON' 1 bad_json '--policy is not JSON' ucan policy --policy '[' --args '{}'
refused 'policy without arguments' 2 usage 'both --policy and --args' ucan policy --policy '[]'

# Bad input to check and inspect: nothing is guessed
refused 'inspect nothing' 2 usage 'one more argument' ucan inspect
refused 'inspect an empty name' 2 usage 'expected a token' ucan inspect ''
refused 'inspect no file and no base64' 1 malformed 'there is no file' ucan inspect no.such.file
refused 'inspect what is no token' 1 trailing 'no token that can be read' ucan inspect AAAA
refused 'inspect a folder' 1 io 'Is a directory' ucan inspect "$work"
refused 'inspect a large file' 1 malformed 'larger than a token' ucan inspect "$work/zeros"
refused 'check nothing' 2 usage '--invocation: expected a token' ucan check
for time in soon -1 1.5 9007199254740992 '' 12345678901234567890; do
    refused "check at '$time'" 2 usage '--time: expected Unix seconds' ucan check "${chain[@]}" --time "$time"
done
refused 'check with no CID' 2 usage '--revoked: expected the name' ucan check "${chain[@]}" --revoked "${root%?}"

# Bad input to mint: nothing is signed
delegation=(ucan mint --key "$work/bob" --sub "$bob" --cmd /log --out "$work/never")
invocation=(ucan mint --key "$work/bob" --sub "$bob" --cmd /log --invocation --out "$work/never")
refused 'mint without key' 2 usage '--key FILE' ucan mint --aud $carol --sub $bob --cmd /log
refused 'mint for nobody' 2 usage '--aud DID' "${delegation[@]}"
refused 'mint of nobody' 2 usage '--sub DID' ucan mint --key "$work/bob" --aud $carol --cmd /log
refused 'mint without command' 2 usage '--cmd C' ucan mint --key "$work/bob" --aud $carol --sub $bob
refused 'mint for another method' 2 usage '--aud: expected did:key:z6Mk' "${delegation[@]}" --aud did:web:example.com
refused 'mint for a mistyped key' 2 usage '--aud: expected did:key:z6Mk' "${delegation[@]}" --aud "${carol%?}"
refused 'mint with no such key' 1 key_missing 'is missing or holds no key' "${delegation[@]/$work\/bob/$work/none}" --aud $carol
refused 'mint with a token for a key' 1 key_missing 'holds no key' "${delegation[@]/$work\/bob/$work/root}" --aud $carol
install -m 644 "$work/bob" "$work/open"
refused 'mint with a key that others can read' 1 key_permissions 'chmod 600' "${delegation[@]/$work\/bob/$work/open}" --aud $carol
for command in log /Log /log/ //log ''; do
    refused "mint for the command '$command'" 1 malformed 'Nothing was signed: cmd: expected a path' \
        ucan mint --key "$work/bob" --aud $carol --sub $bob --cmd "$command"
done
for time in tomorrow -5 1e9 null; do
    refused "mint from '$time' on" 2 usage '--nbf: expected Unix seconds' "${delegation[@]}" --aud $carol --nbf "$time"
done
refused 'mint until never' 2 usage '--exp: expected Unix seconds' "${delegation[@]}" --aud $carol --exp never
refused 'mint with a bad policy' 1 malformed 'Nothing was signed: pol[0][0]: expected' "${delegation[@]}" --aud $carol --policy '[["=",".a",1]]'
refused 'mint with an object for a policy' 1 malformed 'Nothing was signed: pol: expected' "${delegation[@]}" --aud $carol --policy '{}'
refused 'mint with a list for meta' 1 malformed 'Nothing was signed: meta: expected a map' "${delegation[@]}" --aud $carol --meta '[]'
refused 'mint a delegation with arguments' 1 malformed 'args: expected no such field in a delegation' "${delegation[@]}" --aud $carol --args '{}'
refused 'mint a delegation with proofs' 1 malformed 'prf: expected no such field in a delegation' "${delegation[@]}" --aud $carol --proof "$work/root"
refused 'mint an invocation with a policy' 1 malformed 'pol: expected no such field in an invocation' "${invocation[@]}" --policy '[]'
refused 'mint an invocation of null' 1 malformed 'sub: expected a did:key' "${invocation[@]/$bob/null}"
refused 'mint an invocation with a list' 1 malformed 'args: expected a map' "${invocation[@]}" --args '[]'
refused 'mint with a broken proof' 1 truncated '--proof: this is no token' "${invocation[@]}" --proof "$work/cut"
refused 'mint with an invocation for a proof' 1 malformed 'only a delegation proves' "${invocation[@]}" --proof "$work/call"
refused 'mint what is too large' 1 too_large 'at most 4096 bytes' "${invocation[@]}" --args "{\"a\":\"$(printf '%04096d' 0)\"}"
check 'nothing was written' test ! -e "$work/never"
refused 'mint over a file' 1 exists 'is there already' ucan mint --key "$work/bob" --aud $carol --sub $bob --cmd / --out "$work/root"
refused 'mint into no folder' 1 io 'cannot be written: No such file' ucan mint --key "$work/bob" --aud $carol --sub $bob --cmd / --out "$work/none/x"

# Keys of a store, sealed
printf 'open sesame' >"$work/right"
printf 'open sesam' >"$work/wrong"
run --json --store "$work/store" init --passphrase-file "$work/right"
node=$(field node)
mesh=$(field mesh)
for key in root node; do
    run ucan mint --key "$work/store/$key.key" --passphrase-file "$work/right" --aud $carol --sub "$mesh" --cmd /
    check "mint with a sealed $key.key" ended 0
    run --json ucan inspect "$out"
    check "mint with a sealed $key.key: its issuer" printed "\"iss\":\"$([ $key = root ] && echo "$mesh" || echo "$node")\""
done
sealed=(ucan mint --key "$work/store/node.key" --aud "$carol" --sub "$mesh" --cmd /)
refused 'mint with a wrong passphrase' 1 wrong_passphrase 'does not open' "${sealed[@]}" --passphrase-file "$work/wrong"
refused 'mint without a passphrase' 1 wrong_passphrase 'no terminal to ask on' "${sealed[@]}"
totals
