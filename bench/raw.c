#include "bench/raw.h"

#include <pthread.h>
#include <sched.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"
#include "oplog/pool.h"

#define MESSAGES 64u /* A power of two. */
#define MESSAGE_MAX 512u
#define OP_MAX 4096u
#define BETWEEN_LOOKS 8u /* Pieces between two looks at the clock. */

struct raw_crypto {
    size_t sign_bytes;
    size_t op_bytes;
    uint8_t public[crypto_sign_PUBLICKEYBYTES];
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    uint8_t message[MESSAGES][MESSAGE_MAX];
    uint8_t sig[MESSAGES][crypto_sign_BYTES];
    uint8_t op[OP_MAX];
};

int raw_crypto_open(size_t sign_bytes, size_t op_bytes, struct raw_crypto **out)
{
    static const uint8_t seed[crypto_sign_SEEDBYTES] = {1};
    struct raw_crypto *crypto = sodium_init() < 0 ? NULL : calloc(1, sizeof(*crypto));
    if (crypto == NULL) {
        return ERR_NO_MEMORY;
    }
    crypto->sign_bytes = sign_bytes < MESSAGE_MAX ? sign_bytes : MESSAGE_MAX;
    crypto->op_bytes = op_bytes < OP_MAX ? op_bytes : OP_MAX;
    crypto_sign_seed_keypair(crypto->public, crypto->secret, seed);
    randombytes_buf_deterministic(crypto->message, sizeof(crypto->message), seed);
    randombytes_buf_deterministic(crypto->op, sizeof(crypto->op), seed);
    for (size_t i = 0; i < MESSAGES; i++) {
        crypto_sign_detached(crypto->sig[i], NULL, crypto->message[i], crypto->sign_bytes,
                             crypto->secret);
    }
    *out = crypto;
    return 0;
}

void raw_crypto_close(struct raw_crypto *crypto)
{
    free(crypto);
}

/* Work on pieces until the time is over. */
static double rate(struct raw_crypto *crypto, double seconds,
                   void (*piece)(struct raw_crypto *crypto, size_t i))
{
    double start = seconds_now();
    double spent;
    size_t done = 0;
    do {
        for (size_t i = 0; i < BETWEEN_LOOKS; i++) {
            piece(crypto, done++ % MESSAGES);
        }
        spent = seconds_now() - start;
    } while (spent < seconds);
    return (double)done / spent;
}

static void sign_one(struct raw_crypto *crypto, size_t i)
{
    crypto_sign_detached(crypto->sig[i], NULL, crypto->message[i], crypto->sign_bytes,
                         crypto->secret);
}

static void verify_one(struct raw_crypto *crypto, size_t i)
{
    if (crypto_sign_verify_detached(crypto->sig[i], crypto->message[i], crypto->sign_bytes,
                                    crypto->public) != 0) {
        abort(); /* Our own signature. */
    }
}

static void hash_one(struct raw_crypto *crypto, size_t i)
{
    uint8_t hash[32];
    crypto->op[0] = (uint8_t)i;
    crypto_generichash(hash, sizeof(hash), crypto->op, crypto->op_bytes, NULL, 0);
    crypto->op[1] = hash[0];
}

double raw_sign(struct raw_crypto *crypto, double seconds)
{
    return rate(crypto, seconds, sign_one);
}

double raw_verify(struct raw_crypto *crypto, double seconds)
{
    return rate(crypto, seconds, verify_one);
}

double raw_hash(struct raw_crypto *crypto, double seconds)
{
    return rate(crypto, seconds, hash_one);
}

/* The threads begin together once all of them are there. */
enum { GO_WAIT, GO_NOW, GO_HOME };

struct start {
    atomic_uint ready;
    atomic_int go;
};

struct verifier {
    struct raw_crypto *crypto;
    struct start *start;
    double seconds;
    double per_s;
    pthread_t thread;
};

static void *verify_in_thread(void *arg)
{
    struct verifier *verifier = arg;
    atomic_fetch_add(&verifier->start->ready, 1);
    while (atomic_load(&verifier->start->go) == GO_WAIT) {
        sched_yield();
    }
    if (atomic_load(&verifier->start->go) == GO_NOW) {
        verifier->per_s = rate(verifier->crypto, verifier->seconds, verify_one);
    }
    return NULL;
}

static int verify_in_threads(struct verifier *verifiers, unsigned count, struct start *start)
{
    unsigned started = 0;
    while (started < count && pthread_create(&verifiers[started].thread, NULL, verify_in_thread,
                                             &verifiers[started]) == 0) {
        started++;
    }
    while (atomic_load(&start->ready) < started) {
        sched_yield();
    }
    atomic_store(&start->go, started == count ? GO_NOW : GO_HOME);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(verifiers[i].thread, NULL);
    }
    return started == count ? 0 : ERR_NO_MEMORY;
}

int raw_verify_all(struct raw_crypto *crypto, double seconds, double *per_s)
{
    unsigned cores = cpu_cores();
    struct start start = {0};
    struct verifier *verifiers = calloc(cores, sizeof(*verifiers));
    if (verifiers == NULL) {
        return ERR_NO_MEMORY;
    }
    for (unsigned i = 0; i < cores; i++) {
        verifiers[i] = (struct verifier){.crypto = crypto, .start = &start, .seconds = seconds};
    }
    int rv = verify_in_threads(verifiers, cores, &start);
    *per_s = 0;
    for (unsigned i = 0; i < cores; i++) {
        *per_s += verifiers[i].per_s;
    }
    free(verifiers);
    return rv;
}
