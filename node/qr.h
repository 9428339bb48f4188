/* qr.h - A text as a QR code made of letters. */
#ifndef NODE_QR_H
#define NODE_QR_H

#include "base/bytes.h"

/* Lines of half blocks, with the quiet zone around them: light where there is a block, so that it
 * is right with light letters on a dark ground. ERR_NO_MEMORY; ERR_TOO_LARGE for a text that no
 * code holds. */
int qr_render(const char *text, struct buf *out) ERR_MUST_CHECK;

#endif
