/* SPDX-License-Identifier: MIT */
/* PID 1 of a native sandbox, from the clone to the command. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/native.h"

/* The umask is for what the command makes, and not for what is made for it. */
static void make_walls(struct native_job *job, struct init_order *go)
{
	mode_t mask = umask(0);

	native_open_sources(job);
	if (!init_wait(job->inner.channel, INIT_GO, go))
		_exit(1);
	native_mount_all(job);
	umask(mask);
	if (chdir(job->inner.directory) < 0)
		native_fail(job, INNER_DIRECTORY, 0);
	job->inner.root = open("/", O_PATH | O_CLOEXEC);
}

_Noreturn void native_child(struct native_job *job)
{
	struct inner_job *inner = &job->inner;
	struct init_order go;
	int listener;
	pid_t command;

	/* SECURITY: a group of its own: the command's kill(0) must not reach the caller's. */
	if (setpgid(0, 0) < 0)
		native_fail(job, INNER_GROUP, 0);
	inner_tidy_descriptors(inner);
	make_walls(job, &go);
	inner_hide_self(inner, &go);
	inner_drop_capabilities(inner);
	inner_build_wall(inner);
	inner_enter_wall(inner);
	listener = inner_lock_filter(inner);
	inner_tell_ready(inner, listener);
	command = inner_start_command(inner);
	inner_close_all_but(&inner->channel, 1);
	init_run(inner->channel, command);
}
