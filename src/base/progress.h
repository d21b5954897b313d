/* SPDX-License-Identifier: MIT */
/* Of work that may take long, who waits for it may want to hear, and to end it. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct progress {
	/* Before each directory that is searched. ERR_CANCELLED: this is to end. */
	int (*tell)(void *user, struct str directory, struct err *e);
	void *user;
};

/* `progress` may be NULL: nobody waits. */
static inline int progress_tell(const struct progress *progress, struct str directory,
				struct err *e)
{
	return progress ? progress->tell(progress->user, directory, e) : 0;
}
