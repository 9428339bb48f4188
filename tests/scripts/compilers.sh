#!/usr/bin/env bash
# compilers.sh - gcc and clang, without and with the optimizer, make programs that fold alike: the
# same outcomes, histories, digests and rows. Their builds are kept in $MESHLOG_BUILD/compilers.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/_check.sh"

build=${MESHLOG_BUILD:-build}
unset CFLAGS LDFLAGS # Each build has its own.
export FOLD_SEEDS=1-60 FOLD_STORES=2

work=$(mktemp -d "${TMPDIR:-/tmp}/meshlog-compilers.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT

# configure DIR COMPILER LEVEL. Fortified sources need the optimizer, so that -O0 is of type Debug.
configure() {
    local type=Release
    [ "$3" = -O0 ] && type=Debug
    CC=$2 cmake -S . -B "$1" --log-level=ERROR -DMESHLOG_WERROR=OFF -DCMAKE_BUILD_TYPE=$type \
        -DCMAKE_C_FLAGS_${type^^}="$3"
}

# Where the tree, or the compiler, has another place than then, the build begins anew.
compile() {
    configure "$@" || { rm -rf -- "$1" && configure "$@"; } || return 1
    cmake --build "$1" --parallel "$(nproc)" --target test_fold_converge
}

# fold PROGRAM NAME: what it makes of the histories goes to NAME.dump and NAME.rows.
fold() {
    FOLD_DUMP="$work/$2.dump" "$1" 2>&1 | tee "$work/$2.out" || return 1
    grep '^all rows' "$work/$2.out" >"$work/$2.rows"
}

# is_this COMPILER LEVEL: is the build at hand one of these anyway?
is_this() {
    local id=GNU
    [ "$1" = clang ] && id=Clang
    [ "$2" = -O2 ] && grep -qx 'CMAKE_BUILD_TYPE:STRING=RelWithDebInfo' "$build/CMakeCache.txt" &&
        grep -qx 'CFLAGS=' "$build/settings" &&
        grep -qsF "set(CMAKE_C_COMPILER_ID \"$id\")" "$build"/CMakeFiles/*/CMakeCCompiler.cmake
}

quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" && false; }
}

check 'this build folds' quietly fold "$build/tests/test_fold_converge" this
check 'it has something to say' [ "$(grep -c '"digest"' "$work/this.dump")" -eq 60 ]
for compiler in gcc clang; do
    for level in -O0 -O2; do
        name=$compiler$level
        if ! command -v "$compiler" >/dev/null; then
            skip_test "$name: there is no $compiler here"
            continue
        fi
        is_this "$compiler" "$level" && continue
        dir=$build/compilers/$name
        check "$name builds" quietly compile "$dir" "$compiler" "$level"
        check "$name folds" quietly fold "$dir/tests/test_fold_converge" "$name"
        check "$name: the same outcomes, histories and digests" cmp "$work/this.dump" "$work/$name.dump"
        check "$name: the same rows" cmp "$work/this.rows" "$work/$name.rows"
    done
done

totals
