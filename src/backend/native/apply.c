/* SPDX-License-Identifier: MIT */
/*
 * The parent's side of a native launch: prepares the job, clones PID 1 into its namespaces, writes
 * its id maps, hands over the terminal, and waits until PID 1 reports that it is ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/host.h"
#include "backend/mounts/mounts.h"
#include "backend/native/native.h"
#include "base/path.h"
#include "base/utf8.h"
#include "linux/placeholder/watch.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "plan/net.h"

/* ---- The job ------------------------------------------------------------------ */

static int prepare(struct arena *a, const struct launch *in, const kernel_mounts *kernel,
		   struct mounts *mounts, struct native_job *job, struct err *e)
{
	const struct profile *profile = in->plan->policy->profile;
	bool is_offline = net_mode(in->plan->net) != NET_FULL;
	struct inner_job *inner = &job->inner;

	*job = (struct native_job){ .mounts = mounts,
				    .has_own_ipc = profile->isolates_ipc,
				    .terminal_path = in->terminal_path,
				    .is_root = geteuid() == 0 };
	inner->has_own_network = is_offline;
	inner->landlock.scopes_only = profile->allows_userns;
	if (inner_check_landlock(in, inner, e) < 0 || lower_mounts(a, in, kernel, mounts, e) < 0 ||
	    lower_landlock(a, mounts, in->opens_paths, &inner->landlock, e) < 0)
		return err_result(e);
	inner->has_writable = lower_has_writable(mounts);
	if (inner_prepare(a, in, inner, e) < 0)
		return err_result(e);
	job->sources = arena_array(a, mounts->ops.count, sizeof(*job->sources), e);
	if (!job->sources)
		return err_result(e);
	for (size_t i = 0; i < mounts->ops.count; i++)
		job->sources[i] = -1;
	return 0;
}

/* ---- Failures ------------------------------------------------------------------- */

static const char *const stage_texts[] = {
#define NATIVE_STAGE_TEXT(name, text) [NATIVE_##name - INNER_STAGE_COUNT] = (text),
	NATIVE_STAGES(NATIVE_STAGE_TEXT)
#undef NATIVE_STAGE_TEXT
};

static bool is_about_a_path(uint32_t stage)
{
	return stage == NATIVE_SOURCE || stage == NATIVE_SOURCE_CHANGED ||
	       stage == NATIVE_SOURCE_ACCESS || stage == NATIVE_TARGET || stage == NATIVE_ATTACH;
}

/* Stages that need only a capability in the sandbox's own namespaces. */
static bool needs_rights(uint32_t stage)
{
	return stage == NATIVE_NETWORK || stage == NATIVE_DEVICES || stage == NATIVE_PRIVATE ||
	       stage == NATIVE_SOURCE || stage == NATIVE_SOURCE_ACCESS || stage == NATIVE_BOX ||
	       stage == NATIVE_CLOSE_TREE || stage == NATIVE_ATTACH || stage == NATIVE_ROOT;
}

static int word_failure(const struct native_job *job, const struct init_message *m, struct err *e)
{
	scoped_buf path = BUF_INIT((size_t)4 * PATH_MAX_BYTES);
	const char *doing;

	if (m->stage == INNER_NETWORK && m->os_error == EPERM)
		return host_fail_rights(backend_native.name, "set up its network", m->os_error, e);
	if (m->stage < INNER_STAGE_COUNT)
		return inner_word_failure(&job->inner, m, e);
	if (m->stage - INNER_STAGE_COUNT >= COUNT_OF(stage_texts))
		return FAIL(e, ERR_INTERNAL, "PID 1 reports an unknown stage");
	doing = stage_texts[m->stage - INNER_STAGE_COUNT];
	if (is_about_a_path(m->stage) && m->index < job->mounts->ops.count)
		utf8_add_shown(&path, str_of(job->mounts->ops.items[m->index].path));
	if (m->stage == NATIVE_SOURCE_CHANGED && path.len > 0)
		return inner_fail_changed(str_of(job->mounts->ops.items[m->index].path), e);
	if (m->os_error == ENOSYS)
		return FAIL_CAUSE(
			e, CAUSE_KERNEL_TOO_OLD,
			"the native backend can't %s: this kernel, or a container around this "
			"process, lacks a system call for it; Linux 5.13 or newer is needed",
			doing);
	if (m->stage == NATIVE_PROC && m->index == 0)
		return host_fail_proc(backend_native.name, m->os_error, e);
	if (m->stage == NATIVE_NETWORK && m->index == 0 && m->os_error != EPERM)
		return host_fail_namespaces(backend_native.name, m->os_error, e);
	/* AppArmor lets it make namespaces, but grants no capabilities in them, or no mounts. */
	if (needs_rights(m->stage) &&
	    (m->os_error == EPERM || (m->os_error == EACCES && !is_about_a_path(m->stage))))
		return host_fail_rights(backend_native.name, doing, m->os_error, e);
	if (path.len > 0)
		return FAIL_SYS(e, m->os_error, "can't %s '%s' in the sandbox", doing,
				buf_str(&path).p);
	return FAIL_SYS(e, m->os_error, "can't %s in the sandbox (step %u)", doing, m->index);
}

/* ---- PID 1 ---------------------------------------------------------------------- */

/* All but the network namespace, which PID 1 makes while the mounter makes the mounts. */
static unsigned long namespaces(const struct launch *in)
{
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS |
			      CLONE_NEWCGROUP;

	if (in->plan->policy->profile->isolates_ipc)
		flags |= CLONE_NEWIPC;
	return flags;
}

static void run_child(void *arg, int host)
{
	struct native_job *job = arg;

	job->inner.host = host;
	native_child(job);
}

static int start_pid_1(const struct launch *in, struct native_job *job, struct sandbox *out,
		       struct err *e)
{
	const int *stdio = job->inner.stdio;
	int pair[2];
	int os_error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the sandbox");
	job->inner.channel = pair[1];
	out->channel = pair[0];
	out->has_own_network = job->inner.has_own_network;
	out->pid = os_fork_helper(
		&(struct os_helper){ .run = run_child,
				     .arg = job,
				     .flags = namespaces(in),
				     .kept = (int[]){ stdio[0], stdio[1], stdio[2], pair[1] },
				     .kept_count = 4 },
		&out->pidfd);
	os_error = errno;
	close(pair[1]);
	if (out->pid >= 0)
		return 0;
	return host_fail_namespaces(backend_native.name, os_error, e);
}

/* Only needed to mask names that appear later (P6), and to open paths. */
static int open_namespaces(const struct launch *in, struct sandbox *s, struct err *e)
{
	if (!watch_is_needed(in->plan) && !in->opens_paths)
		return 0;
	return host_open_namespaces(s->pid, &s->user_ns, &s->mount_ns, e);
}

/* If PID 1 has already ended, inner_wait_ready() reports why. */
static void send_order(const struct sandbox *s, const struct init_order *order)
{
	(void)fd_pass_tell(s->channel, order, sizeof(*order), 0);
}

/* SECURITY: until PID 1 gets this order it starts no command, however much it has set up. */
static int go(const struct launch *in, struct native_job *job, struct sandbox *s, struct err *e)
{
	const struct init_order order = { .kind = INIT_GO };
	struct init_message first;

	if (open_namespaces(in, s, e) < 0)
		return err_result(e);
	inner_hand_over_terminal(in, s->pid);
	send_order(s, &order);
	if (inner_wait_ready(&job->inner, s, &first, e) < 0)
		return err_result(e);
	return first.kind == INIT_READY ? 0 : word_failure(job, &first, e);
}

static bool are_equal(const kernel_mounts *a, const kernel_mounts *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!str_eq(a->items[i], b->items[i]))
			return false;
	return true;
}

/*
 * Launches on the assumption that `*kernel` lists the kernel mounts in unusual places. Finding them
 * takes time, so this process looks while PID 1 makes its mounts. If the list was wrong,
 * `*is_right` is false, `*kernel` is the right one, and everything was undone.
 *
 * The id maps come first: PID 1 can't begin without them, and if the kernel placed it on this
 * process's CPU, there is little time before PID 1 runs.
 */
static int attempt_launch(struct arena *a, const struct launch *in, kernel_mounts *kernel,
			  bool *is_right, struct sandbox *out, struct err *e)
{
	const struct init_order mapped = { .kind = INIT_MAPPED };
	struct sandbox s = SANDBOX_NONE;
	struct mounts mounts;
	struct native_job job;
	kernel_mounts found;

	if (prepare(a, in, kernel, &mounts, &job, e) < 0 ||
	    lower_narrowed(a, &mounts, &s.narrowed, e) < 0)
		return err_result(e);
	if (start_pid_1(in, &job, &s, e) < 0 ||
	    host_map_identities(backend_native.name, s.pid, e) < 0)
		goto undo;
	send_order(&s, &mapped);
	if (kernel_mounts_find(a, &found, e) < 0)
		goto undo;
	*is_right = are_equal(kernel, &found);
	if (*is_right && go(in, &job, &s, e) < 0)
		goto undo;
	if (*is_right) {
		inner_say_lacks(in, &s);
		*out = s;
		return 0;
	}
	inner_undo(in, &s);
	*kernel = found;
	return 0;
undo:
	inner_undo(in, &s);
	return err_result(e);
}

enum { MAX_TRIES = 5 };

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	kernel_mounts kernel = { .items = NULL };
	bool is_right = false;

	for (int i = 0; i < MAX_TRIES && !is_right; i++)
		if (attempt_launch(a, in, &kernel, &is_right, out, e) < 0)
			return err_result(e);
	if (!is_right)
		return FAIL(e, ERR_SYS, "the mounts of this host keep changing; try again");
	return 0;
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	struct mounts mounts;
	kernel_mounts kernel;

	if (kernel_mounts_find(a, &kernel, e) < 0 || lower_mounts(a, in, &kernel, &mounts, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < mounts.ops.count; i++) {
		lower_describe(&mounts.ops.items[i], out);
		buf_add_char(out, '\n');
	}
	return buf_check(out, e);
}

const struct backend backend_native = {
	.name = "native",
	.gives = mounts_give,
	.why_not = mounts_why_not,
	.describe = describe,
	.launch = launch,
};
