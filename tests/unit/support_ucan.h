/* support_ucan.h - Make tokens and chains, good and bad, without ucan/token.c and value_cbor.c.
 *
 * They are built as spec/ucan.md says, byte by byte, from fixed seeds and nonces. */
#ifndef TESTS_SUPPORT_UCAN_H
#define TESTS_SUPPORT_UCAN_H

#include "tests/unit/support.h"
#include "ucan/chain.h"

enum token_sign {
    TOKEN_SIGNED,
    TOKEN_BENT,    /* One bit of the signature is wrong. */
    TOKEN_FOREIGN, /* Signed by somebody else. */
    TOKEN_SHORT,   /* The signature ends after three bytes. */
};

enum token_form {
    TOKEN_CANONICAL,
    TOKEN_SWAPPED,     /* The first two fields of the payload are in each other's place. */
    TOKEN_LONG_HEAD,   /* The payload's head takes a byte more than it must. */
    TOKEN_TRAILING,    /* A byte stands behind the token. */
    TOKEN_CUT,         /* Its last byte is missing. */
    TOKEN_WIDE_EXPIRY, /* exp is a float. */
    TOKEN_FURTHER,     /* There is a field that nobody knows. */
};

/* A token to be made. What is zero has its usual value. */
struct token_draft {
    bool invocation;
    uint32_t from;    /* Who issues it: a number of author_of, as the next two. */
    uint32_t to;      /* 0: no audience. */
    uint32_t about;   /* The subject. 0: null. */
    const char *cmd;  /* "/log" */
    const char *pol;  /* JSON: [] */
    const char *args; /* JSON, the keys of its maps in canonical order: {} */
    int64_t nbf;      /* 0: none. */
    int64_t exp;      /* 0: null. */
    const char *tag;  /* "ucan/dlg@1.0.0" or "ucan/inv@1.0.0" */
    enum token_sign sign;
    enum token_form form;
};

/* Drafts of proofs, root first, and of what they prove. */
struct chain_draft {
    struct token_draft proofs[LIMIT_CHAIN + 1];
    uint32_t count;
    struct token_draft invocation;
};

struct made_chain {
    struct bytes proofs[LIMIT_CHAIN + 1];
    struct cid cids[LIMIT_CHAIN + 1];
    uint32_t count;
    struct bytes invocation;
};

/* 1 delegates /log of its own to 2, 2 to 3, …, and the last one invokes /log/append. */
struct chain_draft chain_of(uint32_t proofs);

/* The token with these links as its proofs. */
struct bytes token_make(const struct token_draft *draft, const struct cid *proofs, uint32_t count);

struct cid token_cid(struct bytes token);

struct made_chain chain_make(const struct chain_draft *draft);

#endif
