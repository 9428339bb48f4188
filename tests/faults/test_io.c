/* test_io.c - Every call on the store's files fails in turn: the disk is broken or full, a write
 * is cut short, a signal comes in between. */
#include <errno.h>

#include "base/err.h"
#include "tests/faults/battery.h"

static const struct way all_ways[] = {
    {"broken", {.calls = SHIM_FILES, .error = EIO}, {ERR_IO}},
    {"broken_forever", {.calls = SHIM_FILES, .error = EIO, .forever = true}, {ERR_IO}},
    {"full", {.calls = SHIM_FILES, .error = ENOSPC}, {ERR_DISK_FULL}},
    {"full_forever", {.calls = SHIM_FILES, .error = ENOSPC, .forever = true}, {ERR_DISK_FULL}},
    {"short", {.calls = SHIM_FILES, .short_write = true}, {ERR_IO, ERR_DISK_FULL}},
    {"short_forever",
     {.calls = SHIM_FILES, .short_write = true, .forever = true},
     {ERR_IO, ERR_DISK_FULL}},
    {"interrupted", {.calls = SHIM_FILES, .error = EINTR}, {ERR_IO}},
    {0},
};

int main(int argc, char *argv[])
{
    return battery_main(argc, argv, all_ways);
}
