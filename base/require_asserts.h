/* require_asserts.h - Asserts stay on in every build.
 *
 * The build includes this file ahead of every source file. Asserts are part of
 * the program: a node that finds itself in an impossible state stops before it
 * signs or stores anything. */
#ifndef BASE_REQUIRE_ASSERTS_H
#define BASE_REQUIRE_ASSERTS_H

#ifdef NDEBUG
#error "meshlog needs its asserts: build without NDEBUG"
#endif

#endif
