#include "oplog/keyfile.h"

#include <assert.h>
#include <sodium.h>

#include "base/limits.h"

static const uint8_t magic[16] = "meshlog key 1\n";

enum protection { PROTECTION_NONE = 0, PROTECTION_PASSPHRASE = 1 };

/* Where the fields are. */
#define ROLE_AT 16u
#define PROTECTION_AT 17u
#define ZERO_AT 18u
#define PUBLIC_AT 20u
#define BODY_AT 52u

/* The body without a seal is the seed, with one it is: */
#define PASSES_AT 52u
#define KIB_AT 56u
#define SALT_AT 60u
#define NONCE_AT 76u
#define SEALED_AT 100u

#define SEED_LEN 32u
#define CHECK_LEN 16u
#define CODED_SEED_LEN (2u + SEED_LEN) /* With its multicodec prefix. */

_Static_assert(BODY_AT + SEED_LEN + CHECK_LEN == KEY_FILE_PLAIN, "the parts of a file");
_Static_assert(NONCE_AT - SALT_AT == crypto_pwhash_argon2id_SALTBYTES, "the salt's place");
_Static_assert(SEALED_AT - NONCE_AT == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
               "the nonce's place");
_Static_assert(SEALED_AT + SEED_LEN + crypto_aead_xchacha20poly1305_ietf_ABYTES + CHECK_LEN ==
                   KEY_FILE_SEALED,
               "the parts of a sealed file");
_Static_assert(LIMIT_PWHASH_KIB_MIN * 1024ul == crypto_pwhash_argon2id_MEMLIMIT_MIN,
               "the least memory");

/* The key of the seal, in guarded memory; NULL when there is not enough. */
static uint8_t *seal_key(struct bytes passphrase, const uint8_t *salt, uint32_t passes,
                         uint32_t kib)
{
    uint8_t *key = sodium_malloc(crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
    if (key != NULL &&
        crypto_pwhash_argon2id(key, crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
                               (const char *)passphrase.data, passphrase.len, salt, passes,
                               1024ul * kib, crypto_pwhash_argon2id_ALG_ARGON2ID13) != 0) {
        sodium_free(key);
        return NULL;
    }
    return key;
}

static int seal_seed(const struct key *key, const struct key_seal *seal, uint8_t *file)
{
    be_put(file + PASSES_AT, 4, seal->passes);
    be_put(file + KIB_AT, 4, seal->kib);
    randombytes_buf(file + SALT_AT, SEALED_AT - SALT_AT);
    uint8_t *with = seal_key(seal->passphrase, file + SALT_AT, seal->passes, seal->kib);
    if (with == NULL) {
        return ERR_NO_MEMORY;
    }
    /* The secret key begins with the seed. */
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(file + SEALED_AT, NULL, key->secret, SEED_LEN,
                                                     file, SEALED_AT, NULL, file + NONCE_AT, with);
    sodium_free(with);
    return 0;
}

int key_file_encode(enum key_role role, const struct key *key, const struct key_seal *seal,
                    uint8_t out[KEY_FILE_SEALED], size_t *len)
{
    int rv = 0;
    assert(role != KEY_ANY);
    *len = seal != NULL ? KEY_FILE_SEALED : KEY_FILE_PLAIN;
    memset(out, 0, *len);
    memcpy(out, magic, sizeof(magic));
    out[ROLE_AT] = (uint8_t)role;
    memcpy(out + PUBLIC_AT, key->public, sizeof(key->public));
    if (seal != NULL) {
        assert(seal->passphrase.len > 0);
        assert(seal->passphrase.len <= LIMIT_PASSPHRASE);
        out[PROTECTION_AT] = PROTECTION_PASSPHRASE;
        rv = seal_seed(key, seal, out);
    } else {
        crypto_sign_ed25519_sk_to_seed(out + BODY_AT, key->secret);
    }
    crypto_generichash(out + *len - CHECK_LEN, CHECK_LEN, out, *len - CHECK_LEN, NULL, 0);
    return rv;
}

bool key_file_is_sealed(struct bytes file)
{
    return file.len == KEY_FILE_SEALED;
}

static bool has_role(struct bytes file, enum key_role role)
{
    uint8_t found = file.data[ROLE_AT];
    return role == KEY_ANY ? found == KEY_ROOT || found == KEY_NODE : found == role;
}

static bool is_whole(struct bytes file, enum key_role role)
{
    uint8_t check[CHECK_LEN];
    bool sealed = key_file_is_sealed(file);
    if (!sealed && file.len != KEY_FILE_PLAIN) {
        return false;
    }
    size_t check_at = file.len - CHECK_LEN;
    crypto_generichash(check, sizeof(check), file.data, check_at, NULL, 0);
    return memcmp(file.data, magic, sizeof(magic)) == 0 && has_role(file, role) &&
           file.data[PROTECTION_AT] == (sealed ? PROTECTION_PASSPHRASE : PROTECTION_NONE) &&
           file.data[ZERO_AT] == 0 && file.data[ZERO_AT + 1] == 0 &&
           memcmp(file.data + check_at, check, sizeof(check)) == 0;
}

int key_file_public(struct bytes file, enum key_role role, uint8_t out[32])
{
    if (!is_whole(file, role)) {
        return ERR_KEY_MISSING;
    }
    memcpy(out, file.data + PUBLIC_AT, BODY_AT - PUBLIC_AT);
    return 0;
}

/* Open the seal into the place of a seed. */
static int open_seed(const uint8_t *file, struct bytes passphrase, uint8_t seed[SEED_LEN])
{
    uint64_t passes = be_get(file + PASSES_AT, 4);
    uint64_t kib = be_get(file + KIB_AT, 4);
    if (passes < 1 || passes > LIMIT_PWHASH_PASSES || kib < LIMIT_PWHASH_KIB_MIN ||
        kib > LIMIT_PWHASH_KIB) {
        return ERR_KEY_MISSING;
    }
    if (passphrase.len == 0 || passphrase.len > LIMIT_PASSPHRASE) {
        return ERR_WRONG_PASSPHRASE;
    }
    uint8_t *with = seal_key(passphrase, file + SALT_AT, (uint32_t)passes, (uint32_t)kib);
    if (with == NULL) {
        return ERR_NO_MEMORY;
    }
    int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(seed, NULL, NULL, file + SEALED_AT,
                                                            KEY_FILE_SEALED - CHECK_LEN - SEALED_AT,
                                                            file, SEALED_AT, file + NONCE_AT, with);
    sodium_free(with);
    return opened == 0 ? 0 : ERR_WRONG_PASSPHRASE;
}

/* A seed as text: in hex, or in base64 after the multicodec prefix of Ed25519 secret keys. White
 * space does not count. */
static bool read_seed(struct bytes file, uint8_t room[CODED_SEED_LEN], const uint8_t **seed)
{
    static const uint8_t prefix[] = {0x80, 0x26};
    static const char space[] = " \t\r\n";
    const char *text = (const char *)file.data;
    size_t len;
    *seed = room;
    if (sodium_hex2bin(room, CODED_SEED_LEN, text, file.len, space, &len, NULL) == 0 &&
        len == SEED_LEN) {
        return true;
    }
    *seed = room + sizeof(prefix);
    return sodium_base642bin(room, CODED_SEED_LEN, text, file.len, space, &len, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           len == CODED_SEED_LEN && memcmp(room, prefix, sizeof(prefix)) == 0;
}

static int decode_seed(struct bytes file, struct key *out)
{
    const uint8_t *seed;
    uint8_t *room = sodium_malloc(CODED_SEED_LEN);
    if (room == NULL) {
        return ERR_NO_MEMORY;
    }
    bool good = read_seed(file, room, &seed);
    if (good) {
        crypto_sign_seed_keypair(out->public, out->secret, seed);
    }
    sodium_free(room);
    return good ? 0 : ERR_KEY_MISSING;
}

int key_file_decode(struct bytes file, enum key_role role, struct bytes passphrase, struct key *out)
{
    if (!is_whole(file, role)) {
        return role == KEY_ANY ? decode_seed(file, out) : ERR_KEY_MISSING;
    }
    uint8_t *seed = sodium_malloc(SEED_LEN);
    if (seed == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv = 0;
    if (key_file_is_sealed(file)) {
        rv = open_seed(file.data, passphrase, seed);
    } else {
        memcpy(seed, file.data + BODY_AT, SEED_LEN);
    }
    if (rv == 0) {
        crypto_sign_seed_keypair(out->public, out->secret, seed);
        bool same = memcmp(out->public, file.data + PUBLIC_AT, sizeof(out->public)) == 0;
        rv = same ? 0 : ERR_KEY_MISSING;
    }
    sodium_free(seed);
    return rv;
}
