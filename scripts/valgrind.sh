#!/usr/bin/env bash
# valgrind.sh - the unit tests of the plain build under valgrind's memcheck: a bad
# access or a leak fails the test that has it.
#
# Left out are those that valgrind cannot run: test_kill, test_kill_more and
# test_bench start the program itself again and look at its times; and those that
# are too slow for it, with more than five minutes: test_bundle and test_converge.
# test_limits skips its map_sizes, which maps terabytes.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh build
export TEST_WRAPPER='valgrind -q --leak-check=full --errors-for-leak-kinds=definite,indirect --show-leak-kinds=definite,indirect --error-exitcode=99'
export TEST_LEAVE_OUT='test_kill test_kill_more test_bench test_bundle test_converge' TEST_TIMEOUT=${TEST_TIMEOUT:-1800}
export TEST_UNDER_VALGRIND=1
exec tests/run.sh build unit
