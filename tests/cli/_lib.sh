# shellcheck shell=bash
# _lib.sh - to be sourced by the tests of the program: run it and look at what it did.
#
# $MESHLOG is the program. Each script works in a folder of its own, $work, with an empty
# store's name in MESHLOG_STORE.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/_check.sh"
: "${MESHLOG:?is the program to be tested}"

work=$(mktemp -d "${TMPDIR:-/tmp}/meshlog-cli.XXXXXX") || exit 1
export MESHLOG_STORE="$work/store"
unset XDG_DATA_HOME NO_COLOR MESHLOG_PASSPHRASE_FILE

clean_up() {
    local pids
    [ "$BASHPID" = "$$" ] || return 0 # A child that a test kills before it is the program.
    mapfile -t pids < <(jobs -p)
    if [ ${#pids[@]} -gt 0 ]; then
        kill -9 "${pids[@]}" 2>/dev/null
        wait 2>/dev/null
    fi
    chmod -R u+rwX "$work" "${other_home:-$work}" 2>/dev/null
    rm -rf -- "$work" "${other_home:-$work}"
}
trap clean_up EXIT

# run ARGUMENT…: run the program; leaves $code, and its output in $out and $err. Input is
# whatever the caller's is.
run() {
    "$MESHLOG" "$@" >"$work/out" 2>"$work/err"
    code=$?
    out=$(cat "$work/out")
    err=$(cat "$work/err")
}

show_run() {
    printf '  code: %s\n  out: %s\n  err: %s\n' "$code" "$out" "$err"
    return 1
}

# What the last run did.
ended() { [ "$code" -eq "$1" ] || show_run; }
printed() { grep -qF -e "$1" "$work/out" || show_run; }
complained() { grep -qF -e "$1" "$work/err" || show_run; }

# Nothing on stdout, one line on stderr.
one_sentence() {
    if [ -n "$out" ] || [ "$(wc -l <"$work/err")" -ne 1 ] || [[ $err != 'meshlog: '* ]]; then
        show_run
    fi
}

# json_failure CODE: the last line of output is the failure, and stderr is empty.
json_failure() {
    local last
    last=$(tail -n 1 "$work/out")
    if [[ $last != "{\"ok\":false,\"error\":\"$1\",\"message\":\""* ]] || [ -n "$err" ]; then
        show_run
    fi
}

# refused WHAT EXIT CODE TEXT ARGUMENT…: the program refuses these arguments, for people with
# one sentence that holds TEXT, and as JSON with CODE.
refused() {
    local what=$1 exit=$2 error=$3 text=$4
    shift 4
    run "$@" </dev/null
    check "$what: exit code" ended "$exit"
    check "$what: one sentence" one_sentence
    check "$what: says '$text'" complained "$text"
    run --json "$@" </dev/null
    check "$what: exit code with --json" ended "$exit"
    check "$what: JSON says $error" json_failure "$error"
}

# by_rule REASON RULE: the last run was refused so.
by_rule() { printed "\"ok\":false,\"error\":\"$1\",\"message\":" && printed "\"rule\":\"$2\""; }

# has_fields FIELD…: the last line of the output is an object with these fields.
has_fields() {
    local field line
    line=$(tail -n 1 "$work/out")
    for field in "$@"; do
        if [[ $line != *"\"$field\":"* ]]; then
            printf '  no field %s\n' "$field"
            show_run
            return 1
        fi
    done
}

# A count as people are shown it: 3,001.
grouped() { sed ':more; s/\B[0-9]\{3\}\>/,&/; t more' <<<"$1"; }

# field NAME: the value of a text or number in the last line of output.
field() {
    tail -n 1 "$work/out" | sed -n "s/.*\"$1\":\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p"
}

# wait_for SECONDS COMMAND…: until the command succeeds.
wait_for() {
    local tries=$(($1 * 20))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}

lines_in() { [ "$(wc -l <"$1")" -ge "$2" ]; }

# claims COUNT: lines for a batch.
claims() {
    local i
    for ((i = 1; i <= $1; i++)); do
        printf '{"kind":"CreateClaim","payload":{"text":"claim %d"},"ref":%d}\n' "$i" "$i"
    done
}

# become_other: from now on there is as_other COMMAND…, which runs as somebody who is not root,
# and $other_home, a folder of theirs. False where there is nobody else to be.
become_other() {
    if [ "$(id -u)" -ne 0 ]; then
        as_other() { "$@"; }
        other_home=$work
    elif command -v setpriv >/dev/null; then
        # A coverage build would complain that it may not write its counts; there it may.
        as_other() { GCOV_PREFIX=$other_home setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
        other_home=$(mktemp -d /tmp/meshlog-other.XXXXXX)
        cp "$MESHLOG" "$other_home/program"
        chmod 755 "$other_home" "$other_home/program"
        chown 65534:65534 "$other_home"
        MESHLOG=$other_home/program
    fi
    declare -F as_other >/dev/null && as_other "$MESHLOG" version >/dev/null 2>&1
}

# run_other ARGUMENT…: as run, but as somebody else.
run_other() {
    as_other "$MESHLOG" "$@" >"$work/out" 2>"$work/err"
    code=$?
    out=$(cat "$work/out")
    err=$(cat "$work/err")
}
