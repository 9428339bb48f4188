/* printer.h - Turn responses into text, for people or as JSON, and write it out. */
#ifndef NODE_PRINTER_H
#define NODE_PRINTER_H

#include "node/call.h"

struct printer;

/* Print one response for people. */
typedef void print_fn(struct printer *printer, const struct value *response);

struct printer {
    struct buf out; /* What was emitted and not yet written. */
    int fd;         /* Where flush writes; -1 leaves it in out. */
    bool json;
    bool colour;
    unsigned width; /* Columns for a line; 0 when nobody counts them. */
    bool quiet;     /* No notes and no progress. */
    bool progress;  /* A progress line stands on the terminal. */
    uint64_t shown; /* When progress was last worth showing, in ms of a steady clock. */
    int broken;     /* errno of the write that failed. */
    print_fn *people;
    struct sink sink; /* Ready to be given to a call. */
};

/* For standard output, with colours and widths as it is a terminal or not. */
void printer_init(struct printer *printer, print_fn *people, bool json);

/* Collect only, in plain text of this width. */
void printer_init_memory(struct printer *printer, print_fn *people, unsigned width);
void printer_free(struct printer *printer);

/* Add to the text for standard output. */
void say(struct printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for text from elsewhere: escaped, at most max bytes. */
void say_text(struct printer *printer, struct bytes text, size_t max);

enum tint { TINT_PLAIN, TINT_BOLD, TINT_DIM, TINT_GOOD, TINT_WARN, TINT_BAD, TINT_PICTURE };

/* Set the colour of what is said next, where there are colours. */
void say_tint(struct printer *printer, enum tint tint);

/* How far a work has come, as one line of at most width - 1 columns:
 * "Importing  [####----]  50 %  500 of 1,000 ops". The bar shrinks with the line. */
#define PROGRESS_LINE 256u
void progress_bar(const char *what, uint64_t done, uint64_t total, unsigned width, char *out,
                  size_t size);

/* One sentence on standard error: "meshlog: …". What was said before it is written first. */
void say_aside(struct printer *printer, const char *text);

#endif
