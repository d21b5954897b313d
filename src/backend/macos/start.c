/* SPDX-License-Identifier: MIT */
/* See macos.h: the monitor, and through it the command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/macos/macos.h"
#include "backend/seatbelt/seatbelt.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

int macos_check_tool(const char *path, const char *who, struct err *e)
{
	struct stat st;
	const char *why;

	if (lstat(path, &st) < 0)
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNAVAILABLE, "%s can't run: there is no %s", who,
				  path);
	why = seatbelt_find_fault(S_ISREG(st.st_mode), (uint64_t)st.st_uid, st.st_mode);
	return why ? FAIL_CAUSE(e, CAUSE_BACKEND_UNAVAILABLE, "%s can't run: %s %s", who, path, why)
		   : 0;
}

/* 0 or an errno. */
static int set_attributes(posix_spawnattr_t *a)
{
	/*
	 * SECURITY: CLOEXEC_DEFAULT: of what this process has open the command gets the streams alone.
	 * It waits until its group has the terminal and its end will be noticed.
	 */
	const short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
			    POSIX_SPAWN_CLOEXEC_DEFAULT | POSIX_SPAWN_START_SUSPENDED;
	sigset_t none, reset;
	int r;

	sigemptyset(&none);
	/* What else the caller ignores the command ignores too (nohup). */
	sigemptyset(&reset);
	sigaddset(&reset, SIGPIPE);
	sigaddset(&reset, SIGCHLD);
	r = posix_spawnattr_setflags(a, flags);
	if (r == 0)
		r = posix_spawnattr_setpgroup(a, 0);
	if (r == 0)
		r = posix_spawnattr_setsigmask(a, &none);
	return r ? r : posix_spawnattr_setsigdefault(a, &reset);
}

/* The streams may be each other's numbers: they are copied out of the way first. */
static int set_actions(posix_spawn_file_actions_t *actions, const int away[3],
		       const char *directory)
{
	int r = posix_spawn_file_actions_addchdir_np(actions, directory);

	for (int i = 0; i < 3 && r == 0; i++)
		r = posix_spawn_file_actions_adddup2(actions, away[i], i);
	return r;
}

static bool copy_away(const int stdio[3], int away[3])
{
	for (int i = 0; i < 3; i++) {
		away[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (away[i] < 0)
			return false;
	}
	return true;
}

static int await_ready(struct sandbox *s, struct err *e)
{
	struct monitor_message m = { .kind = 0 };

	if (!os_await_child(s->channel, s->monitor, -1) ||
	    fd_pass_hear(s->channel, &m, sizeof(m)) != (ssize_t)sizeof(m))
		return FAIL_SYS(e, ECHILD, "the process that watches the command ended early");
	if (m.kind == MESSAGE_READY)
		s->command = m.value;
	else
		s->failure = (struct command_failure){ .os_error = m.os_error, .index = m.index };
	return 0;
}

static void give_up(struct sandbox *s)
{
	os_end(s->monitor);
	(void)os_reap(s->monitor);
	fd_close(&s->monitor);
	fd_close(&s->channel);
}

static int start_monitor(struct monitor_job *job, const int away[3], struct sandbox *out,
			 struct err *e)
{
	int kept[] = { -1, away[0], away[1], away[2] };
	const struct os_helper helper = { .name = "cordon-monitor",
					  .run = monitor_run,
					  .arg = job,
					  .kept = kept,
					  .kept_count = COUNT_OF(kept) };
	struct sandbox s = SANDBOX_NONE;
	int ends[2];
	int r = fd_pass_open(ends, FD_PASS_NO_WAIT);

	if (r < 0)
		return FAIL_SYS(e, -r, "can't make a channel to the command");
	kept[0] = ends[1];
	s.channel = ends[0];
	job->channel = ends[1];
	if (os_fork_helper(&helper, &s.monitor) < 0) {
		int error = errno;

		fd_close(&ends[1]);
		fd_close(&s.channel);
		return FAIL_START(e, error, "can't start a process");
	}
	fd_close(&ends[1]);
	if (await_ready(&s, e) < 0) {
		give_up(&s);
		return err_result(e);
	}
	*out = s;
	return 0;
}

int macos_start(const struct start *in, struct sandbox *out, struct err *e)
{
	struct monitor_job job = { .is_sandboxed = in->is_sandboxed,
				   .programs = in->programs,
				   .os_error = in->os_error,
				   .tells_processes = in->launch->naming == NAMING_ALL,
				   .argv = in->argv,
				   .environment = in->launch->environment };
	int away[3] = { -1, -1, -1 };
	int r;

	if (in->launch->owns_terminal)
		return FAIL(e, ERR_POLICY,
			    "the answers can't be given at the terminal on macOS: Cordon has no "
			    "terminal of the command's own there");
	if (in->launch->escalated_in)
		return FAIL(e, ERR_POLICY, "nothing can be run outside of the sandbox on macOS");
	if (posix_spawnattr_init(&job.attributes) != 0)
		return FAIL(e, ERR_NOMEM, "there is no memory to start a command");
	if (posix_spawn_file_actions_init(&job.actions) != 0) {
		(void)posix_spawnattr_destroy(&job.attributes);
		return FAIL(e, ERR_NOMEM, "there is no memory to start a command");
	}
	r = copy_away(in->launch->stdio, away) ? set_attributes(&job.attributes) : errno;
	if (r == 0)
		r = set_actions(&job.actions, away, in->launch->directory);
	r = r ? FAIL_SYS(e, r, "can't prepare the command") : start_monitor(&job, away, out, e);
	for (int i = 0; i < 3; i++)
		fd_close(&away[i]);
	(void)posix_spawn_file_actions_destroy(&job.actions);
	(void)posix_spawnattr_destroy(&job.attributes);
	return r;
}
