/* glob.h - The patterns of `like`. */
#ifndef UCAN_GLOB_H
#define UCAN_GLOB_H

#include "base/bytes.h"
#include "ucan/work.h"

/* Does all of the text fit the pattern? "*" is any run of bytes, also none; "\*" is a star and "\\"
 * a backslash; any other byte, a backslash before something else too, is itself. Takes at most
 * pattern.len * text.len comparisons, WORK_BYTES of them in a step. */
enum answer glob_match(struct bytes pattern, struct bytes text, struct work *work);

#endif
