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

/* No signal is sent when it ends: the host's SIGCHLD and waitpid(-1) are not ours. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the kernel writes it. */
static pid_t start_monitor(const struct none_job *job, int *pidfd)
{
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)pidfd };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		none_monitor(job);
	return pid;
}

/* Where the terminal goes: SIGTTOU would stop this process if it is in the background. */
static void hand_over(int terminal, pid_t group)
{
	sigset_t ttou;
	sigset_t before;

	if (terminal < 0)
		return;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &ttou, &before);
	(void)tcsetpgrp(terminal, group);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int let_go(const struct launch *in, const struct sandbox *s, struct err *e)
{
	const struct init_order go = { .kind = INIT_GO };
	struct init_message message;

	if (recv(s->channel, &message, sizeof(message), 0) != (ssize_t)sizeof(message))
		return FAIL_SYS(e, ECHILD, "the process that watches the command ended early");
	if (message.kind != INIT_READY)
		return FAIL_SYS(e, message.os_error, "can't make a process group for the command");
	hand_over(in->terminal, s->pid);
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
	s.pid = start_monitor(job, &s.pidfd);
	error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (s.pid < 0) {
		sandbox_done(&s);
		return FAIL_SYS(e, error, "can't start a process");
	}
	if (let_go(in, &s, e) < 0) {
		(void)syscall(SYS_pidfd_send_signal, s.pidfd, SIGKILL, NULL, 0);
		(void)waitid((idtype_t)3 /* P_PIDFD */, (id_t)s.pidfd, &(siginfo_t){ 0 },
			     WEXITED | __WALL);
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
