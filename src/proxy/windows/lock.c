/* SPDX-License-Identifier: MIT */
/*
 * The process gives up nothing here: nothing of Windows that would confine it could be read back where this was run.
 * proxy_spawn() therefore starts it only for who has said that it may be so (proxy_options.may_be_unconfined), and
 * says so itself. It was started with nothing but its channel, and an environment of one variable.
 */
#include "proxy/server.h"

int lock_begin(int *channel, const char **at)
{
	(void)channel;
	*at = "begin";
	return 0;
}

int lock_finish(const char **at)
{
	*at = "begin to serve";
	return 0;
}
