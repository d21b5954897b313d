/* SPDX-License-Identifier: MIT */
/* What parser and matcher share: lines without the white space around them. */
#pragma once

#include "base/str.h"

/* White space is what Unicode calls so. A byte that is not UTF-8 is none. */
struct str patch_trim_start(struct str s);
struct str patch_trim_end(struct str s);
struct str patch_trim(struct str s);
