#include <msgpack/pack.h>
