/* SPDX-License-Identifier: MIT */
/*
 * What a bwrap can do, by what its --help says. Asked once: the answer is kept in
 * the user's cache directory for the file that gave it, known by path, inode, time
 * and size.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "base/str.h"

/* name, option; those up to MQUEUE are needed. */
#define BWRAP_FEATURES(X)                     \
	X(ARGS, "--args")                     \
	X(UNSHARE_USER, "--unshare-user")     \
	X(UNSHARE_CGROUP, "--unshare-cgroup") \
	X(AS_PID_1, "--as-pid-1")             \
	X(INFO_FD, "--info-fd")               \
	X(BLOCK_FD, "--userns-block-fd")      \
	X(CAP_ADD, "--cap-add")               \
	X(PERMS, "--perms")                   \
	X(RO_BIND_DATA, "--ro-bind-data")     \
	X(REMOUNT_RO, "--remount-ro")         \
	X(MQUEUE, "--mqueue")                 \
	X(ARGV0, "--argv0")                   \
	X(BIND_FD, "--bind-fd")

enum bwrap_feature {
#define BWRAP_FEATURE_ENUM(name, option) BWRAP_HAS_##name,
	BWRAP_FEATURES(BWRAP_FEATURE_ENUM)
#undef BWRAP_FEATURE_ENUM
		BWRAP_FEATURE_COUNT,
	BWRAP_NEEDED_COUNT = BWRAP_HAS_ARGV0,
};

#define BWRAP_FEATURE_BIT(f) (1U << (f))

struct bwrap_identity {
	uint64_t device, inode, mtime_ns, bytes;
};

struct bwrap_identity bwrap_identity(const struct stat *st) NONNULL;

/* Pure: the options that the text of --help lists. */
uint32_t bwrap_features_parse(struct str help);

/* ERR_WEAKER names the first option that is needed and missing. */
int bwrap_features_check(uint32_t features, struct str path, struct err *e) MUST_CHECK;

/* Runs `program` (O_PATH) --help. ERR_WEAKER: it does not answer as bwrap would, or not in time. */
int bwrap_ask(int program, struct str path, uint32_t *features, struct err *e) MUST_CHECK;

/* The same by way of the cache. */
int bwrap_probe(struct arena *a, const struct launch *in, int program, struct str path,
		const struct bwrap_identity *identity, uint32_t *features, struct err *e)
	MUST_CHECK NONNULL;

/* Pure: the text of the cache file, and back (false: it is of something else, or no such text). */
void bwrap_cache_print(struct str path, const struct bwrap_identity *identity, uint32_t features,
		       struct buf *out);
bool bwrap_cache_parse(struct str text, struct str path, const struct bwrap_identity *identity,
		       uint32_t *features);

/*
 * The directory of the cache, for who looks after it: -1 when there is none, or none that
 * only this user could have written to and that no link leads to. `file`, for people, is
 * the cache file in it, which may be missing.
 */
int bwrap_cache_open(struct arena *a, struct str *file, int *directory, struct err *e)
	MUST_CHECK NONNULL;
bool bwrap_cache_read(int directory, char *text, size_t room, struct str *out) MUST_CHECK NONNULL;
bool bwrap_cache_remove(int directory) MUST_CHECK;
