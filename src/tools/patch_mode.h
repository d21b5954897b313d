/* SPDX-License-Identifier: MIT */
/* What a moved file takes along. */
#pragma once

#include "tools/replace.h"

/* Gives the file that was just made, by a commit of `edit`, the permissions `mode`, without set-ID bits. */
void patch_take_mode(const struct edit *edit, uint32_t mode) NONNULL;
