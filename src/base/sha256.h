/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), for the digest that ties trust to one exact file (P2). */
#pragma once

#include "base/str.h"

enum { SHA256_HEX_BYTES = 65 }; /* 64 digits and a NUL */

void sha256_hex(struct str bytes, char out[SHA256_HEX_BYTES]) NONNULL;
