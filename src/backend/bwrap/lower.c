/* SPDX-License-Identifier: MIT */
/* mount operations -> the arguments of bwrap; see lower.h. */
#include "backend/bwrap/lower.h"

#include "base/path.h"
#include "base/utf8.h"

struct arguments {
	struct arena *a;
	const struct launch *in;
	const struct mounts *mounts;
	const struct bwrap_facts *facts;
	struct bwrap_words *out;
	VEC(const char *) closed; /* paths that become read-only at the end */
	size_t mask_count, place_count;
};

static int add(struct arguments *args, const char *word, struct err *e)
{
	const char **added;

	if (args->out->list.count >= BWRAP_MAX_WORDS)
		return FAIL_CAUSE(
			e, CAUSE_BACKEND_UNSUITED,
			"the bwrap backend can't do it: the policy makes more mounts than "
			"bwrap takes in its arguments (9000); name fewer paths");
	added = VEC_PUSH(args->a, &args->out->list, e);
	if (!added)
		return err_result(e);
	*added = word;
	return 0;
}

static int add_words(struct arguments *args, const char *const *words, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && words[i]; i++)
		r = add(args, words[i], e);
	return r;
}

#define ADD(args, e, ...) add_words((args), (const char *const[]){ __VA_ARGS__, NULL }, (e))

static int add_number(struct arguments *args, int number, struct err *e)
{
	struct str text;

	if (arena_printf(args->a, &text, e, "%d", number) < 0)
		return err_result(e);
	return add(args, text.p, e);
}

/* "OPTION FD PATH" */
static int add_fd(struct arguments *args, const char *option, struct bwrap_data data,
		  const char *path, struct err *e)
{
	struct bwrap_data *added = VEC_PUSH(args->a, &args->out->data, e);
	int fd = args->facts->first_data_fd + (int)args->out->data.count - 1;

	if (!added)
		return err_result(e);
	*added = data;
	if (add(args, option, e) < 0 || add_number(args, fd, e) < 0)
		return err_result(e);
	return add(args, path, e);
}

static int add_data(struct arguments *args, const char *mode, const char *option,
		    enum bwrap_data_kind kind, const char *path, struct err *e)
{
	if (ADD(args, e, "--perms", mode) < 0)
		return err_result(e);
	return add_fd(args, option, (struct bwrap_data){ .kind = kind }, path, e);
}

static int close_later(struct arguments *args, const char *path, struct err *e)
{
	const char **added = VEC_PUSH(args->a, &args->closed, e);

	if (!added)
		return err_result(e);
	*added = path;
	return 0;
}

/* ---- Namespaces, and what the inner stage needs ------------------------------------- */

static int add_namespaces(struct arguments *args, struct err *e)
{
	const struct bwrap_facts *facts = args->facts;

	/* --info-fd: this process writes the id maps, and needs to know the pid. */
	if (ADD(args, e, "--as-pid-1", "--unshare-user", "--unshare-pid", "--unshare-uts",
		"--unshare-cgroup", "--info-fd") < 0 ||
	    add_number(args, facts->info_fd, e) < 0 || add(args, "--userns-block-fd", e) < 0 ||
	    add_number(args, facts->block_fd, e) < 0)
		return err_result(e);
	if ((facts->features & BWRAP_FEATURE_BIT(BWRAP_HAS_ARGV0)) &&
	    ADD(args, e, "--argv0", BWRAP_STAGE_NAME) < 0)
		return err_result(e);
	if (facts->has_own_network && add(args, "--unshare-net", e) < 0)
		return err_result(e);
	if (facts->has_own_ipc && add(args, "--unshare-ipc", e) < 0)
		return err_result(e);
	/*
	 * Capabilities in the new user namespace for the inner stage: to check places that it may not
	 * search, to make mounts private, and to drop all capabilities.
	 */
	if (ADD(args, e, "--cap-drop", "ALL", "--cap-add", "CAP_DAC_READ_SEARCH", "--cap-add",
		"CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP") < 0)
		return err_result(e);
	/* For routes, and to bind port 53. */
	if ((args->in->network || args->in->name_server_count) &&
	    ADD(args, e, "--cap-add", "CAP_NET_ADMIN", "--cap-add", "CAP_NET_BIND_SERVICE") < 0)
		return err_result(e);
	return 0;
}

/* ---- The kernel's own trees ------------------------------------------------------------ */

static int is_there(struct arguments *args, const char *path, bool *out, struct err *e)
{
	struct host_file file;

	if (args->in->host->look(args->in->host->user, str_of(path), &file, e) < 0)
		return err_result(e);
	*out = file.type == HOST_DIR || file.type == HOST_FILE || file.type == HOST_OTHER;
	return 0;
}

static int bind_read_only(struct arguments *args, const char *path, struct err *e)
{
	bool exists = false;

	if (is_there(args, path, &exists, e) < 0)
		return err_result(e);
	return exists ? ADD(args, e, "--ro-bind", path, path) : 0;
}

/*
 * Makes parts of /proc read-only. bwrap does so only for parts that it could write to itself. Most of
 * the rest is writable by root, some by everybody. The list is the same in every /proc.
 */
static int add_proc(struct arguments *args, struct err *e)
{
	static const char *const closed[] = { "/proc/sysrq-trigger", "/proc/fs", "/proc/acpi",
					      "/proc/scsi", "/proc/mtrr" };
	static const char *const hidden[] = { "/proc/kcore", "/proc/kpagecount", "/proc/kpageflags",
					      "/proc/kpagecgroup" };
	bool exists = false;

	if (!args->facts->has_own_proc)
		return ADD(args, e, "--ro-bind", "/proc", "/proc");
	if (ADD(args, e, "--proc", "/proc") < 0 || bind_read_only(args, "/proc/sys", e) < 0 ||
	    bind_read_only(args, "/proc/pressure", e) < 0)
		return err_result(e);
	if (!args->facts->is_root)
		return 0;
	for (size_t i = 0; i < COUNT_OF(closed); i++)
		if (bind_read_only(args, closed[i], e) < 0)
			return err_result(e);
	for (size_t i = 0; i < COUNT_OF(hidden); i++) {
		if (is_there(args, hidden[i], &exists, e) < 0)
			return err_result(e);
		if (exists &&
		    add_data(args, "0000", "--ro-bind-data", BWRAP_DATA_NOTHING, hidden[i], e) < 0)
			return err_result(e);
	}
	return 0;
}

static int add_dev(struct arguments *args, struct err *e)
{
	const struct bwrap_facts *facts = args->facts;

	if (ADD(args, e, "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm") < 0)
		return err_result(e);
	if (facts->has_own_ipc && facts->has_mqueue && ADD(args, e, "--mqueue", "/dev/mqueue") < 0)
		return err_result(e);
	if (facts->terminal_path &&
	    ADD(args, e, "--dev-bind", facts->terminal_path, "/dev/console") < 0)
		return err_result(e);
	return close_later(args, "/dev", e);
}

static int add_kernel_trees(struct arguments *args, struct err *e)
{
	const struct mount_op *top = &args->mounts->ops.items[0];

	if (add_proc(args, e) < 0 || add_dev(args, e) < 0)
		return err_result(e);
	/* SECURITY: with a writable "/", root could change the kernel's settings through /sys. */
	if (top->kind == MOUNT_SELF && top->access == ACCESS_WRITE)
		return bind_read_only(args, "/sys", e);
	return 0;
}

/* ---- Operations ---------------------------------------------------------------------------- */

static int refuse(const struct mount_op *op, const char *what, struct err *e)
{
	scoped_buf path = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	utf8_add_shown(&path, str_of(op->path));
	return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
			  "the bwrap backend can't %s '%s'; the native backend can", what,
			  buf_str(&path).p);
}

/*
 * SECURITY: bwrap creates mount points that it does not find, and it can where the command may
 * write. If somebody swapped a path for a link, it would create them elsewhere. So bwrap gets
 * writable directories as descriptors, and compares them with what it mounted before it continues. An
 * older bwrap can't; then the inner stage finds the swap, but a created file stays.
 */
static int add_writable(struct arguments *args, const struct mount_op *op, struct err *e)
{
	const struct bwrap_data place = { .kind = BWRAP_DATA_PLACE, .op = op };

	if (!(args->facts->features & BWRAP_FEATURE_BIT(BWRAP_HAS_BIND_FD)) || !op->is_checked)
		return ADD(args, e, "--bind", op->path, op->path);
	if (++args->place_count > BWRAP_MAX_PLACES)
		return refuse(op, "open more than 256 places one by one, of which one is", e);
	return add_fd(args, "--bind-fd", place, op->path, e);
}

static int add_self(struct arguments *args, const struct mount_op *op, struct err *e)
{
	/* bwrap would follow the link; the inner stage mounts it onto itself instead. */
	if (op->type == HOST_LINK)
		return 0;
	if (path_is_under(str_of(op->path), STR("/dev")))
		return ADD(args, e, "--dev-bind", op->path, op->path);
	if (op->access == ACCESS_WRITE)
		return add_writable(args, op, e);
	return ADD(args, e, "--ro-bind", op->path, op->path);
}

/* An unchecked path is in /proc or /dev and may not exist. */
static bool is_masked_late(const struct arguments *args, const struct mount_op *op)
{
	if (!op->is_checked || (args->facts->is_mount && args->facts->is_mount(op->path)))
		return false;
	return op->type == HOST_LINK || args->mask_count > BWRAP_MAX_MASKS;
}

static int add_mask(struct arguments *args, const struct mount_op *op, struct err *e)
{
	const char **late;

	if (is_masked_late(args, op)) {
		late = VEC_PUSH(args->a, &args->out->late, e);
		if (!late)
			return err_result(e);
		*late = op->path;
		return 0;
	}
	if (op->type != HOST_DIR)
		return add_data(args, "0000", "--ro-bind-data", BWRAP_DATA_NOTHING, op->path, e);
	return ADD(args, e, "--perms", "0000", "--tmpfs", op->path, "--remount-ro", op->path);
}

/* A placeholder is empty, except for what makes git ignore it. */
static int add_empty(struct arguments *args, const struct mount_op *op, struct err *e)
{
	struct str ignore;

	if (arena_printf(args->a, &ignore, e, "%s/.gitignore", op->path) < 0 ||
	    ADD(args, e, "--perms", "0755", "--tmpfs", op->path) < 0 ||
	    add_data(args, "0444", "--file", BWRAP_DATA_IGNORE_ALL, ignore.p, e) < 0)
		return err_result(e);
	return ADD(args, e, "--remount-ro", op->path);
}

/* "m3/a/b" of the made things is /path/of/op/a/b where `op` has the name "m3"; else NULL. */
static const char *made_below(const struct made *made, const struct mount_op *op)
{
	size_t len = strlen(op->made);

	return strncmp(made->path, op->made, len) == 0 && made->path[len] == '/' ? made->path + len
										 : NULL;
}

static int add_made(struct arguments *args, const struct mount_op *op, struct err *e)
{
	const char *top = op->path[1] ? op->path : "";
	struct str path, mode;

	for (size_t i = 0; i < args->mounts->made.count; i++) {
		const struct made *made = &args->mounts->made.items[i];
		const char *below = made_below(made, op);

		/* bwrap makes the mount points of files itself. */
		if (!below || made->type == HOST_FILE)
			continue;
		if (arena_printf(args->a, &path, e, "%s%s", top, below) < 0 ||
		    arena_printf(args->a, &mode, e, "%04o", made->mode) < 0)
			return err_result(e);
		if ((made->type == HOST_LINK
			     ? ADD(args, e, "--symlink", made->target, path.p)
			     : ADD(args, e, "--perms", mode.p, "--dir", path.p)) < 0)
			return err_result(e);
	}
	return 0;
}

/* Directories that are made for this run: with mount points in them, or empty and writable. */
static int add_tree(struct arguments *args, const struct mount_op *op, struct err *e)
{
	bool is_fresh = op->kind == MOUNT_FRESH;

	if (ADD(args, e, "--perms", is_fresh ? "1777" : "0111", "--tmpfs", op->path) < 0 ||
	    add_made(args, op, e) < 0)
		return err_result(e);
	return is_fresh ? 0 : close_later(args, op->path, e);
}

static int add_op(struct arguments *args, const struct mount_op *op, struct err *e)
{
	/* The inner stage is executed through /proc/self/fd. */
	if (strcmp(op->path, "/proc") == 0)
		return refuse(op, "hide", e);
	switch (op->kind) {
	case MOUNT_SELF:
		return add_self(args, op, e);
	case MOUNT_MASK:
		return add_mask(args, op, e);
	case MOUNT_EMPTY:
		return add_empty(args, op, e);
	case MOUNT_SKELETON:
	case MOUNT_FRESH:
		return add_tree(args, op, e);
	}
	return FAIL(e, ERR_INTERNAL, "a mount of no kind");
}

int lower_bwrap(struct arena *a, const struct launch *in, const struct mounts *mounts,
		const struct bwrap_facts *facts, struct bwrap_words *out, struct err *e)
{
	struct arguments args = { .a = a, .in = in, .mounts = mounts, .facts = facts, .out = out };

	*out = (struct bwrap_words){ .list = { .items = NULL } };
	for (size_t i = 0; i < mounts->ops.count; i++)
		args.mask_count += mounts->ops.items[i].kind == MOUNT_MASK;
	if (add_namespaces(&args, e) < 0 || add_op(&args, &mounts->ops.items[0], e) < 0 ||
	    add_kernel_trees(&args, e) < 0)
		return err_result(e);
	for (size_t i = 1; i < mounts->ops.count; i++)
		if (add_op(&args, &mounts->ops.items[i], e) < 0)
			return err_result(e);
	for (size_t i = args.closed.count; i-- > 0;)
		if (ADD(&args, e, "--remount-ro", args.closed.items[i]) < 0)
			return err_result(e);
	return 0;
}
