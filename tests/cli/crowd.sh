#!/usr/bin/env bash
# crowd.sh - one entity with more merges than can be followed, and all the others beside it.
# shellcheck source=tests/cli/_lib.sh
. "$(dirname "$0")/_lib.sh"

many=4100 # LIMIT_ENTITY_GROUP is 4096.

run init --name here
# make NAME: an entity; prints its id.
make() {
    "$MESHLOG" --json entity add "$1" | sed 's/.*"id":"\([^"]*\)".*/\1/'
}
bob=$(make Bob)
hub=$(make Hub)
for ((i = 0; i < many; i++)); do
    printf '{"kind":"CreateEntity","payload":{"name":"x%d"}}\n' "$i"
done | "$MESHLOG" append --batch >"$work/made" 2>"$work/refused"
while read -r id; do
    printf '{"kind":"MergeEntities","payload":{"entity":"%s","into":"%s"}}\n' "$id" "$hub"
done <"$work/made" | "$MESHLOG" append --batch >"$work/merged" 2>"$work/refused"
run entity split "$hub" --alias apart
check 'one is split off the crowd' ended 0
check 'as many were merged' same "$(grep -vc '^error' "$work/merged")" "$many"

run --json entity show Hub
check 'the crowd is too large' json_failure too_large
run --json entity show Bob
check 'another name is found' ended 0
check 'and it is the right one' printed "\"id\":\"$bob\""
run entity show nobody
check 'a name that nobody has' complained 'No entity has the name'

totals
