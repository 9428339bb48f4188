#!/usr/bin/env bash
# layers.sh - no layer includes a higher one, and the check that says so can fail.
# shellcheck source=tests/scripts/_check.sh
. "$(dirname "$0")/_check.sh"

layers=(base ucan fsm oplog projections net bench node)
sample=tests/layers_sample

# The repository.
check 'the repository keeps its layers' scripts/check-layers.sh .

# One bad file per rule: each is reported, with its line, and nothing else is.
report=$(scripts/check-layers.sh "$sample")
check 'the sample is refused' [ $? -eq 1 ]
expected=0
reported() { # FILE:LINE REASON
    expected=$((expected + 1))
    check "$1 is reported: $2" grep -qE "^$1: .*$2" <<<"$report"
}
reported base/upward.c:3 'base is below oplog'
reported base/upward_angle.c:2 'base is below node'
reported base/network_uv.c:1 'knows no network'
reported oplog/network_http.c:1 'knows no network'
reported ucan/network_nats.c:1 'knows no network'
reported fsm/network_uv.h:1 'knows no network'
reported projections/network_uv.c:1 'knows no network'
reported ucan/lmdb.c:1 'in oplog and bench only'
reported projections/lmdb.c:1 'in oplog and bench only'
reported node/lmdb.c:1 'in oplog and bench only'
reported oplog/msgpack.c:1 'in base only'
reported node/msgpack_part.c:1 'in base only'
reported node/jansson.c:1 'in base only'
reported net/no_layer.c:1 'is no layer'
reported node/dots.c:1 'from the root'
reported net/by_macro.c:2 'by macro'
check 'nothing else is reported' same "$(wc -l <<<"$report")" "$expected"

# Every pair of layers: refused exactly when the included one is higher.
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
want=''
for i in "${!layers[@]}"; do
    mkdir "$tree/${layers[i]}"
    for j in "${!layers[@]}"; do
        printf '#include "%s/x.h"\n' "${layers[j]}" >"$tree/${layers[i]}/includes_${layers[j]}.c"
        if [ "$j" -gt "$i" ]; then
            want+="${layers[i]}/includes_${layers[j]}.c"$'\n'
        fi
    done
done
got=$(scripts/check-layers.sh "$tree" | sed 's/:.*//')
check 'every pair of layers is judged rightly' same "$(sort <<<"$got")" "$(sort <<<"${want%$'\n'}")"

# A check that looks at nothing must not pass.
mkdir "$tree/empty"
scripts/check-layers.sh "$tree/empty" 2>/dev/null
check 'a tree without sources is refused' [ $? -eq 2 ]

totals
