/* selector.h - Where in the subject a statement looks: ".", ".foo", ".foo[0].bar?", "[2:]", …
 *
 *   .              all of it
 *   .foo           the value of a key that is made of letters, digits and _ (or any character
 *                  beyond ASCII) and does not begin with a digit
 *   ["foo"]        the value of any key; \" and \\ in it are a quote and a backslash
 *   [2] [-1]       an item of an array, or a byte of bytes as an integer; below 0 from the end
 *   [1:3] [1:] [:-1]  a range of an array or of bytes, cut to what there is, maybe empty
 *   []             the values of a map as an array; an array stays what it is
 *   ?              after any of these, once or more: null instead of what cannot be resolved
 *
 * A selector begins with a dot; before a bracket a further one may stand, but never two in a row.
 * The spec names no slices of texts, so they cannot be resolved. */
#ifndef UCAN_SELECTOR_H
#define UCAN_SELECTOR_H

#include "base/value.h"
#include "ucan/work.h"

/* ERR_MALFORMED, or ERR_TOO_LARGE over LIMIT_SELECTOR bytes. */
int selector_check(struct bytes selector) ERR_MUST_CHECK;

/* Is its first segment this key? selector_check has said yes; the same holds below. */
bool selector_begins_with(struct bytes selector, struct bytes key);

/* May what it selects be this field, lie in it or hold it? within is NULL, or the field that has
 * it. */
bool selector_may_read(struct bytes selector, const char *within, const char *field);

/* Is its first segment a key, whichever? */
bool selector_names_field(struct bytes selector);

/* What was selected. A slice is a value of its own over the subject's memory; the values of a map
 * are not copied but walked through. */
struct selected {
    struct value value;
    bool is_values; /* value is a map, and stands for the array of its values… */
    uint32_t from;  /* …from here… */
    uint32_t to;    /* …to before here, in the order in which DAG-CBOR writes their keys. */
};

/* ANSWER_NO: it cannot be resolved. A key that a map does not have is null, resolved; a key of
 * anything else is not. What cannot be resolved ends the selection, unless that very segment is
 * optional; after the null of an optional one it goes on. */
enum answer selector_select(struct bytes selector, const struct value *subject, struct work *work,
                            struct selected *out);

/* Go through what was selected, if it is an array or the values of a map. */
struct selected_walk {
    const struct selected *selected;
    const struct value_entry *last;
    uint32_t at;
};

bool selected_is_array(const struct selected *selected);
uint32_t selected_count(const struct selected *selected);
struct selected_walk selected_walk(const struct selected *selected);

/* ANSWER_YES and the next item, or ANSWER_NO at the end. */
enum answer selected_next(struct selected_walk *walk, struct work *work, const struct value **out);

#endif
