#!/usr/bin/env bash
# c-files.sh [.c] - the C sources and headers of the tree (or its .c files only),
# each ended by a zero byte. The bad samples of tests are not among them.
set -euo pipefail
cd "$(dirname "$0")/.."

find . \( -name '.?*' -o -path './build*' -o -path './tests/*_sample' \) -prune \
    -o -type f \( -name '*.c' -o -name "*${1:-.h}" \) -print0 | sort -z
