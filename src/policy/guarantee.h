/* SPDX-License-Identifier: MIT */
/* The guarantees of P16: what a plan needs and a backend gives. */
#pragma once

#include <stdint.h>

#include "base/macros.h"

/* One line each: enum name, name in text, what it means for a person. */
#define GUARANTEES(X)                                                                              \
	X(FS_WRITE, "fs_write", "nothing is written outside what the policy makes writable")       \
	X(FS_READ, "fs_read", "what the policy denies can't be read")                              \
	X(FS_CARVE, "fs_carve", "a narrower path inside a wider one holds")                        \
	X(FS_REOPEN, "fs_reopen", "a wider path inside a narrower one opens")                      \
	X(PROTECT_MISSING, "protect_missing", "a protected path that is missing can't be created") \
	X(DENY_FUTURE, "deny_future", "names that appear later are denied without any window")     \
	X(NET_OFF, "net_off", "no network")                                                        \
	X(NET_MANAGED, "net_managed", "every connection passes the proxy")                         \
	X(IPC, "ipc", "no host shared memory, keyrings or abstract sockets")                       \
	X(PROC, "proc", "host processes can be neither seen nor signalled")                        \
	X(KERNEL, "kernel", "dangerous system calls are refused")                                  \
	X(LIMITS, "limits", "memory and process limits hold")                                      \
	X(TREE_DEATH, "tree_death", "nothing outlives the run")

enum guarantee {
#define GUARANTEE_ENUM(name, text, meaning) G_##name,
	GUARANTEES(GUARANTEE_ENUM)
#undef GUARANTEE_ENUM
		GUARANTEE_COUNT,
};

typedef uint32_t guarantee_set;
#define GUARANTEE_BIT(g) ((guarantee_set)1 << (g))

extern const char *const guarantee_names[]; /* by number; NULL behind the last */
const char *guarantee_name(enum guarantee g) RETURNS_NONNULL;
const char *guarantee_meaning(enum guarantee g) RETURNS_NONNULL;
