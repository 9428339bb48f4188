#include "ucan/token.h"

static bool is_top(struct bytes command)
{
    return command.len == 1 && command.data[0] == '/';
}

bool ucan_command_is_valid(struct bytes command)
{
    if (command.len == 0 || command.data[0] != '/') {
        return false;
    }
    if (is_top(command)) {
        return true;
    }
    for (size_t i = 0; i < command.len; i++) {
        uint8_t c = command.data[i];
        bool ends_empty = c == '/' && (i + 1 == command.len || command.data[i + 1] == '/');
        if (ends_empty || (c >= 'A' && c <= 'Z')) {
            return false;
        }
    }
    return true;
}

/* "/job" covers "/job/claim" and not "/jobs". */
bool ucan_command_covers(struct bytes command, struct bytes other)
{
    if (is_top(command)) {
        return true;
    }
    if (other.len < command.len || memcmp(other.data, command.data, command.len) != 0) {
        return false;
    }
    return other.len == command.len || other.data[command.len] == '/';
}
