/* SPDX-License-Identifier: MIT */
/* Between acl_files.c and acl_state.c, which together are acl_system_open() (acl_apply.h). */
#pragma once

#include "backend/windows/acl_apply.h"

/* Fills in what is about objects. */
void acl_files_open(struct acl_system *out) NONNULL;
