#!/usr/bin/env bash
# valgrind.sh - the unit tests of the plain build under valgrind's memcheck: a bad
# access or a leak fails the test that has it.
#
# Left out are those that valgrind cannot run: test_kill and test_bench start the
# program itself again and look at its times, test_limits maps terabytes.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh build
export TEST_WRAPPER='valgrind -q --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite --error-exitcode=99'
export TEST_LEAVE_OUT='test_kill test_bench test_limits' TEST_TIMEOUT=${TEST_TIMEOUT:-1800}
exec tests/run.sh build unit
