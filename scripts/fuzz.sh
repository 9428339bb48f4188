#!/usr/bin/env bash
# fuzz.sh - build every tests/fuzz/fuzz_*.c with clang and run each for
# FUZZ_SECONDS. Seeds are in tests/fuzz/corpus/NAME, words in tests/fuzz/NAME.dict,
# where there are any; new inputs stay in build-fuzz/corpus/NAME. An input that
# breaks a target is left in build-fuzz/found.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
sources=(tests/fuzz/fuzz_*.c)
if [ ${#sources[@]} -eq 0 ]; then
    echo 'There are no fuzz targets yet.'
    exit 0
fi

scripts/deps.sh fuzz
case ${CC:-} in
*clang*) ;;
*) export CC=clang ;;
esac
scripts/build.sh build-fuzz -DMESHLOG_FUZZ=ON

mkdir -p build-fuzz/found build-fuzz/tmp
export TMPDIR="$PWD/build-fuzz/tmp" # For the stores of the targets.
trap 'rm -rf -- "$TMPDIR"' EXIT
broken=0
for source in "${sources[@]}"; do
    name=$(basename "$source" .c)
    mkdir -p "build-fuzz/corpus/$name"
    corpora=("build-fuzz/corpus/$name")
    if [ -d "tests/fuzz/corpus/$name" ]; then
        corpora+=("tests/fuzz/corpus/$name")
    fi
    options=("-max_total_time=${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048
        -print_final_stats=1 "-artifact_prefix=build-fuzz/found/$name-")
    if [ -f "tests/fuzz/$name.dict" ]; then
        options+=("-dict=tests/fuzz/$name.dict")
    fi
    printf '\n== %s, %s s\n' "$name" "${FUZZ_SECONDS:-60}"
    if "build-fuzz/fuzz/$name" "${options[@]}" "${corpora[@]}" >"build-fuzz/$name.log" 2>&1; then
        grep -E '^(stat::number_of_executed_units|stat::average_exec_per_sec)' "build-fuzz/$name.log" || true
    else
        broken=$((broken + 1))
        tail -n 60 "build-fuzz/$name.log"
    fi
done

printf '\n%d fuzz targets, %d broken\n' "${#sources[@]}" "$broken"
[ "$broken" -eq 0 ]
