/* support_fixtures.h - The published fixtures, which are not in this tree. */
#ifndef TESTS_SUPPORT_FIXTURES_H
#define TESTS_SUPPORT_FIXTURES_H

#include "base/value.h"

/* Read a file of JSON, such as "ucan/delegation.json", from the folder $MESHLOG_FIXTURES or,
 * without it, from shared/fixtures beside this tree. false, and a line that says so: the folder is
 * not there; the test should skip(). Fails when the folder is there and the file is not good. */
bool fixture_read(struct arena *arena, const char *name, struct value *out);

/* A field that must be a text; its bytes where it is base64, padded or not. */
struct bytes fixture_text(const struct value *map, const char *key);
struct bytes fixture_base64(const struct value *map, const char *key);

#endif
