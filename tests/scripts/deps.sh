#!/usr/bin/env bash
# deps.sh - scripts/deps.sh asks apt only for what is missing, and only by a way
# that is open. The system is played by stand-ins in a PATH of its own.
# shellcheck disable=SC2016 # The stand-ins expand their own variables.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/_check.sh"

box=$(mktemp -d)
trap 'rm -rf -- "$box"' EXIT
bash=$(command -v bash)

# machine PACKAGE…: a machine on which these packages are installed.
machine() {
    rm -rf "${box:?}"/*
    mkdir "$box/bin"
    ln -s "$(command -v env)" "$bash" "$box/bin/"
    printf '%s\n' "$@" >"$box/installed"
    echo 'libmsgpack-dev' >"$box/offered"
    echo 0 >"$box/uid"
    command_is id 'read -r uid <"$BOX/uid"; echo "$uid"'
    command_is dpkg-query 'while read -r p; do [ "$p" = "${@: -1}" ] && echo -n installed; done <"$BOX/installed"'
    command_is pkg-config 'exit 1'
    command_is cmake ''
    command_is cc ''
    command_is apt-cache 'while read -r p; do [ "$p" = "$2" ] && echo "  Candidate: 4.0.0-3"; done <"$BOX/offered"'
    command_is apt-get 'echo "apt-get $*" >>"$BOX/called"'
}
command_is() { # NAME BODY
    printf '#!%s\n%s\nexit 0\n' "$bash" "$2" >"$box/bin/$1"
    chmod +x "$box/bin/$1"
}
deps() {
    output=$(env -i PATH="$box/bin" BOX="$box" "$bash" scripts/deps.sh "$@" 2>&1 </dev/null)
    status=$?
    called=$(cat "$box/called" 2>/dev/null)
}

all=(libc6-dev libsodium-dev liblmdb-dev libmsgpack-dev libjansson-dev libqrencode-dev libcmocka-dev libcbor-dev)
install='apt-get install -y --no-install-recommends'

machine "${all[@]}"
deps
check 'nothing missing: exit 0' same "$status" 0
check 'nothing missing: no call of apt' same "$called" ''
check 'nothing missing: not a word' same "$output" ''

machine libc6-dev libsodium-dev liblmdb-dev libqrencode-dev libcmocka-dev libcbor-dev
deps
check 'root: exit 0' same "$status" 0
check 'root: installs the missing ones, by the name apt knows' same "$called" \
    "apt-get update"$'\n'"$install libmsgpack-dev libjansson-dev"

machine "${all[@]}"
rm "$box/bin/cc" "$box/bin/cmake"
deps
check 'no compiler: gcc is installed' same "$called" "apt-get update"$'\n'"$install gcc cmake"

machine libc6-dev libsodium-dev liblmdb-dev libjansson-dev libqrencode-dev libcmocka-dev libcbor-dev
echo libmsgpack-c-dev >>"$box/offered"
deps
check 'the newer name of msgpack comes first' same "$called" \
    "apt-get update"$'\n'"$install libmsgpack-c-dev"

machine "${all[@]}"
echo 1000 >"$box/uid"
deps
check 'user, nothing missing: exit 0' same "$status" 0

machine libc6-dev libsodium-dev liblmdb-dev libmsgpack-dev libqrencode-dev libcmocka-dev libcbor-dev
echo 1000 >"$box/uid"
deps
check 'user without sudo: exit 1' same "$status" 1
check 'user without sudo: no call of apt' same "$called" ''
check 'user without sudo: told the line to run' grep -qxF \
    "  apt-get update && $install libjansson-dev" <<<"$output"

command_is sudo 'while [ "${1:0:1}" = - ]; do shift; done; [ "$1" = true ] || echo sudo >>"$BOX/called"; "$@"; exit'
command_is true ''
deps
check 'user with sudo: exit 0' same "$status" 0
check 'user with sudo: installs through it' same "$called" \
    "sudo"$'\n'"apt-get update"$'\n'"sudo"$'\n'"$install libjansson-dev"

command_is sudo 'exit 1'
rm "$box/called"
deps
check 'sudo wants a password, no terminal: exit 1' same "$status" 1
check 'sudo wants a password, no terminal: told the line to run' grep -q "$install" <<<"$output"

machine libc6-dev
command_is apt-get '[ "$1" = update ]; exit'
deps
check 'apt fails: exit 1' same "$status" 1
check 'apt fails: says so' grep -q 'could not be installed' <<<"$output"

machine
rm "$box/bin/dpkg-query"
deps
check 'no Debian, libraries missing: exit 1' same "$status" 1
check 'no Debian: names the libraries' grep -q 'msgpack-c or msgpack' <<<"$output"
command_is pkg-config '[ "$2" != msgpack-c ]; exit'
deps
check 'no Debian, all libraries there: exit 0' same "$status" 0

machine "${all[@]}"
deps interop
check 'group interop' same "$called" "apt-get update"$'\n'"$install nodejs npm"
machine "${all[@]}"
deps coverage
check 'group coverage' same "$called" "apt-get update"$'\n'"$install gcovr"
machine "${all[@]}"
deps fuzz
check 'group fuzz' same "$called" "apt-get update"$'\n'"$install clang libclang-rt-14-dev"
machine "${all[@]}"
deps nonsense
check 'unknown group: exit 2' same "$status" 2

totals
