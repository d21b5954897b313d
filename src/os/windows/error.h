/* SPDX-License-Identifier: MIT */
/*
 * Errors of Windows and of Winsock as the numbers of <errno.h>, which is what everything above os/ knows.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* The errno for an error of GetLastError(), WSAGetLastError() or a function that returns such a number; never 0. */
int error_number(uint32_t code) PURE;

/* The same for the last error of this thread. */
int error_last(void);

/* Sets errno to that; returns -1. */
int error_set(uint32_t code);

/*
 * As FAIL_SYS() for an error of Windows: a line below the headline keeps its number and what Windows says
 * about it, because several of them are one errno.
 */
#define FAIL_WINDOWS(e, code, ...)                                             \
	(err_fail_at((e), ERR_HERE, ERR_SYS, error_number(code), __VA_ARGS__), \
	 error_add((e), (code)), err_negative(ERR_SYS))
void error_add(struct err *e, uint32_t code) NONNULL;

/* The text that Windows has for it, in English where it has that, without a line end. Returns `out`. */
const char *error_text(uint32_t code, char *out, size_t size) NONNULL;
