#  include "uv.h"
