/* SPDX-License-Identifier: MIT */
/* What a bwrap can do; see probe.h. */
#include "backend/bwrap/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend/inner/inner.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/write_signals.h"

enum {
	HELP_MAX_BYTES = 64 << 10,
	HELP_TIMEOUT_MS = 2000, /* a loaded machine takes half a second */
	CACHE_MAX_BYTES = 8 << 10,
};

#define CACHE_NAME "bwrap"

static const char *const options[] = {
#define BWRAP_FEATURE_OPTION(name, option) option,
	BWRAP_FEATURES(BWRAP_FEATURE_OPTION)
#undef BWRAP_FEATURE_OPTION
};

/* ---- The text of --help ------------------------------------------------------------- */

/* The first word of a line if it is an option; else "". */
static struct str take_option(struct str line)
{
	size_t from = 0, len = 0;

	while (from < line.len && line.p[from] == ' ')
		from++;
	line = str_from(line, from);
	while (len < line.len &&
	       (line.p[len] == '-' || ascii_is_alpha(line.p[len]) || ascii_is_digit(line.p[len])))
		len++;
	return str_first(line, len);
}

uint32_t bwrap_features_parse(struct str help)
{
	uint32_t features = 0;

	while (help.len) {
		struct str line = str_first(help, str_find(help, '\n'));
		struct str option = take_option(line);

		help = str_from(help, line.len + 1);
		for (unsigned i = 0; i < BWRAP_FEATURE_COUNT; i++)
			if (str_is(option, options[i]))
				features |= BWRAP_FEATURE_BIT(i);
	}
	return features;
}

int bwrap_features_check(uint32_t features, struct str path, struct err *e)
{
	char shown[256];

	for (unsigned i = 0; i < BWRAP_NEEDED_COUNT; i++)
		if (!(features & BWRAP_FEATURE_BIT(i)))
			return FAIL_CAUSE(
				e, CAUSE_BWRAP_UNUSABLE,
				"the bwrap backend can't use '%s': it has no %s; bubblewrap "
				"0.5.0 or newer is needed",
				utf8_show(path, shown, sizeof(shown)), options[i]);
	return 0;
}

/* ---- Asking ------------------------------------------------------------------------- */

struct question {
	int program;
	int output, nothing;
	pid_t host; /* the process that asks */
};

/* Between fork and exec: only system calls. */
static void become_bwrap(void *arg)
{
	static const char *const argv[] = { "bwrap", "--help", NULL };
	static const char *const environment[] = { NULL };
	const struct question *q = arg;
	uint64_t none = 0;
	int program = fcntl(q->program, F_DUPFD_CLOEXEC, 10);
	int output = fcntl(q->output, F_DUPFD_CLOEXEC, 10);
	int nothing = fcntl(q->nothing, F_DUPFD_CLOEXEC, 10);

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (program < 0 || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 ||
	    syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) < 0)
		_exit(126);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	syscall(SYS_execveat, program, "", argv, environment, AT_EMPTY_PATH);
	_exit(127);
}

/*
 * A process that has executed another program sends SIGCHLD to its parent when it ends. This process
 * stands between, so that the host program gets none. Its exit status is the errno if fork
 * failed.
 */
static void ask_in_child(void *arg, int parent)
{
	const struct question *q = arg;
	int bwrap = -1;

	(void)parent;
	/* SECURITY: without this a bwrap that hangs could outlive the process that asks it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != q->host)
		_exit(0);
	if (os_fork(0, become_bwrap, arg, &bwrap) < 0)
		_exit(errno);
	(void)os_reap(bwrap);
	_exit(0);
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads what is available now. False: end of file. */
static bool take_output(int fd, struct buf *out)
{
	char room[4096];
	ssize_t n;

	/* Stops at the limit: a program could print without end. */
	do {
		n = read(fd, room, sizeof(room));
		if (n > 0)
			buf_add(out, (struct str){ room, (size_t)n });
	} while (n > 0 && out->failed == ERR_OK);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Reads until the process ends, whoever holds its output open. False: it timed out. */
static bool hear_out(int pidfd, int output, struct buf *out)
{
	int64_t deadline = now_ms() + HELP_TIMEOUT_MS;
	struct pollfd wait[2] = { { .fd = pidfd, .events = POLLIN },
				  { .fd = output, .events = POLLIN } };

	for (;;) {
		int64_t left = deadline - now_ms();

		if (left <= 0)
			return false;
		if (poll(wait, 2, (int)left) < 0 && errno != EINTR)
			return false;
		if (!take_output(output, out))
			wait[1].fd = -1;
		if (wait[0].revents || out->failed != ERR_OK)
			return true;
	}
}

static int start_asking(struct question *q, int *output, int *pidfd, struct err *e)
{
	int ends[2];

	q->nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (q->nothing < 0)
		return FAIL_SYS(e, errno, "can't open /dev/null");
	if (pipe2(ends, O_CLOEXEC) < 0) {
		close(q->nothing);
		return FAIL_SYS(e, errno, "can't make a pipe");
	}
	q->output = ends[1];
	*output = ends[0];
	(void)fcntl(*output, F_SETFL, O_NONBLOCK);
	if (os_fork_helper(
		    &(struct os_helper){ .run = ask_in_child,
					 .arg = q,
					 .kept = (int[]){ q->program, q->output, q->nothing },
					 .kept_count = 3 },
		    pidfd) < 0) {
		(void)FAIL_START(e, errno, "can't start a process");
		close(*output);
		*output = -1;
	}
	close(ends[1]);
	close(q->nothing);
	return *output < 0 ? err_result(e) : 0;
}

int bwrap_ask(int program, struct str path, uint32_t *features, struct err *e)
{
	struct question q = { .program = program, .host = getpid() };
	scoped_buf help = BUF_INIT(HELP_MAX_BYTES);
	char shown[256];
	int output = -1, pidfd = -1;
	bool is_in_time;
	int status;

	if (start_asking(&q, &output, &pidfd, e) < 0)
		return err_result(e);
	is_in_time = hear_out(pidfd, output, &help);
	os_kill(pidfd, SIGKILL);
	status = os_reap(pidfd);
	close(pidfd);
	close(output);
	if (status > 0 && status < 128)
		return FAIL_START(e, status, "can't start a process");
	(void)utf8_show(path, shown, sizeof(shown));
	if (!is_in_time)
		return FAIL_CAUSE(
			e, CAUSE_BWRAP_UNUSABLE,
			"the bwrap backend can't use '%s': it did not answer to --help within "
			"%d ms; it hangs, or it is not bubblewrap",
			shown, HELP_TIMEOUT_MS);
	if (help.failed != ERR_OK || !bwrap_features_parse(buf_str(&help)))
		return FAIL_CAUSE(
			e, CAUSE_BWRAP_UNUSABLE,
			"the bwrap backend can't use '%s': it does not answer to --help as "
			"bubblewrap does",
			shown);
	*features = bwrap_features_parse(buf_str(&help));
	return bwrap_features_check(*features, path, e);
}

/* ---- The cache -------------------------------------------------------------------------- */

struct bwrap_identity bwrap_identity(const struct stat *st)
{
	return (struct bwrap_identity){
		.device = st->st_dev,
		.inode = st->st_ino,
		.mtime_ns =
			(uint64_t)st->st_mtim.tv_sec * 1000000000U + (uint64_t)st->st_mtim.tv_nsec,
		.bytes = (uint64_t)st->st_size,
	};
}

void bwrap_cache_print(struct str path, const struct bwrap_identity *identity, uint32_t features,
		       struct buf *out)
{
	buf_printf(out, "cordon bwrap features 1\n%llu %llu %llu %llu %u\n",
		   (unsigned long long)identity->device, (unsigned long long)identity->inode,
		   (unsigned long long)identity->mtime_ns, (unsigned long long)identity->bytes,
		   features);
	buf_add(out, path);
	buf_add_char(out, '\n');
}

/* Only usable programs are cached, so any other text is invalid. */
bool bwrap_cache_parse(struct str text, struct str path, const struct bwrap_identity *identity,
		       uint32_t *features)
{
	const uint32_t needed = BWRAP_FEATURE_BIT(BWRAP_NEEDED_COUNT) - 1;

	for (uint32_t more = 0; more < 1U << (BWRAP_FEATURE_COUNT - BWRAP_NEEDED_COUNT); more++) {
		scoped_buf wanted = BUF_INIT(CACHE_MAX_BYTES);
		uint32_t all = needed | more << BWRAP_NEEDED_COUNT;

		bwrap_cache_print(path, identity, all, &wanted);
		if (wanted.failed == ERR_OK && str_eq(text, buf_str(&wanted))) {
			*features = all;
			return true;
		}
	}
	return false;
}

/* The user's cache directory; "" if there is none. */
static int find_base(struct arena *a, struct str *out, struct err *e)
{
	const char *base = os_environment_find(os_environment(), "XDG_CACHE_HOME");
	const char *home = os_environment_find(os_environment(), "HOME");

	*out = STR_EMPTY;
	if (base ? base[0] != '/' : !home || home[0] != '/')
		return 0;
	return arena_printf(a, out, e, "%s%s", base ? base : home, base ? "" : "/.cache");
}

/* Closes the directory and returns -1 if another user owns it or may write to it. */
static int keep_own(int directory)
{
	struct stat st;

	if (directory >= 0 && fstat(directory, &st) == 0 && st.st_uid == geteuid() &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return directory;
	fd_done(&directory);
	return -1;
}

/*
 * SECURITY: a command of another profile may have put a link there. Following it would read or
 * write another file, so no link below the user's directory is followed, and files are opened
 * relative to the descriptor.
 */
static int open_cache(struct str base, bool makes)
{
	scoped_fd above = keep_own(open(base.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	/* Does not make ~/.cache for a user who has none. */
	if (above < 0 || (makes && mkdirat(above, "cordon", 0700) < 0 && errno != EEXIST))
		return -1;
	return keep_own(openat(above, "cordon", flags));
}

int bwrap_cache_open(struct arena *a, struct str *file, int *directory, struct err *e)
{
	struct str base;

	*directory = -1;
	if (find_base(a, &base, e) < 0)
		return err_result(e);
	if (!base.len)
		return 0;
	if (arena_printf(a, file, e, "%s/cordon/" CACHE_NAME, base.p) < 0)
		return err_result(e);
	*directory = open_cache(base, false);
	return 0;
}

/* "" if there is no cache that may be used. */
static int find_usable(struct arena *a, const struct launch *in, struct str *out, struct err *e)
{
	struct str base, plain, file;
	scoped_fd above = -1;

	*out = STR_EMPTY;
	if (find_base(a, &base, e) < 0)
		return err_result(e);
	if (base.len)
		above = keep_own(open(base.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (above < 0)
		return 0;
	if (os_canonical_directory(a, base, &plain, e) < 0 ||
	    path_join(a, plain, STR("cordon/" CACHE_NAME), &file, e) < 0)
		return err_result(e);
	/* SECURITY: don't trust a cache that a command could have written. */
	if (plan_resolve(in->plan, file).access != ACCESS_WRITE &&
	    (!in->stands_for || plan_resolve(in->stands_for, file).access != ACCESS_WRITE))
		*out = plain;
	return 0;
}

/* Reads the file only if no other user could have written it. */
bool bwrap_cache_read(int directory, char *text, size_t room, struct str *out)
{
	scoped_fd fd =
		openat(directory, CACHE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_nlink == 1 && st.st_size < (off_t)room)
		n = read(fd, text, room);
	if (n < 0)
		return false;
	*out = (struct str){ text, (size_t)n };
	return true;
}

bool bwrap_cache_remove(int directory)
{
	return unlinkat(directory, CACHE_NAME, 0) == 0;
}

/* Replaces it atomically. The next write overwrites what a killed process has left. */
static void replace_cache(int directory, struct str text)
{
	char name[48];
	scoped_fd fd = -1;
	struct os_write_signals signals;

	/* A name of this thread's own. */
	(void)snprintf(name, sizeof(name), CACHE_NAME ".new%ld", syscall(SYS_gettid));
	(void)unlinkat(directory, name, 0);
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	os_write_signals_block(&signals);
	if (write(fd, text.p, text.len) != (ssize_t)text.len ||
	    renameat(directory, name, directory, CACHE_NAME) < 0)
		(void)unlinkat(directory, name, 0);
	os_write_signals_restore(&signals);
}

/* Ignores failures: without a cache the next run only asks bwrap again. */
static void write_cache(struct str base, struct str path, const struct bwrap_identity *identity,
			uint32_t features)
{
	scoped_buf text = BUF_INIT(CACHE_MAX_BYTES);
	scoped_fd directory = open_cache(base, true);

	bwrap_cache_print(path, identity, features, &text);
	if (directory >= 0 && text.failed == ERR_OK)
		replace_cache(directory, buf_str(&text));
}

static bool recall(struct str base, struct str path, const struct bwrap_identity *identity,
		   uint32_t *features)
{
	char room[CACHE_MAX_BYTES];
	scoped_fd directory = open_cache(base, false);
	struct str text;

	return directory >= 0 && bwrap_cache_read(directory, room, sizeof(room), &text) &&
	       bwrap_cache_parse(text, path, identity, features);
}

int bwrap_probe(struct arena *a, const struct launch *in, int program, struct str path,
		const struct bwrap_identity *identity, uint32_t *features, struct err *e)
{
	struct str base;

	if (find_usable(a, in, &base, e) < 0)
		return err_result(e);
	if (base.len && recall(base, path, identity, features))
		return 0;
	if (bwrap_ask(program, path, features, e) < 0)
		return err_result(e);
	if (base.len)
		write_cache(base, path, identity, *features);
	return 0;
}
