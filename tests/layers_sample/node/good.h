/* All of this is allowed. */
#include <uv.h>
#include <microhttpd.h>
#include <nats/nats.h>
#include "base/err.h"
#include "bench/bench.h"
