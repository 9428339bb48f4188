#!/usr/bin/env bash
# runner.sh - tests/run.sh sees every way in which a test can fail. The stand-ins
# print what cmocka 1.1.5 prints.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/_check.sh"

root=$(mktemp -d)
trap 'rm -rf -- "$root"' EXIT
unset TEST_TIMEOUT TEST_JOBS

# judge NAME WANT_EXIT WANT_TOTALS PATTERN <program: run it alone, through the runner.
judge() {
    local name=$1 want_exit=$2 want_totals=$3 pattern=$4 output status
    rm -rf "${root:?}"/*
    mkdir -p "$root/tests/unit" "$root/build/tests" "$root/tmp"
    cp tests/run.sh "$root/tests/"
    { echo '#!/usr/bin/env bash' && cat; } >"$root/build/tests/test_x"
    chmod +x "$root/build/tests/test_x"
    output=$(TMPDIR="$root/tmp" TEST_TIMEOUT=1 "$root/tests/run.sh" "$root/build" unit 2>&1)
    status=$?
    check "$name: exit $want_exit" same "$status" "$want_exit"
    check "$name: totals" same "$(tail -n 1 <<<"$output")" "$want_totals"
    check "$name: says '$pattern'" grep -qE "$pattern" <<<"$output"
    check "$name: leaves no file" same "$(ls -A "$root/tmp")" ''
}

judge 'all passed' 0 '2 passed, 0 failed, 0 skipped' '^ +test_x +2 passed +0 skipped +[0-9.]+ s$' <<'PROGRAM'
echo "[==========] Running 2 test(s)."
echo "[ RUN      ] a"; echo "[       OK ] a"
echo "[ RUN      ] b"; echo "[       OK ] b"
echo "[==========] 2 test(s) run."
echo "[  PASSED  ] 2 test(s)."
PROGRAM

judge 'two groups, mixed' 1 '2 passed, 1 failed, 1 skipped' 'h.c:8: error' <<'PROGRAM'
cat <<'END'
[==========] Running 2 test(s).
[ RUN      ] a
[       OK ] a
[ RUN      ] s
[  SKIPPED ] s
[==========] 2 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] s

 1 SKIPPED TEST(S)
[==========] Running 2 test(s).
[ RUN      ] f
[  ERROR   ] --- 0
[   LINE   ] --- h.c:8: error: Failure!
[  FAILED  ] f
[ RUN      ] b
no end of line here[       OK ] b
[==========] 2 test(s) run.
[  PASSED  ] 1 test(s).
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] f

 1 FAILED TEST(S)
END
exit 1
PROGRAM

judge 'failed, but code 0' 1 '0 passed, 1 failed, 0 skipped' '1 failed' <<'PROGRAM'
echo "[==========] Running 1 test(s)."
echo "[==========] 1 test(s) run."
echo "[  PASSED  ] 0 test(s)."
echo "[  FAILED  ] 1 test(s), listed below:"
PROGRAM

judge 'group setup failed' 1 '0 passed, 2 failed, 0 skipped' 'GROUP SETUP' <<'PROGRAM'
echo "[==========] Running 2 test(s)."
echo "[  FAILED  ] GROUP SETUP"
echo "[  ERROR   ] t"
echo "[==========] 0 test(s) run."
echo "[  PASSED  ] 0 test(s)."
exit 1
PROGRAM

judge 'group teardown failed, code 0' 1 '1 passed, 1 failed, 0 skipped' 'GROUP TEARDOWN' <<'PROGRAM'
echo "[==========] Running 1 test(s)."
echo "[ RUN      ] a"; echo "[       OK ] a"
echo "[  FAILED  ] GROUP TEARDOWN"
echo "[  ERROR   ] t"
echo "[==========] 1 test(s) run."
echo "[  PASSED  ] 1 test(s)."
PROGRAM

judge 'test setup failed' 1 '1 passed, 1 failed, 0 skipped' 'Test setup failed' <<'PROGRAM'
echo "[==========] Running 2 test(s)."
echo "[ RUN      ] a"; echo "Could not run test: Test setup failed"; echo "[  ERROR   ] a"
echo "[ RUN      ] b"; echo "[       OK ] b"
echo "[==========] 2 test(s) run."
echo "[  PASSED  ] 1 test(s)."
exit 1
PROGRAM

judge 'ended by a signal' 1 '1 passed, 2 failed, 0 skipped' 'ended by signal ABRT' <<'PROGRAM'
echo "[==========] Running 3 test(s)."
echo "[ RUN      ] a"; echo "[       OK ] a"
echo "[ RUN      ] b"
kill -ABRT $$
PROGRAM

judge 'ended by a signal after its tests' 1 '1 passed, 1 failed, 0 skipped' 'signal SEGV' <<'PROGRAM'
echo "[==========] Running 1 test(s)."
echo "[==========] 1 test(s) run."
echo "[  PASSED  ] 1 test(s)."
kill -SEGV $$
PROGRAM

judge 'a leak found at the end' 1 '1 passed, 1 failed, 0 skipped' 'ended with code 23' <<'PROGRAM'
echo "[==========] Running 1 test(s)."
echo "[==========] 1 test(s) run."
echo "[  PASSED  ] 1 test(s)."
exit 23
PROGRAM

judge 'no output at all' 1 '0 passed, 1 failed, 0 skipped' 'ran no test' <<'PROGRAM'
PROGRAM

judge 'a group of none' 1 '0 passed, 1 failed, 0 skipped' 'ran no test' <<'PROGRAM'
echo "[==========] Running 0 test(s)."
echo "[==========] 0 test(s) run."
echo "[  PASSED  ] 0 test(s)."
PROGRAM

judge 'endless' 1 '0 passed, 2 failed, 0 skipped' 'stopped after 1 s' <<'PROGRAM'
echo "[==========] Running 2 test(s)."
sleep 30
PROGRAM

judge 'its own folder, no input' 0 '1 passed, 0 failed, 0 skipped' '1 passed' <<'PROGRAM'
mkdir -m 0 "$TMPDIR/locked" && [ "$HOME" = "$TMPDIR" ] && ! read -r _ || exit 1
echo "[==========] Running 1 test(s)."
echo "[==========] 1 test(s) run."
echo "[  PASSED  ] 1 test(s)."
PROGRAM

# A test that was not built, no tests at all, and scripts.
rm -rf "${root:?}"/*
mkdir -p "$root/tests/unit" "$root/tests/cli" "$root/build/tests"
cp tests/run.sh "$root/tests/"
check 'no tests: totals' same "$("$root/tests/run.sh" "$root/build" | tail -n 1)" '0 passed, 1 failed, 0 skipped'
touch "$root/tests/unit/test_y.c"
output=$("$root/tests/run.sh" "$root/build")
check 'not built: exit 1' [ $? -eq 1 ]
check 'not built: named' grep -q 'test_y was not built' <<<"$output"
rm "$root/tests/unit/test_y.c"

echo 'exit 1' >"$root/tests/cli/_helper.sh"
echo "[ \"\$MESHLOG\" = '$root/build/meshlog' ] && echo '3 passed, 0 failed, 1 skipped'" >"$root/tests/cli/a.sh"
output=$("$root/tests/run.sh" "$root/build")
check 'script: exit 0' [ $? -eq 0 ]
check 'script: totals' same "$(tail -n 1 <<<"$output")" '3 passed, 0 failed, 1 skipped'
echo "echo '3 passed, 0 failed, 1 skipped'; echo more" >"$root/tests/cli/b.sh"
output=$("$root/tests/run.sh" "$root/build")
check 'script without totals: exit 1' [ $? -eq 1 ]
check 'script without totals: totals' same "$(tail -n 1 <<<"$output")" '3 passed, 1 failed, 1 skipped'

totals
