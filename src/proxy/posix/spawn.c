/* SPDX-License-Identifier: MIT */
/* See spawn.h. */
#include "proxy/spawn.h"

#include <errno.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "proxy/server.h"

struct start {
	const struct proxy_options *options;
	const struct rule_place *place;
	int channel;
	pid_t parent;
};

static void run(void *arg)
{
	const struct start *start = arg;

	server_run(start->options, start->place, start->channel, start->parent);
}

int proxy_spawn(struct proxy *p, const struct proxy_options *options,
		const struct rule_place *place, struct err *e)
{
	struct start start = { .options = options, .place = place, .parent = os_own_pid() };
	struct proxy made = PROXY_NONE;
	int ends[2], saved;

	/* The process allocates nothing where that suffices, but confining itself may. */
	if (!os_may_fork()) {
		(void)FAIL_CAUSE(e, CAUSE_HOST_THREADS,
				 "can't start the proxy: this program has threads, and on this "
				 "system a part of it can't go on without them");
		err_add_line(e, "start it before the first thread, or run the command cordon");
		return err_result(e);
	}
	saved = fd_pass_open(ends, FD_PASS_NO_WAIT);
	if (saved < 0)
		return FAIL_SYS(e, -saved, "can't make the channel of the proxy");
	start.channel = ends[1];
	made.channel = ends[0];
	made.pid = os_fork(0, run, &start, &made.pidfd);
	saved = errno;
	fd_done(&ends[1]);
	if (made.pid < 0) {
		fd_done(&made.channel);
		return FAIL_START(e, saved, "can't start the proxy");
	}
	*p = made;
	return 0;
}
