/* lines.h - Read lines from a descriptor as they come, without more waiting than asked for. */
#ifndef NODE_LINES_H
#define NODE_LINES_H

#include "base/bytes.h"

enum lines_event {
    LINES_LINE,     /* A line that is not blank. */
    LINES_TOO_LONG, /* One over LIMIT_JSON_LINE: left out up to its end. */
    LINES_NONE_YET, /* No whole line without waiting. */
    LINES_STOPPED,  /* A signal came while waiting (stop.h). */
    LINES_END,
    LINES_FAILED, /* The input could not be read, or there is no memory. */
};

/* Zero it and set fd. The owner calls lines_free. */
struct lines {
    int fd;
    uint64_t number; /* Of the last line, from 1; blank ones count. */
    uint8_t *data;
    size_t from; /* What is read and not given out: [from, to). */
    size_t to;
    size_t searched; /* No line ends in [from, searched). */
    bool at_end;
    bool skipping; /* In a line that was too long. */
};

/* The next line, borrowed until the next call, without its newline. */
enum lines_event lines_next(struct lines *lines, bool wait, struct bytes *line);
void lines_free(struct lines *lines);

#endif
