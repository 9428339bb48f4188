#!/usr/bin/env bash
# coverage.sh DIR - run all tests of the coverage build in DIR and print, per
# folder, the share of lines and branches they reach. The branch of an assert that
# stops the program does not count.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

dir=$1
find "$dir" -name '*.gcda' -delete
# A program that may not write its counts, by a test's own doing, would complain on stderr,
# where that test expects one sentence.
export GCOV_ERROR_FILE=/dev/null
tests/run.sh "$dir" >"$dir/tests.log" 2>&1
status=$?
if [ "$status" -ne 0 ]; then
    cat "$dir/tests.log"
fi

gcovr --root . --object-directory "$dir" --exclude 'tests/' --exclude "$dir/" \
    --exclude-branches-by-pattern '\s*assert\(.*' \
    --csv "$dir/coverage.csv" --txt "$dir/coverage.txt" || exit 1

# filename,line_total,line_covered,line_percent,branch_total,branch_covered,…
awk -F, -v files="$dir/coverage.txt" '
function percent(part, all) { return all ? sprintf("%.1f %%", 100 * part / all) : "-" }
function row(name, l, lc, b, bc) {
    printf "%-14s %8d %9s %8d %9s\n", name, l, percent(lc, l), b, percent(bc, b)
}
NR == 1 { next }
{
    folder = $1; sub(/\/.*/, "", folder)
    lines[folder] += $2; lines_hit[folder] += $3; branches[folder] += $5; branches_hit[folder] += $6
    l += $2; lc += $3; b += $5; bc += $6
    if (!(folder in seen)) { seen[folder] = 1; order[++n] = folder }
}
END {
    printf "%-14s %8s %9s %8s %9s\n", "folder", "lines", "reached", "branches", "reached"
    for (i = 1; i <= n; i++) {
        f = order[i]; row(f, lines[f], lines_hit[f], branches[f], branches_hit[f])
    }
    row("all", l, lc, b, bc)
    printf "\nPer file, with the lines not reached: %s\n", files
}' "$dir/coverage.csv"
tail -n 1 "$dir/tests.log"
exit "$status"
