#!/usr/bin/env bash
# run.sh BUILD_DIR [unit] - run the tests of a build, two at a time.
#
# Runs every program BUILD_DIR/tests/test_* (the unit tests, and the replay of the
# inputs kept for each fuzz target) and, unless "unit" is given, every script in
# tests/cli, tests/scripts and tests/interop (names that begin with _ are helpers).
# Each runs in the root of the tree, without input, with a HOME and TMPDIR of its
# own, for at most TEST_TIMEOUT seconds (600). Scripts find the program in $MESHLOG
# and print as their last line: N passed, M failed, K skipped
#
# A test counts as failed when it says so, and also when the program ended by a
# signal or with an error code, ran nothing, was not built, or announced tests
# that it did not bring to an end: cmocka calls a failed group teardown a success
# and a failed setup neither passed nor failed.
set -uo pipefail
export LC_ALL=C.UTF-8

case $# in
1 | 2) ;;
*)
    echo 'usage: tests/run.sh BUILD_DIR [unit]' >&2
    exit 2
    ;;
esac
build=$(cd "$1" && pwd) || exit 2
unit_only=false
[ "${2:-all}" = unit ] && unit_only=true
cd "$(dirname "$0")/.." || exit 2

limit=${TEST_TIMEOUT:-600}
at_once=${TEST_JOBS:-2}
work=$(mktemp -d "${TMPDIR:-/tmp}/meshlog.XXXXXX") || exit 2

clean_up() {
    local pids
    mapfile -t pids < <(jobs -p)
    if [ ${#pids[@]} -gt 0 ]; then
        kill "${pids[@]}" 2>/dev/null
        wait
    fi
    chmod -R u+rwX "$work" 2>/dev/null
    rm -rf -- "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

export MESHLOG="$build/meshlog" MESHLOG_BUILD="$build" MESHLOG_ROOT="$PWD"
export CMOCKA_MESSAGE_OUTPUT=STDOUT
unset CMOCKA_XML_FILE CMOCKA_TEST_ABORT MESHLOG_STORE MESHLOG_PASSPHRASE_FILE XDG_DATA_HOME XDG_RUNTIME_DIR
unset MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKELEVEL MAKEOVERRIDES
# The sanitizer, not cmocka, shall see a bad address: it tells where.
export ASAN_OPTIONS="handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:strict_string_checks=1:allocator_may_return_null=1:detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"

# TSan needs the usual places in memory; some kernels shuffle too widely for it.
prefix=()
if [ -n "${TEST_WRAPPER:-}" ]; then # A command to run each under: scripts/valgrind.sh
    read -ra prefix <<<"$TEST_WRAPPER"
elif grep -qs '^MESHLOG_SANITIZE:.*thread' "$build/CMakeCache.txt" && setarch -R true 2>/dev/null; then
    prefix=(setarch -R)
fi

# Read cmocka's output and print: passed failed skipped. Of a group that came to
# its end the closing lines count, of one cut off the lines of its tests. What was
# announced and neither passed nor was skipped has failed.
count_cmocka() {
    awk '
    function close_group() {
        passed += group_passed; skipped += group_skipped
        failed += announced - group_passed - group_skipped
        announced = group_passed = group_skipped = 0
    }
    function number(line) { gsub(/.*\] (Running )?| test\(s\).*/, "", line); return line + 0 }
    /\[==========\] Running [0-9]+ test\(s\)\.$/       { close_group(); announced = number($0); next }
    /\[==========\] [0-9]+ test\(s\) run\.$/           { group_passed = group_skipped = 0; next }
    /^\[  PASSED  \] [0-9]+ test\(s\)\.$/              { group_passed = number($0); next }
    /^\[  SKIPPED \] [0-9]+ test\(s\), listed below:$/ { group_skipped = number($0); in_list = 1; next }
    in_list && /^\[  SKIPPED \] /                      { next }
    /\[       OK \] /                                  { group_passed++ }
    /\[  SKIPPED \] /                                  { group_skipped++ }
    /\[  FAILED  \] GROUP TEARDOWN$/                   { failed++ }
    { in_list = 0 }
    END { close_group(); print passed + 0, failed + 0, skipped + 0 }' "$1"
}

# Read a script's output and print the same from its last line.
count_script() {
    if [[ $(tail -n 1 "$1") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        echo "${BASH_REMATCH[@]:1:3}"
    else
        echo '0 0 0'
    fi
}

# run_one NUMBER KIND NAME COMMAND…: run it, print its line, leave its counts in
# $work/NUMBER.counts and its output in $work/NUMBER.out.
run_one() {
    local out="$work/$1.out" own="$work/$1" kind=$2 name=$3 number=$1
    local start took status pid passed failed skipped why=''
    shift 3
    mkdir "$own" || return
    start=${EPOCHREALTIME/[^0-9]/}
    TMPDIR="$own" HOME="$own" timeout -k 5 "$limit" ${prefix[@]+"${prefix[@]}"} "$@" \
        >"$out" 2>&1 </dev/null &
    pid=$!
    trap 'kill "$pid" 2>/dev/null; wait "$pid"; exit 143' TERM
    wait "$pid" 2>/dev/null
    status=$?
    took=$(((${EPOCHREALTIME/[^0-9]/} - start) / 100000))
    chmod -R u+rwX "$own" 2>/dev/null
    rm -rf -- "$own"

    read -r passed failed skipped < <("count_$kind" "$out")
    if [ "$status" -eq 124 ] || { [ "$status" -eq 137 ] && [ $((took / 10)) -ge "$limit" ]; }; then
        why="stopped after $limit s"
    elif [ "$status" -gt 128 ]; then
        why="ended by signal $(kill -l "$status" 2>/dev/null || echo $((status - 128)))"
    elif [ $((passed + failed + skipped)) -eq 0 ]; then
        why='ran no test'
    elif [ "$failed" -gt 0 ]; then
        why="$failed failed"
    elif [ "$status" -ne 0 ]; then
        why="all passed, but it ended with code $status"
    fi
    if [ -n "$why" ] && [ "$failed" -eq 0 ]; then
        failed=1
    fi
    printf '%-4s %-36s %5d passed %3d skipped %5d.%d s%s\n' "${why:+FAIL}" "$name" "$passed" \
        "$skipped" $((took / 10)) $((took % 10)) "${why:+  ($why)}"
    printf '%d %d %d %s\n' "$passed" "$failed" "$skipped" "$name" >"$work/$number.counts"
}

number=0
# start KIND NAME COMMAND…: run it as soon as there is a free place.
start() {
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
        wait -n 2>/dev/null
    done
    number=$((number + 1))
    run_one "$number" "$@" &
}

shopt -s nullglob
for program in "$build"/tests/test_*; do
    if [ -f "$program" ] && [ -x "$program" ] &&
        [[ " ${TEST_LEAVE_OUT:-} " != *" ${program##*/} "* ]]; then
        start cmocka "${program##*/}" "$program"
    fi
done
not_built=()
for source in tests/unit/test_*.c; do
    name=$(basename "$source" .c)
    [ -x "$build/tests/$name" ] || not_built+=("$name")
done
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=test_replay_${name#fuzz_}
    [ -x "$build/tests/$name" ] || not_built+=("$name")
done
if ! $unit_only; then
    if [ -e tests/interop/_install.sh ]; then
        tests/interop/_install.sh # Its scripts say so themselves if this was in vain.
    fi
    for script in tests/cli/*.sh tests/scripts/*.sh tests/interop/*.sh; do
        case ${script##*/} in
        _*) ;;
        *) start script "${script#tests/}" bash "$script" ;;
        esac
    done
fi
wait

passed=0 failed=0 skipped=0
for ((i = 1; i <= number; i++)); do
    if ! read -r p f s name 2>/dev/null <"$work/$i.counts"; then
        p=0 f=1 s=0 name="test number $i"
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    if [ "$f" -gt 0 ]; then
        printf '\n---- %s\n' "$name"
        cat "$work/$i.out" 2>/dev/null
        printf -- '---- end of %s\n' "$name"
    fi
done
for name in ${not_built[@]+"${not_built[@]}"}; do
    echo "FAIL $name was not built"
    failed=$((failed + 1))
done
if [ $((passed + failed + skipped)) -eq 0 ]; then
    echo "FAIL there are no tests in $1"
    failed=1
fi
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
