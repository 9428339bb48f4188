/* support_cbor.h - Another reader of CBOR, to judge value_from_cbor by. */
#ifndef TESTS_SUPPORT_CBOR_H
#define TESTS_SUPPORT_CBOR_H

#include "base/value.h"

/* Read with libcbor alone, which takes many forms of a value. false: it refuses, something is left
 * over, or there is what a tree cannot hold. */
bool libcbor_read(struct arena *arena, struct bytes in, struct value *out);

/* May libcbor be asked? It makes room for as many items as a head says that it does not get to
 * see, so large counts are kept from it. */
bool libcbor_is_safe(struct bytes in);

#endif
