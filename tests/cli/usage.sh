#!/usr/bin/env bash
# usage.sh - the command line itself: help, versions, mistakes.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

run help
check 'help' ended 0
check 'help lists commands' printed '  frontier '
check 'help hides bench-memory' bash -c "! grep -q bench-memory '$work/out'"
run --help
check '--help is help' printed '  frontier '
for command in init append log show frontier verify fsm bench demo help version; do
    run help "$command"
    check "help $command" ended 0
    check "help $command has examples" printed 'Examples:'
    run "$command" --help
    check "$command --help" printed "meshlog $command"
done
run help append
check 'help append lists kinds' printed 'TombstoneEvidence'
run --json help log
check 'help as JSON' has_fields ok text

run version
check 'version' printed 'meshlog 0.'
run --version
check '--version' printed 'meshlog 0.'
run --json version
check 'version as JSON' printed '{"ok":true,"version":"0.'

refused 'no command' 2 usage 'No command was given'
refused 'unknown command' 2 usage "'frobnicate'" frobnicate
refused 'mistyped command' 2 usage "did you mean 'append'" apend
refused 'mistyped help topic' 2 usage "did you mean 'verify'" help verfiy
refused 'unknown flag' 2 usage '--frobnicate is no flag here' log --frobnicate
refused 'mistyped flag' 2 usage 'did you mean --limit' log --limt 3
refused 'mistyped flag with a value' 2 usage 'did you mean --author' log --autor=x
refused 'short flag' 2 usage '-x is no flag here' log -x
refused 'flag without its value' 2 usage '--limit needs a value' log --limit
refused 'flag that takes no value' 2 usage '--follow takes no value' log --follow=yes
refused 'flag given twice' 2 usage '--limit is given twice' log --limit 1 --limit 2
refused 'limit of 0' 2 usage 'whole number' log --limit 0
refused 'limit that is no number' 2 usage 'whole number' log --limit ten
refused 'negative limit' 2 usage 'whole number' log --limit=-3
refused 'argument too many' 2 usage 'one argument too many' frontier now
refused 'show without id' 2 usage 'needs one more argument' show
refused 'empty store name' 2 usage '--store needs' --store= log
refused 'init with a wrong mesh' 2 usage 'did:key' init --mesh did:web:example
refused 'init with an empty name' 2 usage 'name must be' init --name ''
refused 'init with a long name' 2 usage 'name must be' init --name "$(printf '%065d' 0)"
refused 'init with a control character in the name' 2 usage 'control characters' init --name $'a\nb'
refused 'append without kind' 2 usage 'which kind' append
refused 'append without payload' 2 usage 'needs a payload' append CreateClaim
refused 'batch with a kind' 2 usage 'leave the rest out' append CreateClaim --batch
refused 'log with a wrong author' 2 usage 'is no node' log --author me
refused 'log with an unknown kind' 2 usage 'did you mean CreateClaim' log --kind CreateClam
refused 'follow with an end' 2 usage '--until' log --follow --until 01000000000000000000000000
refused 'bench without number' 2 usage 'whole number' bench --ops many
refused 'store given twice' 2 usage '--store is given twice' --store a log --store b
check 'nothing was made' test ! -e "$MESHLOG_STORE"

run init --name ok
check 'flags anywhere' ended 0
refused 'append of an unknown kind' 2 usage 'did you mean UserAssert' append UserAsert --payload '{}'
refused 'append of a kind far from any' 2 usage 'lists them' append Whatever --payload '{}'
refused 'append of an unknown number' 2 usage 'no kind 999' append 999 --payload '{}'
refused 'show with no id' 2 usage 'is no id' show xyz
refused 'show with a short prefix' 2 usage 'has 5 letters: give 6 or more' show 01M7Q
refused 'show with one letter' 2 usage 'has 1 letter: give 6 or more' show 0
refused 'dep that is no id' 2 usage 'is no id' append CreateClaim --payload '{"text":"t"}' --dep nonsense
refused 'since that is no id' 2 usage 'is no id' log --since '!'

other="$work/other"
run log --store "$other"
check '--store after the command' complained "$other"
run --store="$other" log
check '--store=DIR' complained "$other"
run log -- --limit
check '-- ends flags' complained 'one argument too many'
MESHLOG_STORE='' XDG_DATA_HOME="$work/xdg" run init
check 'store below XDG_DATA_HOME' test -e "$work/xdg/meshlog/data.mdb"
MESHLOG_STORE='' HOME="$work/home" run init
check 'store below HOME' test -e "$work/home/.local/share/meshlog/data.mdb"
(unset MESHLOG_STORE HOME && "$MESHLOG" log 2>"$work/err")
check 'no store at all' complained 'No store was named'
check 'and what to set' complained 'or set MESHLOG_STORE'
(cd "$work" && "$MESHLOG" --store "$work/named" init --name --json >"$work/out" 2>"$work/err")
code=$? out=$(cat "$work/out") err=$(cat "$work/err")
check 'a value that looks like a flag' printed 'A new store is in'
run --limit 1 --json log
check 'a flag before its command' same "$code$(wc -l <"$work/out")" 01
totals
