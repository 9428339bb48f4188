/* fuzz.h - What libFuzzer and replay.c expect of a target, and what they offer it. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Try one input. A broken rule ends the process. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Change an input in place; the new length is at most max. A target may have one: it is asked
 * instead of libFuzzer's own, which it can call. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max);

#endif
