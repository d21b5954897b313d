/* SPDX-License-Identifier: MIT */
/* Reports progress of long work to a caller that waits for it and may cancel it. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct progress {
	/* Called before each directory is searched. ERR_CANCELLED stops the work. */
	int (*tell)(void *user, struct str directory, struct err *e);
	void *user;
};

/* `progress` may be NULL. */
static inline int progress_tell(const struct progress *progress, struct str directory,
				struct err *e)
{
	return progress ? progress->tell(progress->user, directory, e) : 0;
}
