/* test_allocations.c - Every allocation fails in turn: our own, LMDB's, jansson's, libsodium's. */
#include "base/err.h"
#include "tests/faults/battery.h"

static const struct way all_ways[] = {
    {"once", {.calls = SHIM_ALLOCATIONS}, {ERR_NO_MEMORY}},
    {"forever", {.calls = SHIM_ALLOCATIONS, .forever = true}, {ERR_NO_MEMORY}},
    {0},
};

int main(int argc, char *argv[])
{
    return battery_main(argc, argv, all_ways);
}
