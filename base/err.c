#include "base/err.h"

#include <errno.h>

int err_from_errno(int code)
{
    switch (code) {
    case 0:
        return 0;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return ERR_DISK_FULL;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_READ_ONLY;
    case EEXIST:
    case ENOTEMPTY:
        return ERR_EXISTS;
    case ENOMEM:
        return ERR_NO_MEMORY;
    default:
        return ERR_IO;
    }
}

const char *err_code(int err)
{
    switch (err) {
    case ERR_OK:
        return "ok";
#define ERR_CODE(name, number, code, sentence)                                                     \
    case name:                                                                                     \
        return code;
        ERR_TABLE(ERR_CODE)
#undef ERR_CODE
    default:
        return "unknown";
    }
}

const char *err_sentence(int err)
{
    switch (err) {
    case ERR_OK:
        return "Everything went well.";
#define ERR_SENTENCE(name, number, code, sentence)                                                 \
    case name:                                                                                     \
        return sentence;
        ERR_TABLE(ERR_SENTENCE)
#undef ERR_SENTENCE
    default:
        return "Something went wrong that has no name.";
    }
}
