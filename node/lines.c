#include "node/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "node/stop.h"

#define ROOM (4 * (size_t)LIMIT_JSON_LINE)

void lines_free(struct lines *lines)
{
    free(lines->data);
    lines->data = NULL;
}

static bool is_blank(struct bytes line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r') {
            return false;
        }
    }
    return true;
}

/* Read once more. LINES_LINE means: look again. */
static enum lines_event fill(struct lines *lines, bool wait)
{
    if (lines->data == NULL) {
        lines->data = malloc(ROOM);
        if (lines->data == NULL) {
            return LINES_FAILED;
        }
    }
    if (lines->to == ROOM) { /* from > 0, for no line may fill the room. */
        memmove(lines->data, lines->data + lines->from, lines->to - lines->from);
        lines->searched -= lines->from;
        lines->to -= lines->from;
        lines->from = 0;
    }
    enum stop_event event = stop_wait(lines->fd, -1, wait ? -1 : 0);
    if (event != STOP_READABLE) {
        return event == STOP_SIGNAL && wait ? LINES_STOPPED : LINES_NONE_YET;
    }
    ssize_t got = read(lines->fd, lines->data + lines->to, ROOM - lines->to);
    if (got < 0) {
        return errno == EINTR || errno == EAGAIN ? LINES_NONE_YET : LINES_FAILED;
    }
    lines->at_end = got == 0;
    lines->to += (size_t)got;
    return LINES_LINE;
}

/* Cut the next line out of what is read. False when its end is not there yet. */
static bool cut(struct lines *lines, struct bytes *line)
{
    if (lines->data == NULL) {
        return false;
    }
    const uint8_t *start = lines->data + lines->from;
    size_t left = lines->to - lines->searched;
    const uint8_t *end = left == 0 ? NULL : memchr(lines->data + lines->searched, '\n', left);
    if (end == NULL && !(lines->at_end && lines->from < lines->to)) {
        lines->searched = lines->to;
        return false;
    }
    size_t len = end != NULL ? (size_t)(end - start) : lines->to - lines->from;
    *line = bytes_of(start, len);
    lines->from += len + (end != NULL ? 1 : 0);
    if (lines->from == lines->to) {
        lines->from = 0;
        lines->to = 0;
    }
    lines->searched = lines->from;
    return true;
}

/* A line that is not whole yet and over the limit already. */
static bool overflows(struct lines *lines)
{
    if (lines->to - lines->from <= LIMIT_JSON_LINE) {
        return false;
    }
    lines->from = 0;
    lines->to = 0;
    lines->searched = 0;
    bool first = !lines->skipping;
    lines->skipping = true;
    lines->number += first ? 1 : 0;
    return first;
}

enum lines_event lines_next(struct lines *lines, bool wait, struct bytes *line)
{
    for (;;) {
        if (cut(lines, line)) {
            if (lines->skipping) { /* The end of a line that was named before. */
                lines->skipping = false;
                continue;
            }
            lines->number++;
            if (line->len > LIMIT_JSON_LINE) {
                return LINES_TOO_LONG;
            }
            if (!is_blank(*line)) {
                return LINES_LINE;
            }
            continue;
        }
        if (overflows(lines)) {
            return LINES_TOO_LONG;
        }
        if (lines->at_end) {
            return LINES_END;
        }
        enum lines_event event = fill(lines, wait);
        if (event == LINES_NONE_YET && wait) {
            continue;
        }
        if (event != LINES_LINE) {
            return event;
        }
    }
}
