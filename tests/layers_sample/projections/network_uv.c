#include <uv/version.h>
