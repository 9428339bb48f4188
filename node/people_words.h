/* people_words.h - Words about records that the printers share: statuses, people, cut lines. */
#ifndef NODE_PEOPLE_WORDS_H
#define NODE_PEOPLE_WORDS_H

#include "node/printer.h"

/* A text in at most so many columns, with "…" where it is cut. Returns the columns it took. */
size_t say_cut(struct printer *printer, struct bytes text, size_t columns);

/* The same, filled up with spaces. */
void say_cut_padded(struct printer *printer, struct bytes text, size_t columns);

/* A status in its colour, filled up to so many columns. */
void say_status(struct printer *printer, struct bytes status, size_t columns);

/* "85 %", "12.5 %" from parts per million, right-aligned. */
void say_percent(struct printer *printer, int64_t ppm, int columns);

/* Who wrote an op: the name of the node, or the letters that tell keys apart. */
void say_who(struct printer *printer, const struct value *map);

/* A record in a line: enough letters of its id where columns are counted, all of them else. */
void say_id(struct printer *printer, struct bytes id);

/* Sentences, broken between words where columns are counted; indent spaces before each line, but
 * for the first where something of that width stands there already (hanging). */
void say_wrapped(struct printer *printer, unsigned indent, bool hanging, struct bytes text);

/* The same of what says a node, as bytes. */
struct bytes who_text(const struct value *map);

/* How many columns a text takes when it is said. */
size_t columns_of(struct bytes text);

#endif
