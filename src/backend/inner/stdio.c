/* SPDX-License-Identifier: MIT */
/*
 * Checks the standard streams. They come from outside and keep the host's mounts: through
 * /proc/self/fd a command can open such a file again and bypass every mount of the sandbox.
 * Landlock prevents that, except for files that are denied or read-only inside a directory that is
 * writable.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backend/devices.h"
#include "backend/inner/inner.h"
#include "base/path.h"
#include "base/utf8.h"
#include "linux/notify/rights.h"
#include "os/fd.h"

enum { MEMORY_DEVICES = 1 }; /* major number of /dev/null and its like */

static const char *const stream_names[] = { "input", "output", "error output" };

/* The path by which a descriptor's file can be found now; false when there is none. */
static bool find_path(int fd, const struct stat *st, char *path, size_t room)
{
	char link[64];
	struct stat there;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, room - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return path[0] == '/' && lstat(path, &there) == 0 && there.st_dev == st->st_dev &&
	       there.st_ino == st->st_ino;
}

/* Whether Landlock, which knows only whole writable subtrees, would let it be opened. */
static bool is_left_open(const struct inner_job *job, struct str path)
{
	const struct landlock_rules *landlock = &job->landlock;

	if (landlock->scopes_only || landlock->abi == 0)
		return true;
	for (size_t i = 0; i < landlock->rules.count; i++) {
		const struct landlock_rule *rule = &landlock->rules.items[i];

		if (rule->kind == LANDLOCK_MAY_WRITE && !rule->is_made &&
		    path_is_under(path, str_of(rule->path)))
			return true;
	}
	return false;
}

static int check_file(struct arena *a, const struct launch *in, struct inner_job *job, int i,
		      struct str path, struct err *e)
{
	enum access access = plan_resolve(in->plan, path).access;
	bool is_read_only = (fcntl(in->stdio[i], F_GETFL) & O_ACCMODE) == O_RDONLY;
	struct str copy;

	if (access == ACCESS_DENY &&
	    (is_left_open(job, path) || (!is_read_only && job->landlock.shows_root))) {
		scoped_buf shown = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

		utf8_add_shown(&shown, path);
		(void)FAIL_CAUSE(e, CAUSE_STREAM_REFUSED,
				 "standard %s is '%s', which the policy denies", stream_names[i],
				 buf_str(&shown).p);
		err_add_line(e, "pass it through a pipe if the command needs it");
		return err_result(e);
	}
	/* It can stay if Landlock refuses to open it again, or if the policy allows that anyway. */
	if (access != ACCESS_READ || !is_left_open(job, path))
		return 0;
	/* The caller opened it for writing, and so lets the command write it. */
	if (!is_read_only || job->has_no_mounts)
		return 0;
	if (arena_copy(a, path, &copy, e) < 0)
		return err_result(e);
	job->reopened[i] = copy.p;
	return 0;
}

/* The path that the device has in every sandbox; NULL: none. */
static const char *find_own(const struct stat *st)
{
	static const char *const devices[] = { HOST_DEVICES };
	struct stat there;

	for (size_t i = 0; i < COUNT_OF(devices); i++)
		if (lstat(devices[i], &there) == 0 && there.st_dev == st->st_dev &&
		    there.st_ino == st->st_ino)
			return devices[i];
	return NULL;
}

/*
 * Whether the terminal can be replaced by the sandbox's own mount of it. SECURITY: through the
 * host's mount the command could change the terminal's mode and owner. The sandbox's mount is
 * read-only, which forbids that but still lets the terminal be written to, so that the supervisor
 * need not check every chmod() of an interactive run. False if the command's user can't open the
 * terminal, as after su.
 */
static bool has_console(const struct launch *in, const struct inner_job *job, int stream,
			const struct stat *st)
{
	int flags = fcntl(stream, F_GETFL);
	struct rights rights;
	struct stat there;
	scoped_fd again = -1;

	if (job->has_no_mounts || !in->terminal_path || stat(in->terminal_path, &there) < 0 ||
	    there.st_dev != st->st_dev || there.st_ino != st->st_ino || rights_drop(&rights) < 0)
		return false;
	again = open(in->terminal_path,
		     (flags & O_ACCMODE) | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	rights_restore(&rights);
	return again >= 0;
}

/*
 * Refuses a device that was opened for reading if the command could open it for writing, which it
 * can where Landlock lets it write all of "/". Terminals and memory devices (/dev/null) are open to
 * everybody.
 */
static int check_device(const struct launch *in, struct inner_job *job, const struct stat *st,
			int flags, int i, struct err *e)
{
	bool is_read_only = (flags & O_ACCMODE) == O_RDONLY;
	bool is_memory = S_ISCHR(st->st_mode) && major(st->st_rdev) == MEMORY_DEVICES;
	bool is_common = is_memory || (S_ISCHR(st->st_mode) && isatty(in->stdio[i]));

	/* SECURITY: through the host's mount root could chmod it; the sandbox's is read-only. */
	if (is_memory && !job->has_no_mounts)
		job->reopened[i] = find_own(st);
	if (is_common && !is_memory && has_console(in, job, in->stdio[i], st))
		job->reopened[i] = "/dev/console";

	if ((!S_ISCHR(st->st_mode) && !S_ISBLK(st->st_mode)) || is_common || !is_read_only ||
	    !is_left_open(job, STR("/")))
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_STREAM_REFUSED,
			 "standard %s is a device that is open for reading only, and the command "
			 "could open it for writing",
			 stream_names[i]);
	err_add_line(e, "pass it through a pipe");
	return err_result(e);
}

/*
 * A connected stream can reach only its peer. Any other socket of the host's network could be
 * connected, or could send, to anybody.
 */
static int check_socket(const struct inner_job *job, int fd, int i, struct err *e)
{
	struct sockaddr_storage peer;
	socklen_t peer_bytes = sizeof(peer);
	int type = 0, domain = 0;
	socklen_t bytes = sizeof(type);

	if (!job->has_own_network && !job->landlock.refuses_network)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) < 0)
		return FAIL_SYS(e, errno, "can't look at the standard %s", stream_names[i]);
	/* SECURITY: once its peer is gone the command could listen on it, unsupervised. */
	if (!job->has_own_network && domain != AF_UNIX) {
		(void)FAIL_CAUSE(e, CAUSE_STREAM_REFUSED,
				 "standard %s is a socket of the host's network, so the command "
				 "could connect or listen with it",
				 stream_names[i]);
		err_add_line(e, "pass it through a pipe, or use --network full");
		return err_result(e);
	}
	if ((type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
	    getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) == 0)
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_STREAM_REFUSED,
			 "standard %s is a socket that is not a connected stream; through it the "
			 "command could reach the network",
			 stream_names[i]);
	err_add_line(e, "redirect it, or use --network full");
	return err_result(e);
}

int inner_check_stdio(struct arena *a, const struct launch *in, struct inner_job *job,
		      struct err *e)
{
	char path[PATH_MAX_BYTES];

	for (int i = 0; i < 3; i++) {
		struct stat st;
		int flags = fcntl(in->stdio[i], F_GETFL);

		if (flags < 0 || fstat(in->stdio[i], &st) < 0)
			return FAIL_SYS(e, errno, "can't look at the standard %s", stream_names[i]);
		/* SECURITY: through a directory the command could reach every hidden file. */
		if (S_ISDIR(st.st_mode) || (flags & O_PATH)) {
			(void)FAIL_CAUSE(e, CAUSE_STREAM_REFUSED,
					 "standard %s is a directory, through which the command "
					 "could leave the sandbox",
					 stream_names[i]);
			err_add_line(e, "redirect it from a file or /dev/null");
			return err_result(e);
		}
		if (S_ISSOCK(st.st_mode) && check_socket(job, in->stdio[i], i, e) < 0)
			return err_result(e);
		if (check_device(in, job, &st, flags, i, e) < 0)
			return err_result(e);
		if (S_ISREG(st.st_mode) && find_path(in->stdio[i], &st, path, sizeof(path)) &&
		    check_file(a, in, job, i, str_of(path), e) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- Files of the caller's -------------------------------------------------------------- */

/* Whether something made for this run covers the path inside. */
static bool is_covered(const struct inner_job *job, struct str path)
{
	const struct landlock_rule *nearest = NULL;

	for (size_t i = 0; i < job->landlock.rules.count; i++) {
		const struct landlock_rule *rule = &job->landlock.rules.items[i];

		if (rule->kind == LANDLOCK_MAY_WRITE && path_is_under(path, str_of(rule->path)) &&
		    (!nearest || strlen(rule->path) > strlen(nearest->path)))
			nearest = rule;
	}
	return nearest && nearest->is_made;
}

/* Whether it is a file that the command may not change by its path. */
static bool is_kept(const struct launch *in, const struct inner_job *job, int i,
		    const struct stat *st)
{
	char path[PATH_MAX_BYTES];
	bool is_found;

	if (job->reopened[i] || S_ISSOCK(st->st_mode))
		return false;
	is_found = find_path(in->stdio[i], st, path, sizeof(path));
	/* A pipe without a name is nobody's file. */
	if (S_ISFIFO(st->st_mode) && !is_found)
		return false;
	return !is_found || is_covered(job, str_of(path)) ||
	       plan_resolve(in->plan, str_of(path)).access != ACCESS_WRITE;
}

static bool is_appended(int flags)
{
	return (flags & O_APPEND) && (flags & O_ACCMODE) != O_RDONLY;
}

/* Whether the command can overwrite the file through another stream anyway. */
static bool is_overwritten(const struct launch *in, const struct stat *st)
{
	for (int i = 0; i < 3; i++) {
		int flags = fcntl(in->stdio[i], F_GETFL);
		struct stat other;

		if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_APPEND) &&
		    fstat(in->stdio[i], &other) == 0 && other.st_dev == st->st_dev &&
		    other.st_ino == st->st_ino)
			return true;
	}
	return false;
}

/*
 * SECURITY: refuses a stream whose file the command could open again by its path, without O_APPEND,
 * and so overwrite.
 */
static int check_appended(const struct inner_job *job, const struct stat *st, int stream, int i,
			  struct err *e)
{
	char path[PATH_MAX_BYTES];

	if (!job->landlock.scopes_only && find_path(stream, st, path, sizeof(path)) &&
	    is_left_open(job, str_of(path))) {
		(void)FAIL_CAUSE(e, CAUSE_STREAM_REFUSED,
				 "standard %s appends to a read-only file in a writable directory, "
				 "and the command could overwrite it",
				 stream_names[i]);
		err_add_line(e, "pass it through a pipe");
		return err_result(e);
	}
	return 0;
}

static int find_kind(const struct launch *in, struct inner_job *job, int i, enum stream_kind *out,
		     struct err *e)
{
	int flags = fcntl(in->stdio[i], F_GETFL);
	struct stat st;

	*out = STREAM_FREE;
	if (flags < 0 || fstat(in->stdio[i], &st) < 0)
		return FAIL_SYS(e, errno, "can't look at the standard %s", stream_names[i]);
	if (!is_kept(in, job, i, &st))
		return 0;
	*out = STREAM_KEPT;
	if (!S_ISREG(st.st_mode) || !is_appended(flags) || is_overwritten(in, &st))
		return 0;
	*out = STREAM_APPENDED;
	/* SECURITY: a stream that can be read can be mapped and changed; no filter sees that. */
	if ((flags & O_ACCMODE) == O_RDWR)
		job->reopened[i] = INNER_OWN_DESCRIPTORS;
	return check_appended(job, &st, in->stdio[i], i, e);
}

int inner_find_streams(const struct launch *in, struct inner_job *job, struct err *e)
{
	for (int i = 0; i < 3; i++) {
		enum stream_kind kind;
		int r;

		if (find_kind(in, job, i, &kind, e) < 0)
			return err_result(e);
		job->streams.items[i].kind = kind;
		r = kind == STREAM_FREE ? 0
					: stream_look(in->stdio[i], &job->streams.items[i].file);
		if (r < 0)
			return FAIL_SYS(e, -r, "can't look at the standard %s", stream_names[i]);
	}
	return 0;
}
