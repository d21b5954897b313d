/* SPDX-License-Identifier: MIT */
/* Who still has files open for writing in a path that was closed. For people: it may be out of date. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/*
 * Adds the names of the processes in the mount namespace that have files at or below `path` open for
 * writing, or mapped: "vim (4711), make (4712)". "" if there is none, or none can be seen.
 */
void writers_find(int mount_ns, struct str path, struct buf *out) NONNULL;
