/* SPDX-License-Identifier: MIT */
/* What is mounted where, and the job of the inner stage; see attempt.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/bwrap/attempt.h"
#include "backend/mounts/kernel_mounts.h"
#include "base/path.h"
#include "base/utf8.h"
#include "linux/placeholder/masker.h"
#include "plan/net.h"

/* Notes the host's namespaces, which the sandbox must not be in. */
static int note_namespaces(struct attempt *t, struct err *e)
{
	for (size_t i = 0; i < BWRAP_NAMESPACE_COUNT; i++) {
		const char *name = bwrap_namespaces[i];
		char path[64];
		struct stat st;

		if ((strcmp(name, "net") == 0 && !t->facts.has_own_network) ||
		    (strcmp(name, "ipc") == 0 && !t->facts.has_own_ipc))
			continue;
		snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
		if (stat(path, &st) < 0)
			return FAIL_CAUSE(
				e, CAUSE_NAMESPACES_UNSUPPORTED,
				"the bwrap backend can't tell the namespaces of this process: "
				"this kernel has no %s namespaces, or /proc is not mounted",
				name);
		t->job.namespaces[i] = st.st_ino;
	}
	return 0;
}

static int add_place(struct attempt *t, struct bwrap_place place, struct err *e)
{
	struct bwrap_place *added = VEC_PUSH(t->a, &t->job.places, e);

	if (!added)
		return err_result(e);
	*added = place;
	return 0;
}

static enum bwrap_place_kind kind_of(const struct mount_op *op)
{
	if (op->kind == MOUNT_SELF)
		return op->type == HOST_LINK ? PLACE_LINK : PLACE_SELF;
	return op->kind == MOUNT_MASK ? PLACE_MASK : PLACE_MADE;
}

/* One place for each operation, in the same order: a failure names it by its index. */
static int note_places(struct attempt *t, struct err *e)
{
	for (size_t i = 0; i < t->mounts.ops.count; i++) {
		const struct mount_op *op = &t->mounts.ops.items[i];
		bool is_self = op->kind == MOUNT_SELF;
		struct bwrap_place place = { .path = op->path,
					     .kind = kind_of(op),
					     .is_checked = op->is_checked,
					     .is_read_only = is_self ? op->access != ACCESS_WRITE
								     : op->kind != MOUNT_FRESH,
					     .may_be_missing = !op->is_checked,
					     .device = op->device,
					     .inode = op->inode };

		if (add_place(t, place, e) < 0)
			return err_result(e);
	}
	return add_place(
		t, (struct bwrap_place){ .path = "/dev", .kind = PLACE_MADE, .is_read_only = true },
		e);
}

/* Whether the kernel has message queues, and so the call that opens one. */
static bool has_queues(void)
{
	return syscall(SYS_mq_open, "", 0, 0, NULL) >= 0 || errno != ENOSYS;
}

static bool is_mount(const char *path)
{
	return masker_is_covered(AT_FDCWD, path);
}

static int note_limits(struct attempt *t, struct err *e)
{
	struct rlimit *limit = &t->job.inner.open_files;
	struct sigaction children;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, limit) < 0)
		return FAIL_SYS(e, errno, "can't tell the limits of this process");
	t->job.ignores_children = sigaction(SIGCHLD, NULL, &children) == 0 &&
				  children.sa_handler == SIG_IGN;
	return 0;
}

/* ---- Placeholders ------------------------------------------------------------------ */

/* Assumes that every placeholder of the plan was made. */
static int expect_places(struct attempt *t, struct placeholders *out, struct err *e)
{
	const struct plan *plan = t->in->plan;

	out->count = plan->placeholders.count;
	out->items = arena_array(t->a, out->count, sizeof(*out->items), e);
	if (!out->items)
		return err_result(e);
	for (size_t i = 0; i < out->count; i++)
		out->items[i] = (struct held){ .wanted = &plan->placeholders.items[i],
					       .is_there = true,
					       .kind = plan->placeholders.items[i].kind };
	return 0;
}

static struct mount_op *find_op(const struct attempt *t, const char *path)
{
	for (size_t i = 0; i < t->mounts.ops.count; i++)
		if (strcmp(t->mounts.ops.items[i].path, path) == 0)
			return &t->mounts.ops.items[i];
	return NULL;
}

/*
 * SECURITY: bwrap already has descriptors of the directories. If one was replaced since, bwrap would
 * create the missing file in the wrong directory, where nobody removes it (P8, P11).
 */
static int check_above(const struct attempt *t, const struct held *held, struct err *e)
{
	const struct host *host = t->in->host;
	struct str above = path_parent(str_of(held->path));
	struct host_file file;

	if (host->look(host->user, above, &file, e) < 0)
		return err_result(e);
	if (!held->is_there ||
	    (held->above_device == file.device && held->above_inode == file.inode))
		return 0;
	return inner_fail_changed(above, e);
}

int bwrap_hold_places(struct attempt *t, struct err *e)
{
	const struct placeholders *held = t->in->held;

	if (t->in->hold && t->in->hold(t->in->holder, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < held->count; i++)
		if (check_above(t, &held->items[i], e) < 0)
			return err_result(e);
	if (!t->expects)
		return 0;
	t->expects = false;
	t->was_misled = held->count != t->in->plan->placeholders.count;
	for (size_t i = 0; i < held->count && !t->was_misled; i++) {
		struct mount_op *op = find_op(t, held->items[i].path);

		t->was_misled = !held->items[i].is_there ||
				held->items[i].kind != held->items[i].wanted->kind;
		/* Below an empty mount there is no operation for it. */
		if (!op || !op->is_checked || op->inode)
			continue;
		op->device = held->items[i].device;
		op->inode = held->items[i].inode;
	}
	return t->was_misled ? FAIL(e, ERR_POLICY, "a placeholder could not be made") : 0;
}

/* ---- The attempt ------------------------------------------------------------------- */

int bwrap_lower(struct attempt *t, struct err *e)
{
	struct landlock_rules *landlock = &t->job.inner.landlock;
	struct launch in = *t->in;
	struct placeholders expected;

	t->expects = in.hold && in.held->count < in.plan->placeholders.count;
	if (t->expects && expect_places(t, &expected, e) < 0)
		return err_result(e);
	if (t->expects)
		in.held = &expected;
	landlock->rules.count = 0;
	if (lower_mounts(t->a, &in, &t->kernel, &t->mounts, e) < 0 ||
	    lower_landlock(t->a, &t->mounts, t->in->opens_paths, landlock, e) < 0)
		return err_result(e);
	return lower_narrowed(t->a, &t->mounts, &t->narrowed, e);
}

static bool are_same_data(const struct bwrap_words *a, const struct bwrap_words *b)
{
	if (a->data.count != b->data.count)
		return false;
	for (size_t i = 0; i < a->data.count; i++) {
		const struct bwrap_data *one = &a->data.items[i], *other = &b->data.items[i];

		if (one->kind != other->kind ||
		    (one->op && strcmp(one->op->path, other->op->path) != 0))
			return false;
	}
	return true;
}

int bwrap_find_kernel_mounts(struct attempt *t, struct err *e)
{
	const struct bwrap_words before = t->words;

	if (t->knows_kernel_mounts)
		return 0;
	if (kernel_mounts_find(t->a, &t->kernel, e) < 0)
		return err_result(e);
	t->knows_kernel_mounts = true;
	if (t->kernel.count == 0)
		return 0;
	if (bwrap_lower(t, e) < 0 ||
	    lower_bwrap(t->a, t->in, &t->mounts, &t->facts, &t->words, e) < 0)
		return err_result(e);
	t->was_misled = !are_same_data(&before, &t->words);
	return t->was_misled ? FAIL(e, ERR_POLICY, "unexpected kernel mounts") : 0;
}

int bwrap_prepare(struct attempt *t, struct err *e)
{
	const struct launch *in = t->in;
	const struct profile *profile = in->plan->policy->profile;
	bool is_offline = net_mode(in->plan->net) != NET_FULL;
	struct inner_job *inner = &t->job.inner;

	t->facts = (struct bwrap_facts){ .is_root = geteuid() == 0,
					 .has_own_network = is_offline,
					 .has_own_ipc = profile->isolates_ipc,
					 .has_own_proc = true,
					 .terminal_path = in->terminal_path,
					 .info_fd = BWRAP_FD_INFO,
					 .block_fd = BWRAP_FD_BLOCK,
					 .first_data_fd = BWRAP_FD_DATA,
					 .is_mount = is_mount };
	t->facts.has_mqueue = t->facts.has_own_ipc && has_queues();
	inner->has_own_network = is_offline;
	inner->landlock.scopes_only = profile->allows_userns;
	return inner_check_landlock(in, inner, e) < 0 ? err_result(e) : bwrap_lower(t, e);
}

int bwrap_prepare_job(struct attempt *t, struct err *e)
{
	t->job.inner.has_writable = lower_has_writable(&t->mounts);
	if (inner_prepare(t->a, t->in, &t->job.inner, e) < 0 || note_namespaces(t, e) < 0 ||
	    note_places(t, e) < 0 || note_limits(t, e) < 0)
		return err_result(e);
	return 0;
}
