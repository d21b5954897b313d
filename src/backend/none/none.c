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

#include "os/child.h"
#include "supervise/init.h"

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

/* What a limit that is in place leaves; this can only lower it. */
static void add_limit(struct none_job *job, int resource, uint64_t value)
{
	struct rlimit now;

	if (value == 0 || syscall(SYS_prlimit64, 0, resource, NULL, &now) < 0)
		return;
	if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
		value = now.rlim_max;
	job->limits[job->limit_count].resource = resource;
	job->limits[job->limit_count].value =
		(struct rlimit){ .rlim_cur = value, .rlim_max = value };
	/* A moment between SIGXCPU and the kernel's SIGKILL, to end by itself. */
	if (resource == RLIMIT_CPU && value < UINT32_MAX &&
	    (now.rlim_max == RLIM_INFINITY || now.rlim_max > value))
		job->limits[job->limit_count].value.rlim_max = value + 1;
	job->limit_count++;
}

static void add_limits(struct none_job *job, const struct limits *limits)
{
	add_limit(job, RLIMIT_FSIZE, limits->value[LIMIT_FILE_SIZE]);
	add_limit(job, RLIMIT_NOFILE, limits->value[LIMIT_OPEN_FILES]);
	add_limit(job, RLIMIT_CPU, (limits->value[LIMIT_CPU_TIME] + 999) / 1000);
}

static int make_shell_argv(struct arena *a, const struct launch *in, struct none_job *job,
			   struct err *e)
{
	size_t count = 0;

	while (in->argv[count])
		count++;
	job->shell_argv = arena_array(a, count + 2, sizeof(*job->shell_argv), e);
	if (!job->shell_argv)
		return err_result(e);
	job->shell_argv[0] = "/bin/sh";
	for (size_t i = 1; i < count; i++)
		job->shell_argv[i + 1] = in->argv[i];
	return 0;
}

static void run_monitor(void *arg)
{
	none_monitor(arg);
}

static int let_go(const struct launch *in, const struct sandbox *s, struct err *e)
{
	const struct init_order go = { .kind = INIT_GO };
	struct init_message message;

	if (recv(s->channel, &message, sizeof(message), 0) != (ssize_t)sizeof(message))
		return FAIL_SYS(e, ECHILD, "the process that watches the command ended early");
	if (message.kind != INIT_READY)
		return FAIL_SYS(e, message.os_error, "can't make a process group for the command");
	if (in->terminal >= 0)
		os_set_foreground(in->terminal, s->pid);
	if (send(s->channel, &go, sizeof(go), MSG_NOSIGNAL) != (ssize_t)sizeof(go))
		return FAIL_SYS(e, errno, "can't start the command");
	return 0;
}

static int start(const struct launch *in, struct none_job *job, struct sandbox *out, struct err *e)
{
	struct sandbox s = SANDBOX_NONE;
	sigset_t all;
	sigset_t before;
	int ends[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the command");
	s.channel = ends[0];
	job->channel = ends[1];
	job->other_end = ends[0];
	/* The host's signal handlers must not run in what is about to be cloned. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s.pid = os_fork(0, run_monitor, job, &s.pidfd);
	error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (s.pid < 0) {
		sandbox_done(&s);
		return FAIL_SYS(e, error, "can't start a process");
	}
	if (let_go(in, &s, e) < 0) {
		os_kill(s.pidfd, SIGKILL);
		os_reap(s.pidfd);
		sandbox_done(&s);
		return err_result(e);
	}
	*out = s;
	return 0;
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	struct none_job job = { .stdio = { in->stdio[0], in->stdio[1], in->stdio[2] },
				.argv = in->argv,
				.programs = in->programs,
				.environment = in->environment };
	int status;

	add_limits(&job, &in->plan->policy->profile->limits);
	if (make_shell_argv(a, in, &job, e) < 0)
		return err_result(e);
	job.directory = open(in->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (job.directory < 0)
		return FAIL_SYS(e, errno, "can't enter the working directory");
	status = start(in, &job, out, e);
	close(job.directory);
	return status;
}

const struct backend backend_none = {
	.name = "none", .gives = 0, .why_not = why_not, .describe = describe, .launch = launch
};
