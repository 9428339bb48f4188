/* raw.h - What the processor can do at best: sign, verify, hash. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stddef.h>

#include "base/err.h"

struct raw_crypto;

/* For messages of sign_bytes (a header and its context), ops of op_bytes. ERR_NO_MEMORY. */
int raw_crypto_open(size_t sign_bytes, size_t op_bytes, struct raw_crypto **out) ERR_MUST_CHECK;
void raw_crypto_close(struct raw_crypto *crypto);

/* Each for so many seconds, in pieces per second. On one core: */
double raw_sign(struct raw_crypto *crypto, double seconds);
double raw_verify(struct raw_crypto *crypto, double seconds);
double raw_hash(struct raw_crypto *crypto, double seconds);

/* On all cores at once. ERR_NO_MEMORY when there are no threads for it. */
int raw_verify_all(struct raw_crypto *crypto, double seconds, double *per_s) ERR_MUST_CHECK;

#endif
