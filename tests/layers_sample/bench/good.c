/* All of this is allowed. */
#include <lmdb.h>
#include <uv.h>
#include "net/peer.h"
