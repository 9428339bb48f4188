/* keycode.h - The root's seed as a code for paper (spec/keys.md, "Codes").
 *
 * 14 groups of 5 letters. Each group has a check letter, so that a mistyped one can be named. */
#ifndef OPLOG_KEYCODE_H
#define OPLOG_KEYCODE_H

#include "base/bytes.h"

#define KEY_CODE_GROUPS 14u
#define KEY_CODE_LETTERS 70u
#define KEY_CODE_TEXT 84u /* With dashes and a final zero. */

/* Why a code was refused. */
enum key_code_fault {
    KEY_CODE_LENGTH,  /* letters tells how many there are. */
    KEY_CODE_GROUP,   /* group, from 1, is the first that is wrong. */
    KEY_CODE_WHOLE,   /* Every group fits, but not all together. */
    KEY_CODE_VERSION, /* A newer kind of code. */
};

struct key_code_why {
    enum key_code_fault fault;
    size_t letters;
    unsigned group;
};

/* Both outputs are secrets: guarded memory. */
void key_code_encode(const uint8_t seed[32], char out[KEY_CODE_TEXT]);

/* How many letters there are, good or bad, without what is passed over. */
size_t key_code_letters(struct bytes text);

/* Read what a person typed. ERR_BAD_CODE, with the reason; seed then holds no secret. */
int key_code_decode(struct bytes text, uint8_t seed[32], struct key_code_why *why) ERR_MUST_CHECK;

#endif
