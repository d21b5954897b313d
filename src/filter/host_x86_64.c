/* SPDX-License-Identifier: MIT */
/* The architecture of this build, see filter.h. */
#include "filter/filter.h"

const enum filter_arch filter_this_arch = FILTER_X86_64;
