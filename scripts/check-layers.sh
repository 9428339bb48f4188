#!/usr/bin/env bash
# check-layers.sh DIR - may every file of the layers in DIR include what it does?
#
# The layers, lowest first. A file includes its own layer and those below it.
#   base ucan fsm oplog projections net bench node
# Libraries of others stay where they belong:
#   the network (uv, microhttpd, nats)   not in base, oplog, ucan, fsm, projections
#   lmdb                                 only in oplog and bench
#   msgpack, jansson                     only in base
#
# Prints one line per forbidden include. Exit: 0 none, 1 some, 2 nothing to check.
set -euo pipefail

if [ $# -ne 1 ] || ! cd "$1"; then
    echo 'usage: check-layers.sh DIR' >&2
    exit 2
fi

layers=(base ucan fsm oplog projections net bench node)
present=()
for layer in "${layers[@]}"; do
    if [ -d "$layer" ]; then
        present+=("$layer")
    fi
done
files=()
if [ ${#present[@]} -gt 0 ]; then
    mapfile -d '' files < <(find "${present[@]}" -type f -name '*.[ch]' -print0 | sort -z)
fi
if [ ${#files[@]} -eq 0 ]; then
    echo 'check-layers.sh: there are no sources here.' >&2
    exit 2
fi

awk -v order="${layers[*]}" '
function refuse(why) {
    printf "%s:%d: %s: %s\n", FILENAME, FNR, include, why
    refused++
}
# Is there such a file in this tree? (<net/if.h> belongs to the system.)
function is_ours(path,    line, found) {
    found = (getline line < path) >= 0
    close(path)
    return found
}
BEGIN {
    count = split(order, names, " ")
    for (i = 1; i <= count; i++) rank[names[i]] = i
}
FNR == 1 { layer = FILENAME; sub(/\/.*/, "", layer) }

/^[ \t]*#[ \t]*include/ {
    include = $0
    sub(/^[ \t]*#[ \t]*include(_next)?[ \t]*/, "", include)
    quote = substr(include, 1, 1)
    if (quote != "\"" && quote != "<") {
        refuse("an include by macro cannot be checked")
        next
    }
    path = substr(include, 2)
    sub(/[">].*/, "", path)
    include = quote path (quote == "<" ? ">" : quote)
    head = path
    sub(/[\/.].*/, "", head) # uv of uv.h, msgpack of msgpack/pack.h, "" of ../x.h

    if (head ~ /^(uv|microhttpd|nats)$/ && rank[layer] <= rank["projections"])
        refuse(layer " knows no network")
    else if (head == "lmdb" && layer != "oplog" && layer != "bench")
        refuse("LMDB is used in oplog and bench only")
    else if (head ~ /^(msgpack|jansson)$/ && layer != "base")
        refuse(head " is used in base only")
    else if (path ~ /(^|\/)\.\.?\//)
        refuse("write the path from the root of the tree")
    else if (path ~ /\// && (quote == "\"" || is_ours(path))) {
        if (!(head in rank))
            refuse(head " is no layer")
        else if (rank[head] > rank[layer])
            refuse(layer " is below " head)
    }
}
END {
    if (refused) exit 1
}' "${files[@]}"
echo "${#files[@]} files in ${#present[@]} layers, no forbidden include"
