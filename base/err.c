#include "base/err.h"

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
