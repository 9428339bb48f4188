/* All of this is allowed. */
#include <stdint.h>
#include <net/if.h>
#include <sodium.h>
#include <msgpack.h>
#include <jansson.h>
#include "base/err.h"
#include "err.h"
