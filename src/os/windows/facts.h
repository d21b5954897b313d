/* SPDX-License-Identifier: MIT */
/* What the other files of this directory ask about this process. */
#pragma once

#include <stdbool.h>

#include "base/path.h"
#include "base/str.h"

/* A path as it was written somewhere, made absolute: in Cordon's form, links not followed. False: errno. */
bool facts_full_path(struct str path, char out[PATH_MAX_BYTES]) MUST_CHECK;
