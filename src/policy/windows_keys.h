/* SPDX-License-Identifier: MIT */
/*
 * The paths in a configuration of Windows, in Cordon's form (base/windows_path.h): "C:\x" becomes
 * "/C:/x", and in "~\x" and subpaths a '\' becomes a '/'. So a '\' escapes nothing there: a glob that
 * has to match a '[' is written "[[]". Internal to policy/.
 */
#pragma once

#include "base/toml.h"

/* All paths of a document, in place. ERR_POLICY with the place of a path that can't be told. */
int windows_keys(struct arena *a, struct toml *top, struct err *e) MUST_CHECK NONNULL;
