/* forge.h - Mutators that know the formats: they take bytes apart as far as they go, change them at
 * one place, and put them together again with the lengths, hashes, signatures and checks that fit,
 * so that a fuzzer gets past these. Now and then they leave something that does not fit.
 *
 * Each is a LLVMFuzzerCustomMutator. Ops are signed where their author is one of the tests'. */
#ifndef TESTS_FORGE_H
#define TESTS_FORGE_H

#include <stddef.h>
#include <stdint.h>

size_t forge_cbor(uint8_t *data, size_t len, size_t max, unsigned seed);
size_t forge_op(uint8_t *data, size_t len, size_t max, unsigned seed);
size_t forge_segment(uint8_t *data, size_t len, size_t max, unsigned seed);
size_t forge_bundle(uint8_t *data, size_t len, size_t max, unsigned seed);

#endif
