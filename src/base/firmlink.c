/* SPDX-License-Identifier: MIT */
/* See firmlink.h. The list is that of /usr/share/firmlinks on macOS 11 and later. */
#include "base/firmlink.h"

#include "base/macros.h"

#define VOLUME "/System/Volumes/Data"

static const char *const targets[] = {
	"/AppleInternal",
	"/Applications",
	"/Library",
	"/System/Library/Assets",
	"/System/Library/AssetsV2",
	"/System/Library/Caches",
	"/System/Library/CoreServices/CoreTypes.bundle/Contents/Library",
	"/System/Library/PreinstalledAssets",
	"/System/Library/PreinstalledAssetsV2",
	"/System/Library/Speech",
	"/Users",
	"/Volumes",
	"/cores",
	"/opt",
	"/pkg",
	"/private",
	"/usr/libexec/cups",
	"/usr/local",
	"/usr/share/snmp",
};

/* As far as both go. */
static bool is_like(struct str a, struct str b)
{
	size_t len = MIN_OF(a.len, b.len);

	for (size_t i = 0; i < len; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

/* Whether `path` is `whole`, or a directory above it. */
static bool is_on_the_way(struct str path, struct str whole)
{
	return path.len <= whole.len && is_like(path, whole) &&
	       (path.len == whole.len || whole.p[path.len] == '/');
}

struct str firmlink_target(struct str path)
{
	const size_t prefix = sizeof(VOLUME) - 1;

	for (size_t i = 0; i < COUNT_OF(targets) && path.len > prefix; i++) {
		struct str target = str_of(targets[i]);

		if (path.len == prefix + target.len && is_like(path, STR(VOLUME)) &&
		    is_like(str_from(path, prefix), target))
			return target;
	}
	return STR_EMPTY;
}

bool firmlink_is_above(struct str path)
{
	const size_t prefix = sizeof(VOLUME) - 1;

	if (path.len <= prefix)
		return path.len > 1 && is_on_the_way(path, STR(VOLUME));
	for (size_t i = 0; i < COUNT_OF(targets); i++) {
		struct str target = str_of(targets[i]), below = str_from(path, prefix);

		if (is_like(path, STR(VOLUME)) && below.len < target.len &&
		    is_on_the_way(below, target))
			return true;
	}
	return false;
}
