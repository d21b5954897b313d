/* SPDX-License-Identifier: MIT */
/* The parent's side of a command without a sandbox. See none.h. */
#include "backend/none/none.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/init/init.h"
#include "linux/init/sandbox.h"
#include "os/child.h"
#include "os/fd_pass.h"

static const char *why_not(enum guarantee g)
{
	(void)g;
	return "it is no sandbox";
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	(void)a;
	(void)in;
	buf_add_text(out, "run the command as it is, in a process group of its own\n");
	return buf_check(out, e);
}

static void run_monitor(void *arg, int host)
{
	struct none_job *job = arg;

	job->host = host;
	none_monitor(job);
}

static int send_go(const struct launch *in, const struct sandbox *s, struct err *e)
{
	const struct init_order go = { .kind = INIT_GO };
	struct init_message message;

	if (recv(s->channel, &message, sizeof(message), 0) != (ssize_t)sizeof(message))
		return FAIL_SYS(e, ECHILD, "the process that watches the command ended early");
	if (message.kind != INIT_READY)
		return FAIL_SYS(e, message.os_error, "can't make a process group for the command");
	if (in->terminal >= 0)
		os_set_foreground(in->terminal, s->pid);
	if (fd_pass_tell(s->channel, &go, sizeof(go), 0) != (ssize_t)sizeof(go))
		return FAIL_START(e, errno, "can't start the command");
	return 0;
}

static int start_monitor(const struct launch *in, struct none_job *job, struct sandbox *out,
			 struct err *e)
{
	struct sandbox s = SANDBOX_NONE;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the command");
	s.channel = ends[0];
	job->channel = ends[1];
	job->other_end = ends[0];
	/* The command inherits what the caller lets its children inherit. */
	s.pid = os_fork_helper(
		&(struct os_helper){ .run = run_monitor, .arg = job, .keeps_all = true }, &s.pidfd);
	if (s.pid < 0) {
		(void)FAIL_START(e, errno, "can't start a process");
		close(ends[1]);
		sandbox_done(&s);
		return err_result(e);
	}
	close(ends[1]);
	if (send_go(in, &s, e) < 0) {
		os_kill(s.pidfd, SIGKILL);
		os_reap(s.pidfd);
		if (in->terminal >= 0)
			os_set_foreground(in->terminal, getpgrp());
		sandbox_done(&s);
		return err_result(e);
	}
	*out = s;
	return 0;
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	struct none_job job = { .stdio = { in->stdio[0], in->stdio[1], in->stdio[2] },
				.limits = command_limits(&in->plan->policy->profile->limits, 0) };
	int status;

	if (command_copy_words(a, in, &job.words, e) < 0)
		return err_result(e);
	job.is_escalated = in->escalated_in != NULL;
	job.directory = in->escalated_in ? fcntl(*in->escalated_in, F_DUPFD_CLOEXEC, 3)
					 : open(in->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (job.directory < 0)
		return FAIL_SYS(e, errno, "can't enter the working directory");
	status = start_monitor(in, &job, out, e);
	close(job.directory);
	return status;
}

static guarantee_set gives(const struct plan *plan)
{
	(void)plan;
	return 0;
}

/* The same, where another sandbox is around this process: session/outer.c makes sure of it. */
const struct backend backend_outer = {
	.name = "outer", .gives = gives, .why_not = why_not, .describe = describe, .launch = launch
};

const struct backend backend_none = {
	.name = "none", .gives = gives, .why_not = why_not, .describe = describe, .launch = launch
};
