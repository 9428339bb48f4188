#!/usr/bin/env bash
# build.sh DIR [-DNAME=VALUE…] - configure and build the tree in DIR.
#
# A build folder made with another compiler, other options or in another place
# is made anew: cmake would keep the old ones without a word. All messages go to
# stderr, so that what runs after the build has stdout for itself.
set -euo pipefail
cd "$(dirname "$0")/.."

# This build is its own, whatever make it is called from.
unset MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKELEVEL MAKEOVERRIDES

dir=$1
shift
settings=$(printf '%s\n' "$PWD" "CC=${CC:-}" "CFLAGS=${CFLAGS:-}" "LDFLAGS=${LDFLAGS:-}" "$@")
if [ -e "$dir/CMakeCache.txt" ] &&
    [ "$settings" != "$(cat "$dir/settings" 2>/dev/null)" ]; then
    rm -rf -- "$dir"
fi
mkdir -p -- "$dir"
exec >&2
if [ ! -e "$dir/settings" ]; then # Later changes cmake sees itself.
    cmake -S . -B "$dir" --log-level=NOTICE "$@"
    printf '%s\n' "$settings" >"$dir/settings"
fi
exec cmake --build "$dir" --parallel "$(nproc)"
