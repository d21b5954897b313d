/* SPDX-License-Identifier: MIT */
/*
 * The parent's side of a native launch: prepares the job, clones PID 1 into its
 * namespaces, maps identities, hands over the terminal, and waits until PID 1
 * says that all is in place.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/host.h"
#include "backend/native/native.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/child.h"
#include "plan/net.h"

/* ---- The job ------------------------------------------------------------------ */

static int prepare_words(struct arena *a, const struct launch *in, struct native_job *job,
			 struct err *e)
{
	struct str directory;

	if (command_copy_words(a, in, &job->words, e) < 0 ||
	    arena_copy(a, str_of(in->directory), &directory, e) < 0)
		return err_result(e);
	job->directory = directory.p;
	job->terminal_path = in->terminal_path;
	memcpy(job->stdio, in->stdio, sizeof(job->stdio));
	return 0;
}

/*
 * Before anything runs: what only Landlock can do. Read-only mounts do not keep anyone
 * from writing to a fifo, and with the host's network abstract sockets are in reach.
 */
static int check_walls(const struct launch *in, const struct native_job *job, struct err *e)
{
	if (job->landlock_abi == 0)
		return FAIL(
			e, ERR_WEAKER,
			"the guarantee fs_write can't be held: this kernel has no Landlock, "
			"without which named pipes and devices of the host could be written to; "
			"it needs Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and \"landlock\" in "
			"the lsm= list of the kernel's command line when there is one");
	if (!job->has_own_network && in->plan->policy->profile->isolates_ipc &&
	    job->landlock_abi < 6)
		return FAIL(
			e, ERR_WEAKER,
			"the guarantee ipc can't be held with the whole network: this kernel's "
			"Landlock (ABI %u, 6 is needed) can't keep abstract sockets of the host "
			"away; use --network off, a newer kernel, or isolation.ipc = false",
			job->landlock_abi);
	return 0;
}

static int prepare(struct arena *a, const struct launch *in, struct mounts *mounts,
		   struct native_job *job, struct err *e)
{
	const struct profile *profile = in->plan->policy->profile;
	struct filter_options filter = { .arch = filter_this_arch,
					 .allows_userns = profile->allows_userns,
					 .is_root = geteuid() == 0 };
	kernel_mounts windows;

	*job = (struct native_job){ .mounts = mounts,
				    .channel = -1,
				    .unix_diag = -1,
				    .has_own_network = net_mode(in->plan->net) != NET_FULL,
				    .has_own_ipc = profile->isolates_ipc,
				    .is_root = filter.is_root,
				    .allows_mounts = profile->allows_userns,
				    .landlock_abi = host_landlock_abi() };
	job->asks_connect = job->has_own_network;
	filter.reaches_host = !job->has_own_network;
	filter.asks_connect = job->asks_connect;
	if (check_walls(in, job, e) < 0 || kernel_mounts_find(a, &windows, e) < 0 ||
	    lower_mounts(a, in, &windows, mounts, e) < 0 || native_judge_stdio(a, in, job, e) < 0 ||
	    prepare_words(a, in, job, e) < 0 || filter_build(a, &filter, &job->filter, e) < 0)
		return err_result(e);
	job->sources = arena_array(a, mounts->ops.count, sizeof(*job->sources), e);
	job->stack = arena_alloc(a, NATIVE_STACK_BYTES, e);
	if (!job->sources || !job->stack)
		return err_result(e);
	for (size_t i = 0; i < mounts->ops.count; i++)
		job->sources[i] = -1;
	job->limits = command_limits(&profile->limits);
	return 0;
}

/* ---- Failures, in words --------------------------------------------------------- */

static const char *const stage_texts[] = {
#define NATIVE_STAGE_TEXT(name, text) [NATIVE_##name] = text,
	NATIVE_STAGES(NATIVE_STAGE_TEXT)
#undef NATIVE_STAGE_TEXT
};

static bool is_about_a_path(uint32_t stage)
{
	return stage == NATIVE_SOURCE || stage == NATIVE_SOURCE_CHANGED ||
	       stage == NATIVE_SOURCE_ACCESS || stage == NATIVE_TARGET || stage == NATIVE_ATTACH;
}

static int word_failure(const struct native_job *job, const struct init_message *m, struct err *e)
{
	scoped_buf path = BUF_INIT(4 * PATH_MAX_BYTES);

	if (m->stage >= COUNT_OF(stage_texts))
		return FAIL(e, ERR_INTERNAL, "PID 1 reports a stage that there is not");
	if (is_about_a_path(m->stage) && m->index < job->mounts->ops.count)
		utf8_add_shown(&path, str_of(job->mounts->ops.items[m->index].path));
	else if (m->stage == NATIVE_DIRECTORY)
		utf8_add_shown(&path, str_of(job->directory));
	if (m->stage == NATIVE_SOURCE_CHANGED)
		return FAIL(
			e, ERR_POLICY,
			"'%s' is no longer what it was when the policy was compiled; nothing was "
			"run, try again",
			buf_str(&path).p);
	if (m->os_error == ENOSYS)
		return FAIL(e, ERR_WEAKER,
			    "the native backend can't %s: this kernel, or a container around this "
			    "process, lacks a system call for it; Linux 5.13 or newer is needed",
			    stage_texts[m->stage]);
	if (m->stage == NATIVE_PROC && m->index == 0)
		return host_fail_proc(m->os_error, e);
	if (m->stage == NATIVE_DIRECTORY)
		return FAIL_SYS(e, m->os_error,
				"the command may not enter its working directory '%s'",
				buf_str(&path).p);
	if (path.len > 0)
		return FAIL_SYS(e, m->os_error, "can't %s '%s' in the sandbox",
				stage_texts[m->stage], buf_str(&path).p);
	return FAIL_SYS(e, m->os_error, "can't %s in the sandbox (step %u)", stage_texts[m->stage],
			m->index);
}

/* ---- PID 1 ---------------------------------------------------------------------- */

/* All but the network, which PID 1 makes itself while the mounts are being made. */
static unsigned long namespaces(const struct launch *in)
{
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS |
			      CLONE_NEWCGROUP;

	if (in->plan->policy->profile->isolates_ipc)
		flags |= CLONE_NEWIPC;
	return flags;
}

static void run_child(void *arg)
{
	native_child(arg);
}

static int start(const struct launch *in, struct native_job *job, struct sandbox *out,
		 struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the sandbox");
	job->channel = pair[1];
	out->pid = os_fork(namespaces(in), run_child, job, &out->pidfd);
	if (out->pid < 0) {
		int os_error = errno;

		close(pair[0]);
		close(pair[1]);
		out->pidfd = -1;
		return host_fail_namespaces(os_error, e);
	}
	close(pair[1]);
	out->channel = pair[0];
	out->has_own_network = job->has_own_network;
	return 0;
}

/* The command's group gets the terminal before the command can touch it. */
static void hand_over_terminal(const struct launch *in, pid_t group)
{
	if (in->terminal < 0)
		return;
	setpgid(group, group);
	os_set_foreground(in->terminal, group);
}

/* For the masks of names that appear later (P6). */
static int open_namespaces(const struct launch *in, struct sandbox *s, struct err *e)
{
	bool has_globs = false;

	for (size_t i = 0; i < in->plan->rules.count; i++)
		has_globs |= in->plan->rules.items[i].kind == RULE_GLOB;
	if (!has_globs)
		return 0;
	return host_open_namespaces(s->pid, &s->user_ns, &s->mount_ns, e);
}

/* That PID 1 is gone already shows when it is listened to; then there is more to say. */
static void give_order(const struct sandbox *s, const struct init_order *order)
{
	(void)send(s->channel, order, sizeof(*order), MSG_NOSIGNAL);
}

static int send_orders(const struct sandbox *s, struct err *e)
{
	struct init_order go = { .kind = INIT_GO };
	struct init_order words = { .kind = INIT_WORDS };

	give_order(s, &go);
	if (host_find_words(&words.from, &words.bytes, e) < 0)
		return err_result(e);
	give_order(s, &words);
	return 0;
}

/* The descriptors come in the order of tell_ready(). */
static void take_descriptors(struct msghdr *envelope, const struct native_job *job,
			     struct sandbox *s)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(envelope);
	int fds[3] = { -1, -1, -1 };
	size_t bytes;

	if (!header || header->cmsg_type != SCM_RIGHTS)
		return;
	bytes = MIN_OF(header->cmsg_len - CMSG_LEN(0), sizeof(fds));
	memcpy(fds, CMSG_DATA(header), bytes);
	s->root = fds[0];
	if (job->asks_connect) {
		s->unix_diag = fds[1];
		s->listener = fds[2];
	}
}

static int wait_ready(const struct native_job *job, struct sandbox *s, struct err *e)
{
	struct init_message message;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(3 * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = &message, .iov_len = sizeof(message) };
	struct msghdr envelope = { .msg_iov = &part,
				   .msg_iovlen = 1,
				   .msg_control = control.room,
				   .msg_controllen = sizeof(control.room) };
	int was_reset = 0;
	ssize_t n;

	/* ECONNRESET, once: it ended with orders unread, and its last words are still there. */
	do
		n = recvmsg(s->channel, &envelope, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !was_reset++)));
	if (n < 0)
		return FAIL_SYS(e, errno, "can't hear from the sandbox");
	if (n != (ssize_t)sizeof(message))
		return FAIL(e, ERR_SYS, "the sandbox was killed while it was set up");
	take_descriptors(&envelope, job, s);
	if (message.kind != INIT_READY)
		return word_failure(job, &message, e);
	if (s->root < 0 || (job->asks_connect && s->listener < 0))
		return FAIL(e, ERR_INTERNAL, "the sandbox handed over too few descriptors");
	/* Scopes alone are no wall for files. */
	s->landlock_abi = job->allows_mounts ? 0 : job->landlock_abi;
	return 0;
}

static int bring_up(const struct launch *in, struct native_job *job, struct sandbox *s,
		    struct err *e)
{
	if (start(in, job, s, e) < 0)
		return err_result(e);
	if (host_map_identities(s->pid, e) < 0 || open_namespaces(in, s, e) < 0)
		return err_result(e);
	hand_over_terminal(in, s->pid);
	if (send_orders(s, e) < 0)
		return err_result(e);
	return wait_ready(job, s, e);
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	struct sandbox s = SANDBOX_NONE;
	struct mounts mounts;
	struct native_job job;

	if (prepare(a, in, &mounts, &job, e) < 0)
		return err_result(e);
	if (bring_up(in, &job, &s, e) < 0) {
		if (s.pidfd >= 0) {
			os_kill(s.pidfd, SIGKILL);
			os_reap(s.pidfd);
			if (in->terminal >= 0)
				os_set_foreground(in->terminal, getpgrp());
		}
		sandbox_done(&s);
		return err_result(e);
	}
	*out = s;
	return 0;
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	struct mounts mounts;
	kernel_mounts windows;

	if (kernel_mounts_find(a, &windows, e) < 0 || lower_mounts(a, in, &windows, &mounts, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < mounts.ops.count; i++) {
		lower_describe(&mounts.ops.items[i], out);
		buf_add_char(out, '\n');
	}
	return buf_check(out, e);
}

static const char *why_not(enum guarantee g)
{
	switch (g) {
	case G_DENY_FUTURE:
		return "names that appear later are masked when they are seen, with a window";
	case G_NET_MANAGED:
		return "the proxy is not in this version";
	case G_LIMITS:
		return "control groups are not used in this version";
	case G_FS_WRITE:
	case G_FS_READ:
	case G_FS_CARVE:
	case G_FS_REOPEN:
	case G_PROTECT_MISSING:
	case G_NET_OFF:
	case G_IPC:
	case G_PROC:
	case G_KERNEL:
	case G_TREE_DEATH:
	case GUARANTEE_COUNT:
		break;
	}
	return "";
}

const struct backend backend_native = {
	.name = "native",
	.gives = GUARANTEE_BIT(G_FS_WRITE) | GUARANTEE_BIT(G_FS_READ) | GUARANTEE_BIT(G_FS_CARVE) |
		 GUARANTEE_BIT(G_FS_REOPEN) | GUARANTEE_BIT(G_PROTECT_MISSING) |
		 GUARANTEE_BIT(G_NET_OFF) | GUARANTEE_BIT(G_IPC) | GUARANTEE_BIT(G_PROC) |
		 GUARANTEE_BIT(G_KERNEL) | GUARANTEE_BIT(G_TREE_DEATH),
	.why_not = why_not,
	.describe = describe,
	.launch = launch,
};
