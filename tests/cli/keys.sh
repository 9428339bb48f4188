#!/usr/bin/env bash
# keys.sh - passphrases, and the root's key off the device and back: as a file, a code, a picture.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

# Without a terminal, whoever runs this: nobody can be asked.
real=$MESHLOG
printf '#!/bin/sh\nexec setsid -w "%s" "$@"\n' "$real" >"$work/alone"
chmod +x "$work/alone"
MESHLOG=$work/alone
umask 077

mode() { stat -c %a "$1"; }
size() { stat -c %s "$1"; }
claim=(append CreateClaim --payload '{"text":"t"}')
printf 'open sesame\nthe second line does not count\n' >"$work/right"
printf 'open sesam' >"$work/wrong"
printf 'another one' >"$work/other"
: >"$work/empty"
printf '\nsesame\n' >"$work/blank"
head -c 1024 /dev/zero | tr '\0' x >"$work/longest"
head -c 1025 /dev/zero | tr '\0' x >"$work/too-long"
install -m 644 "$work/right" "$work/open"

# init with a passphrase, append with it
run --json init --passphrase-file "$work/right"
check 'init with a passphrase' ended 0
mesh=$(field mesh)
for key in root node; do
    check "$key.key is sealed" same "$(size "$MESHLOG_STORE/$key.key")" 164
    check "$key.key is ours alone" same "$(mode "$MESHLOG_STORE/$key.key")" 600
done
run "${claim[@]}" --passphrase-file "$work/right"
check 'append with the passphrase' ended 0
MESHLOG_PASSPHRASE_FILE=$work/right run "${claim[@]}"
check 'append with the file that the environment names' ended 0
MESHLOG_PASSPHRASE_FILE=$work/wrong run "${claim[@]}" --passphrase-file "$work/right"
check 'the command line comes before the environment' ended 0
run "${claim[@]}" --passphrase-file <(echo 'open sesame')
check 'append with a passphrase from a pipe' ended 0
claims 3 >"$work/lines"
run append --batch --passphrase-file "$work/right" <"$work/lines"
check 'a batch' same "$code $(wc -l <"$work/out")" '0 3'
ln -s right "$work/link"
run "${claim[@]}" --passphrase-file "$work/link"
check 'a link to the passphrase' ended 0
refused 'the wrong passphrase' 1 wrong_passphrase 'does not open' "${claim[@]}" \
    --passphrase-file "$work/wrong"
refused 'no passphrase' 1 wrong_passphrase 'no terminal to ask on' "${claim[@]}"
refused 'a batch without' 1 wrong_passphrase 'no terminal to ask on' append --batch
refused 'an empty passphrase file' 1 wrong_passphrase 'is empty' "${claim[@]}" \
    --passphrase-file "$work/empty"
refused 'an empty first line' 1 wrong_passphrase 'is empty' "${claim[@]}" \
    --passphrase-file "$work/blank"
refused 'a passphrase that is too long' 1 wrong_passphrase 'longer than 1024' "${claim[@]}" \
    --passphrase-file "$work/too-long"
refused 'a passphrase file that others can read' 1 key_permissions 'chmod 600' "${claim[@]}" \
    --passphrase-file "$work/open"
refused 'no passphrase file' 1 io 'cannot be opened' "${claim[@]}" --passphrase-file "$work/none"
refused 'a folder as passphrase file' 1 io 'cannot be read' "${claim[@]}" --passphrase-file "$work"
refused 'no name of a file' 2 usage 'needs the name of a file' "${claim[@]}" --passphrase-file=
refused 'named twice' 2 usage 'given twice' "${claim[@]}" --passphrase-file a --passphrase-file b
for reader in log frontier verify; do
    run "$reader"
    check "$reader needs no passphrase" ended 0
done
run --json log
check 'what was refused was not stored' same "$(wc -l <"$work/out")" 9
cp -p "$MESHLOG_STORE/node.key" "$work/whole"
printf '\377' | dd of="$MESHLOG_STORE/node.key" bs=1 seek=110 conv=notrunc 2>/dev/null
refused 'a damaged sealed key' 1 key_missing 'node.key is missing' "${claim[@]}" \
    --passphrase-file "$work/right"
cp -p "$work/whole" "$MESHLOG_STORE/node.key"
chmod 640 "$MESHLOG_STORE/node.key"
refused 'a sealed key that others can read' 1 key_permissions 'chmod 600' "${claim[@]}" \
    --passphrase-file "$work/right"
chmod 600 "$MESHLOG_STORE/node.key"
run --store "$work/long" init --passphrase-file "$work/longest"
check 'a passphrase of 1024 bytes' ended 0
refused 'init with an empty passphrase' 1 wrong_passphrase 'is empty' \
    --store "$work/unmade" init --passphrase-file "$work/empty"
refused 'init that has nobody to ask' 1 wrong_passphrase 'no terminal' \
    --store "$work/unmade" init --passphrase
check 'no store was made then' test ! -e "$work/unmade"

# the root to a file, away, and back
run --json --passphrase-file "$work/right" root export "$work/stick"
check 'root export' ended 0
check 'root export fields' has_fields ok mesh file code removed
check 'root export names the mesh' same "$(field mesh)" "$mesh"
check 'the file is sealed' same "$(size "$work/stick")" 164
check 'the file is ours alone' same "$(mode "$work/stick")" 600
check 'the root is still here' test -e "$MESHLOG_STORE/root.key"
check 'there is no code in it' printed '"code":null,"qr":null,"removed":false'
check 'nothing is left beside the file' same "$(find "$work" -maxdepth 1 -name 'stick?*')" ''
refused 'an export over a file' 1 exists 'not replaced' \
    --passphrase-file "$work/right" root export "$work/stick"
refused 'an export into no folder' 1 io 'cannot be written' \
    --passphrase-file "$work/right" root export "$work/none/stick"
refused 'an export with the wrong passphrase' 1 wrong_passphrase 'does not open' \
    --passphrase-file "$work/wrong" root export "$work/stick2"
refused 'an import over a key' 1 exists 'not replaced' \
    --passphrase-file "$work/right" root import "$work/stick"
refused 'an export to standard output' 2 usage 'needs a name' root export -
refused 'nowhere to export to' 2 usage 'FILE, --code or --qr' root export
refused 'removal without a file' 2 usage '--remove needs a FILE' root export --code --remove
check 'the root is still here after all that' test -e "$MESHLOG_STORE/root.key"
cp "$MESHLOG_STORE/root.key" "$work/root.before"
run --passphrase-file "$work/right" root export "$work/moved" --remove
check 'root export --remove' ended 0
check 'it says what that means' printed 'no longer in'
check 'the root is gone' test ! -e "$MESHLOG_STORE/root.key"
run "${claim[@]}" --passphrase-file "$work/right"
check 'append needs no root' ended 0
refused 'an export of what is not here' 1 key_missing 'is not in' root export "$work/again"
refused 'an import with the wrong passphrase' 1 wrong_passphrase 'does not open' \
    --passphrase-file "$work/wrong" root import "$work/moved"
refused 'an import of something else' 1 key_missing 'not the whole key file' root import "$work/right"
refused "an import of a node's key" 1 key_missing 'not the whole key file' \
    --passphrase-file "$work/right" root import "$MESHLOG_STORE/node.key"
refused 'an import from nowhere' 2 usage 'FILE, or --code' root import
refused 'an import with --remove' 2 usage 'root export' root import "$work/moved" --remove
chmod 644 "$work/moved"
run --json --passphrase-file "$work/right" root import "$work/moved"
check 'root import, of a sealed file that others can read' ended 0
check 'root import fields' has_fields ok mesh store
check 'the root is back' same "$(mode "$MESHLOG_STORE/root.key")" 600
check 'and sealed' same "$(size "$MESHLOG_STORE/root.key")" 164

# codes
run --passphrase-file "$work/right" root export --code
check 'root export --code' ended 0
check 'two lines of seven groups' same "$(grep -cE '^([0-9A-HJKMNP-TV-Z]{5}-?){7}$' "$work/out")" 2
check 'it warns aside' complained 'owns the mesh'
cp "$work/out" "$work/code"
run --json --passphrase-file "$work/right" root export --code
check 'the same code in JSON' same "$(field code)" "$(paste -sd- "$work/code")"
rm "$MESHLOG_STORE/root.key"
sed 's/^\(......\)../\1UU/' "$work/code" >"$work/code.bad"
run --passphrase-file "$work/right" root import --code <"$work/code.bad"
check 'a bad code: exit code' ended 1
check 'a bad code: one sentence' one_sentence
check 'a bad code: its group' complained 'Group 2 of the code'
run --json --passphrase-file "$work/right" root import --code <"$work/code.bad"
check 'a bad code in JSON' json_failure bad_code
refused 'no code' 1 bad_code '0 letters instead of 70' --passphrase-file "$work/right" root import --code
refused 'a code among the words' 2 usage 'where others can see it' root import --code "$(head -n 1 "$work/code")"
check 'nothing was written' test ! -e "$MESHLOG_STORE/root.key"
run root import --code <"$work/code"
check 'import of a code cannot seal without the passphrase' ended 1
tr '[:upper:]-' '[:lower:] ' <"$work/code" >"$work/code.typed"
run --passphrase-file "$work/right" root import --code - <"$work/code.typed"
check 'root import --code' ended 0
check 'sealed as the node is' same "$(size "$MESHLOG_STORE/root.key")" 164
run --json --passphrase-file "$work/right" root export --code
check 'it is the same root' same "$(field code)" "$(paste -sd- "$work/code")"
check 'no code is in any file of the store' bash -c \
    "! grep -rqF -f <(cut -c1-5 '$work/code') '$MESHLOG_STORE'"

# pictures
run --passphrase-file "$work/right" root export --qr
check 'root export --qr' ended 0
check 'the picture has its lines' same "$(grep -c '█' "$work/out")" 21
check 'each of them is whole' same "$(grep '█' "$work/out" | LC_ALL=C.UTF-8 grep -cE '^.{41}$')" 21
check 'it has corners, dark on light' same "$(grep -c '^████ ▄▄▄▄▄ █.*█ ▄▄▄▄▄ ████$' "$work/out")" 1
check 'no colours without a terminal' bash -c "! grep -q $'\\033' '$work/out'"
run --json --passphrase-file "$work/right" root export --qr
check 'the picture in JSON' has_fields code qr

# a second store, admitted by the root that stays elsewhere
second=(--store "$work/second" init --mesh "$mesh")
refused 'the root of a new store with the wrong passphrase' 1 wrong_passphrase 'does not open' \
    "${second[@]}" --root "$work/moved" --passphrase-file "$work/wrong"
run --json "${second[@]}" --root "$work/moved" --passphrase-file "$work/right"
check 'init --mesh --root' ended 0
check 'it has no root' printed '"has_root":false'
check 'it has a first op' bash -c "[[ '$(field first_op)' =~ ^[0-9A-Z]{26}$ ]]"
check 'no root key is there' test ! -e "$work/second/root.key"
run --store "$work/second" "${claim[@]}" --passphrase-file "$work/right"
check 'it can append at once' ended 0
run --store "$work/second" verify
check 'it verifies' ended 0
run --json --store "$work/third" init --root - <"$work/code"
check 'init --root - takes a code' ended 0
check 'the mesh is that of the root' same "$(field mesh)" "$mesh"
check 'its key has no seal' same "$(size "$work/third/node.key")" 100
check 'and no root is kept' test ! -e "$work/third/root.key"
run --store "$work/fourth" init --root - <"$work/code"
check 'init says who admitted the node' printed 'has admitted this node'

# another mesh
run --json --store "$work/plain" init
other=$(field mesh)
check 'without a passphrase a key is as it was' same "$(size "$work/plain/root.key")" 100
refused 'the root of another mesh: init' 1 wrong_mesh 'another mesh' --store "$work/fifth" \
    init --mesh "$other" --root "$work/moved" --passphrase-file "$work/right"
check 'no store was made for it' test ! -e "$work/fifth"
mv "$work/plain/root.key" "$work/plain.root"
refused 'the root of another mesh: import' 1 wrong_mesh 'another mesh' --store "$work/plain" \
    root import "$work/moved" --passphrase-file "$work/right"
check 'it was not written' test ! -e "$work/plain/root.key"
chmod 644 "$work/plain.root"
refused 'an unsealed root that others can read' 1 key_permissions 'chmod 600' \
    --store "$work/plain" root import "$work/plain.root"
chmod 600 "$work/plain.root"
run --store "$work/plain" root import "$work/plain.root"
check 'an unsealed root comes back unsealed' same "$code $(size "$work/plain/root.key")" '0 100'
refused 'an export without a passphrase' 1 wrong_passphrase 'no terminal' --store "$work/plain" \
    root export "$work/bare"
check 'nothing unsealed was written' same "$(find "$work" -name 'bare*')" ''
run --store "$work/plain" root export "$work/sealed" --passphrase-file "$work/other" --remove
check 'an export of an unsealed root is sealed' same "$code $(size "$work/sealed")" '0 164'
run --store "$work/plain" root import "$work/sealed" --passphrase-file "$work/other"
check 'and stays so when it comes back' same "$code $(size "$work/plain/root.key")" '0 164'

# words
refused 'root alone' 2 usage 'one more argument' root
refused 'root of something else' 2 usage 'root export' root exprt
refused 'a file without a name' 2 usage 'name of a file' root export ''
refused 'no store' 1 no_store 'no store in' --store "$work/nowhere" root export --code

# on a terminal
# typed COMMAND…: run it on a terminal of its own, whose keys are fd 9 and whose screen is
# $work/screen.
typed() {
    rm -f "$work/keys"
    mkfifo "$work/keys"
    : >"$work/screen"
    # What runs in the background has Ctrl-C ignored, and so would all that it starts. script(1)
    # starts $SHELL, which must not stay in between: Ctrl-C would end it.
    env --default-signal=INT,QUIT script -qefc "exec$(printf ' %q' "$@")" /dev/null <"$work/keys" >"$work/screen" 2>&1 &
    terminal=$!
    exec 9>"$work/keys"
}
# shows COUNT TEXT: the screen comes to show it so often.
on_screen() { [ "$(grep -oF -e "$2" "$work/screen" | wc -l)" -ge "$1" ]; }
shows() { wait_for 10 on_screen "$@" || { cat "$work/screen" && false; }; }
# typed_ends CODE
typed_ends() {
    local code
    exec 9>&-
    wait "$terminal"
    code=$?
    same "$code" "$1"
}
if command -v script >/dev/null; then
    typed "$real" "${claim[@]}"
    check 'it asks on the terminal' shows 1 'Passphrase of'
    printf 'open sesame\n' >&9
    check 'the right answer' typed_ends 0
    check 'the answer is not shown' bash -c "! grep -q sesame '$work/screen'"
    # The lines of a batch come from elsewhere, and the question is asked once.
    typed bash -c "$real append --batch <'$work/lines'"
    check 'a batch asks too' shows 1 'Passphrase of'
    printf 'open sesame\n' >&9
    check 'a batch with the answer' typed_ends 0
    check 'a batch asks once' same "$(grep -c 'Passphrase of' "$work/screen")" 1
    typed "$real" --store "$work/plain" --passphrase-file "$work/other" log
    check 'who reads is not asked' typed_ends 0
    typed "$real" --store "$work/asked" init --passphrase
    check 'a new passphrase' shows 1 'New passphrase for'
    printf 'one\n' >&9
    check 'is asked for twice' shows 1 'The same again'
    printf 'two\n' >&9
    check 'and refused when they differ' typed_ends 1
    check 'with a sentence' shows 1 'differ'
    check 'no store was made of that' test ! -e "$work/asked"
    typed "$real" --store "$work/sixth" init --root -
    check 'a code' shows 1 'Code of the root'
    head -n 1 "$work/code" >&9
    check 'may have two lines' shows 1 'And the rest of it'
    tail -n 1 "$work/code" >&9
    check 'as it is written' typed_ends 0
    # Ctrl-C: the process ends by it, and the terminal shows again what is typed.
    cat >"$work/interrupted" <<'END'
trap : INT
echo "on $(tty)"
before=$(stty -g)
"$@"
echo "code $?"
after=$(stty -g)
[ "$before" = "$after" ] && echo 'modes are as before'
stty -a
END
    for shell in "$BASH" /bin/sh; do
        SHELL=$shell typed bash "$work/interrupted" "$real" "${claim[@]}"
        check "before Ctrl-C ($shell)" shows 1 'Passphrase of'
        tty=$(sed -n 's/^on \([a-z0-9/]*\).*/\1/p' "$work/screen")
        check 'what is typed is hidden' grep -qE '(^| )-echo( |$)' <(stty -a <"$tty")
        printf '\003' >&9
        check 'Ctrl-C ends it' shows 1 'code 130'
        check 'what started it goes on' typed_ends 0
        check 'the terminal is as before' shows 1 'modes are as before'
        check 'it shows what is typed' grep -qE '(^| )echo( |$)' "$work/screen"
    done
else
    skip_test 'there is no script(1) to play a terminal'
fi
totals
