#include "node/qr.h"

#include <errno.h>
#include <qrencode.h>
#include <sodium.h>

#define QUIET 4 /* Modules around the code that stay light. */

static bool is_light(const QRcode *code, int x, int y)
{
    if (x < 0 || y < 0 || x >= code->width || y >= code->width) {
        return true;
    }
    return (code->data[y * code->width + x] & 1) == 0;
}

/* One character for two modules, one above the other. */
static const char *half_blocks(bool upper, bool lower)
{
    if (upper) {
        return lower ? "█" : "▀";
    }
    return lower ? "▄" : " ";
}

int qr_render(const char *text, struct buf *out)
{
    /* Not case-sensitive: capitals and digits alone make it smaller. */
    QRcode *code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 0);
    if (code == NULL) {
        return errno == ENOMEM ? ERR_NO_MEMORY : ERR_TOO_LARGE;
    }
    for (int y = -QUIET; y < code->width + QUIET; y += 2) {
        for (int x = -QUIET; x < code->width + QUIET; x++) {
            buf_put_text(out, half_blocks(is_light(code, x, y), is_light(code, x, y + 1)));
        }
        buf_put_text(out, "\n");
    }
    sodium_memzero(code->data, (size_t)code->width * (size_t)code->width);
    QRcode_free(code);
    return buf_error(out);
}
