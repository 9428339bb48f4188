/* say.h - What the printers of commands share: fields of a response, and how they are said. */
#ifndef NODE_SAY_H
#define NODE_SAY_H

#include "node/printer.h"

/* The most of a text that is said in a line. */
#define LINE_MAX_BYTES 4096u

/* Fields of a response that are texts or numbers; empty or 0 when they are not there. */
struct bytes text_of(const struct value *map, const char *key);
int64_t int_of(const struct value *map, const char *key);
bool bool_of(const struct value *map, const char *key);
uint32_t count_of(const struct value *map, const char *key);

void say_field(struct printer *printer, const struct value *map, const char *key);

/* "1 op", "2 ops" */
void say_count(struct printer *printer, int64_t count, const char *word);

/* Any value as JSON, escaped and cut. */
void say_json(struct printer *printer, const struct value *value, size_t max);

/* Local time, to the minute or to the second. */
void say_time(struct printer *printer, int64_t time_ms, bool seconds);

/* "pending: dep_missing" */
void say_verdict(struct printer *printer, const struct value *op);

#endif
