/* SPDX-License-Identifier: MIT */
/* bwrap and its descriptors; see attempt.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/bwrap/attempt.h"
#include "backend/host.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/write_signals.h"

enum { JOB_MAX_BYTES = 64 << 20 };

static const char ignore_all[] = "*\n";

/* ---- Descriptors ------------------------------------------------------------------------ */

static int make_memory(const char *name, int *out, struct err *e)
{
	*out = (int)syscall(SYS_memfd_create, name, 1U | 2U /* CLOEXEC, ALLOW_SEALING */);
	if (*out < 0)
		return FAIL_SYS(e, errno, "can't make a file in memory");
	return 0;
}

/* Writes and seals the file, so that nobody can change it, and rewinds it. */
static int fill_memory(int fd, struct str text, struct err *e)
{
	const int seals = 0x1 | 0x2 | 0x4 | 0x8; /* F_SEAL_SEAL, SHRINK, GROW, WRITE */
	const int add_seals = 1033;		 /* F_ADD_SEALS */
	struct os_write_signals signals;
	size_t done = 0;
	ssize_t n = 1;

	/* `ulimit -f` applies to memfds, too, and would raise SIGXFSZ. */
	os_write_signals_block(&signals);
	while (done < text.len && (n = pwrite(fd, text.p + done, text.len - done, (off_t)done)) > 0)
		done += (size_t)n;
	os_write_signals_restore(&signals);
	if (n <= 0)
		return FAIL_SYS(e, errno, "can't write to a file in memory");
	if (fcntl(fd, add_seals, seals) < 0)
		return FAIL_SYS(e, errno, "can't close a file in memory");
	return 0;
}

/* The caller keeps and closes it. */
static int add_borrowed(struct attempt *t, int fd, struct err *e)
{
	int *added = VEC_PUSH(t->a, &t->fds, e);

	if (!added)
		return err_result(e);
	*added = fd;
	return 0;
}

static int add_fd(struct attempt *t, int fd, struct err *e)
{
	int *owned = VEC_PUSH(t->a, &t->owned, e);

	if (!owned) {
		close(fd);
		return err_result(e);
	}
	*owned = fd;
	return add_borrowed(t, fd, e);
}

/* One descriptor of /dev/null for all uses: there may be few free descriptors. */
static int add_nothing(struct attempt *t, struct err *e)
{
	int fd;

	if (t->fds.count > 0)
		return add_borrowed(t, t->fds.items[BWRAP_FD_NULL_IN], e);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return FAIL_SYS(e, errno, "can't open /dev/null");
	return add_fd(t, fd, e);
}

/* bwrap gets one end, this process keeps the other. */
static int add_pipe(struct attempt *t, int own, int *out, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return FAIL_SYS(e, errno, "can't make a pipe");
	*out = ends[own];
	return add_fd(t, ends[!own], e);
}

/* For a text that fits into a pipe's buffer. */
static int add_text(struct attempt *t, struct str text, struct err *e)
{
	int end = -1;
	ssize_t n;

	if (add_pipe(t, 1, &end, e) < 0)
		return err_result(e);
	n = write(end, text.p, text.len);
	fd_close(&end);
	return n == (ssize_t)text.len ? 0 : FAIL_SYS(e, errno, "can't write to a pipe");
}

int bwrap_write_args(struct attempt *t, struct err *e)
{
	scoped_buf text = BUF_INIT(JOB_MAX_BYTES);

	for (size_t i = 0; i < t->words.list.count; i++) {
		buf_add_text(&text, t->words.list.items[i]);
		buf_add_char(&text, '\0');
	}
	if (buf_check(&text, e) < 0 || fill_memory(t->args_file, buf_str(&text), e) < 0)
		return err_result(e);
	fd_close(&t->gate);
	return 0;
}

/* A file that this process fills later; it keeps a copy for that. */
static int add_later(struct attempt *t, const char *name, int *out, struct err *e)
{
	if (make_memory(name, out, e) < 0)
		return err_result(e);
	return add_borrowed(t, *out, e);
}

int bwrap_write_job(struct attempt *t, struct err *e)
{
	scoped_buf bytes = BUF_INIT(JOB_MAX_BYTES);

	if (bwrap_job_pack(&t->job, &bytes, e) < 0)
		return err_result(e);
	return fill_memory(t->job_file, buf_str(&bytes), e);
}

static int add_channel(struct attempt *t, struct err *e)
{
	int pair[2];
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the sandbox");
	t->s.channel = pair[0];
	if (add_fd(t, pair[1], e) < 0)
		return err_result(e);
	r = fd_pass_ask_sender(pair[0]);
	/* A filter around this process may forbid network calls. */
	if (r == -EPERM || r == -EACCES || r == -ENOSYS)
		return host_fail_rights(backend_bwrap.name, "make its channel", -r, e);
	return r < 0 ? FAIL_SYS(e, -r, "can't make a channel to the sandbox") : 0;
}

/* Opens a path for bwrap, and fails if it was replaced since the plan was made (P8). */
static int add_opened_place(struct attempt *t, const struct mount_op *op, struct err *e)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, op->path, &how, sizeof(how));
	char shown[400];
	struct stat st;

	(void)utf8_show(str_of(op->path), shown, sizeof(shown));
	if (fd < 0 && errno != ENOENT && errno != ELOOP && errno != ENOTDIR)
		return FAIL_SYS(e, errno, "can't open '%s'", shown);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == op->device && st.st_ino == op->inode)
		return add_fd(t, fd, e);
	fd_close(&fd);
	return inner_fail_changed(str_of(op->path), e);
}

static int add_data(struct attempt *t, const struct bwrap_data *data, struct err *e)
{
	switch (data->kind) {
	case BWRAP_DATA_NOTHING:
		return add_nothing(t, e);
	case BWRAP_DATA_IGNORE_ALL:
		return add_text(t, str_of(ignore_all), e);
	case BWRAP_DATA_PLACE:
		return add_opened_place(t, data->op, e);
	}
	return FAIL(e, ERR_INTERNAL, "data of no kind");
}

static int add_host(struct attempt *t, struct err *e)
{
	int host = os_open_self();

	return host < 0 ? FAIL_SYS(e, errno, "can't open a pidfd of this process")
			: add_fd(t, host, e);
}

/* In the order of enum bwrap_fd. */
static int make_descriptors(struct attempt *t, struct err *e)
{
	/* NOLINTNEXTLINE(misc-redundant-expression): each adds one. */
	if (add_nothing(t, e) < 0 || add_nothing(t, e) < 0 || add_pipe(t, 0, &t->errors, e) < 0 ||
	    add_later(t, "bwrap arguments", &t->args_file, e) < 0 ||
	    add_pipe(t, 0, &t->info, e) < 0 || add_pipe(t, 1, &t->block, e) < 0 ||
	    add_later(t, "cordon job", &t->job_file, e) < 0 || add_channel(t, e) < 0 ||
	    add_borrowed(t, t->stage, e) < 0)
		return err_result(e);
	for (int i = 0; i < 3; i++)
		if (add_borrowed(t, t->in->stdio[i], e) < 0)
			return err_result(e);
	if (add_pipe(t, 1, &t->gate, e) < 0 || add_host(t, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < t->words.data.count; i++)
		if (add_data(t, &t->words.data.items[i], e) < 0)
			return err_result(e);
	return 0;
}

/* ---- bwrap ----------------------------------------------------------------------------------- */

static void close_owned(struct attempt *t)
{
	for (size_t i = 0; i < t->owned.count; i++)
		fd_close(&t->owned.items[i]);
	t->owned.count = 0;
	t->fds.count = 0;
}

static void run_helper(void *arg, int host)
{
	bwrap_helper(arg, host);
}

static void run_bwrap(void *arg)
{
	bwrap_become(arg);
}

/*
 * Starts bwrap from this process, and forks the helper while bwrap is being loaded. When bwrap is
 * killed, this process adopts PID 1. If this process is killed before there is a helper, bwrap gets
 * no arguments and exits.
 */
static int start_directly(struct attempt *t, struct bwrap_spawn *job, struct err *e)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	t->group = os_vfork(run_bwrap, job, &t->s.starter);
	if (t->group < 0)
		return FAIL_START(e, errno, "can't start a process");
	job->bwrap = t->s.starter;
	job->group = t->group;
	return 0;
}

static int start_helper(struct attempt *t, struct bwrap_spawn *job, int host, struct err *e)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to a process");
	t->s.helper_life = ends[0];
	job->life = ends[1];
	pid = os_fork_helper(
		&(struct os_helper){
			.run = run_helper, .arg = job, .keeps_all = true, .own_pidfd = host },
		&t->s.helper);
	if (pid < 0)
		(void)FAIL_START(e, errno, "can't start a process");
	else if (job->bwrap < 0)
		t->group = pid;
	else
		(void)setpgid(pid, pid); /* a signal to this process's group must not hit it */
	close(ends[1]);
	return pid < 0 ? err_result(e) : 0;
}

static int start_processes(struct attempt *t, struct err *e)
{
	static const char stage[] = "/proc/self/fd/8";
	/* The first --args is an empty pipe: bwrap waits for its end before it reads the second. */
	const char *argv[] = { "bwrap", "--args",	  "12", "--args", "3", "--",
			       stage,	BWRAP_STAGE_NAME, NULL };
	struct bwrap_spawn job = { .program = t->program.fd, .argv = argv, .bwrap = -1 };
	/* Noted before bwrap starts: the vforked process shares `fds`, and renumbers them. */
	int host = t->fds.items[BWRAP_FD_HOST];
	int r = 0;

	_Static_assert(BWRAP_FD_ARGS == 3 && BWRAP_FD_STAGE == 8 && BWRAP_FD_GATE == 12,
		       "as in the words");
	job.count = t->fds.count;
	if (add_borrowed(t, t->program.fd, e) < 0)
		return err_result(e);
	job.fds = t->fds.items;
	if (t->in->adopts)
		r = start_directly(t, &job, e);
	if (r == 0)
		r = start_helper(t, &job, host, e);
	close_owned(t);
	return r;
}

int bwrap_spawn(struct attempt *t, struct err *e)
{
	if (make_descriptors(t, e) < 0)
		return err_result(e);
	return start_processes(t, e);
}

void bwrap_close_ends(struct attempt *t)
{
	close_owned(t);
	fd_close(&t->errors);
	fd_close(&t->info);
	fd_close(&t->gate);
	fd_close(&t->block);
	fd_close(&t->args_file);
	fd_close(&t->job_file);
}
