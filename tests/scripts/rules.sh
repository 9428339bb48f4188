#!/usr/bin/env bash
# rules.sh - every rule of the parent specification is cited by a test, and every citation is of a
# rule (spec/README.md); and every rule that refuses is reached by a test of the folds.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/_check.sh"

# rules_of FOLDER: the numbers in the first column of tables in its chapters.
rules_of() {
    sed -nE 's/^\| ([CXFJN][0-9]+) \|.*/\1/p' "$1"/*.md | sort
}

# cited_in FOLDER: the numbers in brackets in its files, each once; not in what others wrote.
cited_in() {
    grep -rIhoE --exclude-dir=node_modules '\[[CXFJN][0-9]+(, [CXFJN][0-9]+)*\]' "$1" | grep -oE '[CXFJN][0-9]+' | sort -u
}

# differences SPEC TESTS: what is not as it should be, a line each.
differences() {
    local rules cited
    rules=$(rules_of "$1")
    cited=$(cited_in "$2")
    uniq -d <<<"$rules" | sed 's/^/twice: /'
    comm -23 <(uniq <<<"$rules") <(echo "$cited") | sed 's/^/cited by no test: /'
    comm -13 <(uniq <<<"$rules") <(echo "$cited") | sed 's/^/no such rule: /'
}

check 'there are rules' [ "$(rules_of spec | wc -l)" -ge 40 ]
check 'rules and citations' same "$(differences spec tests)" ''

# The same of a sample in which everything is wrong that can be.
sample=$(mktemp -d)
trap 'rm -rf -- "$sample"' EXIT
mkdir "$sample/spec" "$sample/tests"
printf '| %s | says | here |\n' C1 C2 X1 X1 N12 >"$sample/spec/claims.md"
printf '/* [%s] */\n' 'C2, X1' J9 >"$sample/tests/test_claims.c"
check 'what is wrong is found' same "$(differences "$sample/spec" "$sample/tests")" \
    'twice: X1'$'\n''cited by no test: C1'$'\n''cited by no test: N12'$'\n''no such rule: J9'

# Every rule by which the folds refuse is the outcome of an op in a story.
codes=$(sed -nE 's/^ *X\([A-Z_]+, [0-9]+, "([a-z_]+)"\).*/\1/p' \
    <(sed -n '/define RULE_TABLE/,/^$/p' oplog/verdict.h))
check 'there are rules that refuse' [ "$(wc -l <<<"$codes")" -ge 25 ]
for code in $codes; do
    check "$code is reached" grep -qE "\"[a-z_]+ $code\"" tests/unit/test_{claims,cascades,jobs}.c
done

totals
