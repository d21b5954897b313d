/* SPDX-License-Identifier: MIT */
/*
 * The few macros that every file may use. Compiler differences end here: no
 * other file below src/ tests for a compiler or a platform.
 */
#pragma once

#include <stddef.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MIN_OF(a, b)	((a) < (b) ? (a) : (b))
#define MAX_OF(a, b)	((a) > (b) ? (a) : (b))

#define MUST_CHECK	 __attribute__((warn_unused_result))
#define NONNULL		 __attribute__((nonnull))
#define PURE		 __attribute__((pure))
#define SCOPED(function) __attribute__((cleanup(function)))
#define RETURNS_NONNULL	 __attribute__((returns_nonnull))

/*
 * For a large variable that is always written before it is read. The build clears all other
 * variables; clearing this one would take longer than its use.
 */
#if defined(__has_attribute) && __has_attribute(uninitialized)
#define UNINITIALIZED __attribute__((uninitialized))
#else
#define UNINITIALIZED
#endif

/* mingw has two printf dialects; this selects the one that has %zu. */
#ifdef __MINGW_PRINTF_FORMAT
#define PRINTF_LIKE(fmt, args) __attribute__((format(__MINGW_PRINTF_FORMAT, fmt, args)))
#else
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#endif

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)
