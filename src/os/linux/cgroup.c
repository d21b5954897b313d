/* SPDX-License-Identifier: MIT */
/* See cgroup.h. */
#include "os/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/mountinfo.h"
#include "os/os.h"

#define NAME_PREFIX "cordon-"

enum {
	CGROUP2_MAGIC = 0x63677270,
	MAX_TRIES = 64, /* for a name: a process may have many runs at once */
};

/* ---- Where ------------------------------------------------------------------------------- */

bool os_cgroup_own(struct str mountinfo, struct str own, char *out, size_t bytes)
{
	struct str line, point = STR_EMPTY, type = STR_EMPTY;

	while (str_next_line(&mountinfo, &line) && !str_is(type, "cgroup2"))
		mountinfo_split(line, &point, &type);
	if (!str_is(type, "cgroup2"))
		return false;
	while (str_next_line(&own, &line)) {
		struct str below = str_from(line, 3);
		int n;

		if (!str_has_prefix(line, STR("0::/")))
			continue;
		n = snprintf(out, bytes, "%.*s%.*s", (int)point.len, point.p,
			     str_is(below, "/") ? 0 : (int)below.len, below.p);
		return n > 0 && (size_t)n < bytes;
	}
	return false;
}

static bool is_group_mount(struct str line)
{
	struct str point, type;

	mountinfo_split(line, &point, &type);
	return str_is(type, "cgroup2");
}

static bool is_own_group(struct str line)
{
	return str_has_prefix(line, STR("0::/"));
}

/*
 * The first matching line of a file in /proc, without its end, in `room`; "" if there is none.
 * Allocates nothing, because the callers have no way to report that memory ran out.
 */
static struct str find_line(const char *path, bool (*is_it)(struct str line), char *room,
			    size_t bytes)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	while (fd >= 0 && used < bytes && (n = read(fd, room + used, bytes - used)) > 0) {
		struct str rest = { room, used + (size_t)n };
		size_t end;

		while ((end = str_find(rest, '\n')) < rest.len) {
			if (is_it(str_first(rest, end)))
				return str_first(rest, end);
			rest = str_from(rest, end + 1);
		}
		used = rest.len;
		memmove(room, rest.p, used);
	}
	return STR_EMPTY;
}

static bool has_word(struct str text, const char *word)
{
	text = str_first(text, str_find(text, '\n'));
	while (text.len)
		if (str_is(str_take_word(&text), word))
			return true;
	return false;
}

/* Of a small file in a group's directory; "" when it can't be read. */
static struct str read_file(int dir, const char *name, char *room, size_t bytes)
{
	scoped_fd fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, room, bytes);

	return (struct str){ room, n > 0 ? (size_t)n : 0 };
}

/* Under systemd, groups belong to systemd, even for root, unless it delegates one (Delegate=). */
static bool is_systemd_s(const char *directory)
{
	char path[4096];
	size_t len = strlen(directory);
	char value[8];

	if (access("/run/systemd/system", F_OK) < 0 || len >= sizeof(path))
		return false;
	memcpy(path, directory, len + 1);
	for (char *slash; (slash = strrchr(path, '/')) && slash > path; *slash = '\0')
		if (getxattr(path, "trusted.delegate", value, sizeof(value)) > 0 ||
		    getxattr(path, "user.delegate", value, sizeof(value)) > 0)
			return false;
	return true;
}

bool os_cgroup_may_use(const char *directory, const struct os_cgroup_limits *limits)
{
	scoped_fd dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char room[256];
	struct str counted;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() ||
	    faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0 ||
	    faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return false;
	counted = read_file(dir, "cgroup.subtree_control", room, sizeof(room));
	return (!limits->memory || has_word(counted, "memory")) &&
	       (!limits->tasks || has_word(counted, "pids"));
}

bool os_cgroup_find(const struct os_cgroup_limits *limits, char out[OS_CGROUP_BYTES])
{
	char mount_room[2 * OS_CGROUP_BYTES], own_room[OS_CGROUP_BYTES];
	struct str mount =
		find_line("/proc/self/mountinfo", is_group_mount, mount_room, sizeof(mount_room));
	struct str own = find_line("/proc/self/cgroup", is_own_group, own_room, sizeof(own_room));
	struct statfs fs;
	char *slash;

	if (!os_cgroup_own(mount, own, out, OS_CGROUP_BYTES))
		return false;
	slash = strrchr(out, '/');
	if (!slash || slash == out)
		return false;
	*slash = '\0';
	/* The mount's root has no parent group. */
	return statfs(out, &fs) == 0 && fs.f_type == CGROUP2_MAGIC &&
	       !(geteuid() == 0 && is_systemd_s(out)) && os_cgroup_may_use(out, limits);
}

/* ---- One ---------------------------------------------------------------------------------- */

static int write_number(int dir, const char *name, uint64_t number)
{
	scoped_fd fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)number);

	if (fd < 0)
		return -errno;
	return write(fd, text, (size_t)len) == len ? 0 : -errno;
}

/*
 * SECURITY: forbid swapping. Else the command could use swap without limit beyond its memory limit.
 * The file is missing only on a kernel that can't swap.
 */
static int forbid_swap(int dir)
{
	int r = write_number(dir, "memory.swap.max", 0);

	return r == -ENOENT && access("/proc/swaps", F_OK) < 0 ? 0 : r;
}

static int set_limits(int dir, const struct os_cgroup_limits *limits)
{
	int r = 0;

	if (limits->memory)
		r = write_number(dir, "memory.max", limits->memory);
	if (r == 0 && limits->memory)
		r = forbid_swap(dir);
	if (r == 0 && limits->tasks)
		r = write_number(dir, "pids.max", limits->tasks);
	return r;
}

/* By its name, the group of a process that has ended. */
static bool is_old(const char *name)
{
	const size_t prefix = sizeof(NAME_PREFIX) - 1;
	long pid;

	if (strncmp(name, NAME_PREFIX, prefix) != 0)
		return false;
	pid = strtol(name + prefix, NULL, 10);
	return pid > 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Removes the groups of runs that were killed. A group that is in use can't be removed. */
static void remove_old(int above)
{
	int copy = openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!list) {
		fd_done(&copy);
		return;
	}
	while ((entry = readdir(list)))
		if (is_old(entry->d_name))
			(void)unlinkat(above, entry->d_name, AT_REMOVEDIR);
	(void)closedir(list);
}

void os_cgroup_remove(struct os_cgroup *g)
{
	if (g->dir >= 0)
		(void)unlinkat(g->above, g->name, AT_REMOVEDIR);
	fd_close(&g->dir);
	fd_close(&g->above);
}

static int try_name(struct os_cgroup *g, const struct os_cgroup_limits *limits, unsigned number)
{
	int r;

	(void)snprintf(g->name, sizeof(g->name), NAME_PREFIX "%ld-%u", (long)getpid(), number);
	if (mkdirat(g->above, g->name, 0755) < 0)
		return -errno;
	g->dir = openat(g->above, g->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = g->dir < 0 ? -errno : set_limits(g->dir, limits);
	if (r < 0) {
		(void)unlinkat(g->above, g->name, AT_REMOVEDIR);
		fd_close(&g->dir);
	}
	return r;
}

int os_cgroup_make(const char *directory, const struct os_cgroup_limits *limits,
		   struct os_cgroup *out, struct err *e)
{
	struct os_cgroup g = OS_CGROUP_NONE;
	int r = -EEXIST;

	g.above = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g.above < 0)
		return FAIL_SYS(e, errno, "can't open the control group '%s'", directory);
	remove_old(g.above);
	for (unsigned i = 0; i < MAX_TRIES && r == -EEXIST; i++)
		r = try_name(&g, limits, i);
	if (r < 0) {
		fd_close(&g.above);
		return FAIL_SYS(e, -r, "can't make a control group in '%s'", directory);
	}
	*out = g;
	return 0;
}

int os_cgroup_enter(const struct os_cgroup *group, pid_t pid)
{
	return write_number(group->dir, "cgroup.procs", (uint64_t)pid);
}

bool os_cgroup_ran_out(const struct os_cgroup *group)
{
	char room[512];
	struct str rest = read_file(group->dir, "memory.events", room, sizeof(room)), line;

	while (str_next_line(&rest, &line))
		if (str_has_prefix(line, STR("oom_kill ")))
			return !str_is(str_from(line, 9), "0");
	return false;
}
