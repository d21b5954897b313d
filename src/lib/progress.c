/* SPDX-License-Identifier: MIT */
/* What takes long, told to the caller now and then. */
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/loop.h"

/* A key that is pressed is heard at once, and a tree of any size costs a few calls. */
enum { PERIOD_MS = 50 };

static int tell(void *user, struct str directory, struct err *e)
{
	struct teller *teller = user;
	char shown[512];
	uint64_t now;

	if (!teller->on_progress)
		return 0;
	now = loop_now();
	if (now - teller->told_ms < PERIOD_MS)
		return 0;
	teller->told_ms = now;
	if (teller->on_progress(teller->user, utf8_show(directory, shown, sizeof(shown))) == 0)
		return 0;
	return FAIL(e, ERR_CANCELLED, "cancelled while searching %s; nothing was run", shown);
}

void teller_init(struct teller *teller, cordon_progress_fn *on_progress, void *user)
{
	*teller = (struct teller){ .progress = { .tell = tell, .user = teller },
				   .on_progress = on_progress,
				   .user = user,
				   .told_ms = on_progress ? loop_now() : 0 };
}
