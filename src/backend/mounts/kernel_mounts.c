/* SPDX-License-Identifier: MIT */
/* Finds kernel file systems in unusual places; see kernel_mounts.h. */
#include "backend/mounts/kernel_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"

static bool is_kernel_type(struct str type)
{
	static const char *const types[] = { "proc",	   "sysfs",    "cgroup",  "cgroup2",
					     "debugfs",	   "tracefs",  "bpf",	  "securityfs",
					     "configfs",   "efivarfs", "pstore",  "binfmt_misc",
					     "selinuxfs",  "smackfs",  "resctrl", "nfsd",
					     "rpc_pipefs", "fusectl",  "mqueue",  "devpts",
					     "functionfs", "gadgetfs", "xenfs",	  "hugetlbfs",
					     "openpromfs" };

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (str_is(type, types[i]))
			return true;
	return false;
}

/* The word at `*at`, which moves behind it and one space. */
static struct str next_word(struct str line, size_t *at)
{
	struct str rest = str_from(line, *at);
	struct str word = str_first(rest, str_find(rest, ' '));

	*at += word.len + 1;
	return word;
}

static bool is_octal(struct str digits)
{
	for (size_t i = 0; i < 3; i++)
		if (digits.p[i] < '0' || digits.p[i] > '7')
			return false;
	return true;
}

/* Spaces, tabs, newlines and backslashes are written as \\040 and so on. */
static int unescape(struct arena *a, struct str text, struct str *out, struct err *e)
{
	char *copy = arena_alloc(a, text.len + 1, e);
	size_t n = 0;

	if (!copy)
		return err_result(e);
	for (size_t i = 0; i < text.len; i++) {
		struct str digits = str_from(text, i + 1);

		if (text.p[i] == '\\' && digits.len >= 3 && is_octal(digits)) {
			copy[n++] = (char)((digits.p[0] - '0') * 64 + (digits.p[1] - '0') * 8 +
					   (digits.p[2] - '0'));
			i += 3;
		} else {
			copy[n++] = text.p[i];
		}
	}
	*out = (struct str){ copy, n };
	return 0;
}

static bool is_in_its_place(struct str path)
{
	return path_is_under(path, STR("/proc")) || path_is_under(path, STR("/sys")) ||
	       path_is_under(path, STR("/dev"));
}

/* "ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [FIELD...] - TYPE SOURCE OPTIONS" */
static int take_line(struct arena *a, struct str line, kernel_mounts *out, struct err *e)
{
	struct str path = STR_EMPTY, plain, word = STR_EMPTY;
	struct str *added;
	size_t at = 0;

	for (size_t field = 0; at < line.len && !str_is(word, "-"); field++) {
		word = next_word(line, &at);
		if (field == 4)
			path = word;
	}
	if (at >= line.len || !is_kernel_type(next_word(line, &at)))
		return 0;
	if (unescape(a, path, &plain, e) < 0)
		return err_result(e);
	/* The command can't reach what lies outside this process's root. */
	if (plain.len < 2 || plain.p[0] != '/' || is_in_its_place(plain))
		return 0;
	added = VEC_PUSH(a, out, e);
	if (!added)
		return err_result(e);
	*added = plain;
	return 0;
}

int kernel_mounts_parse(struct arena *a, struct str mountinfo, kernel_mounts *out, struct err *e)
{
	*out = (kernel_mounts){ .items = NULL };
	while (mountinfo.len > 0) {
		struct str line = str_first(mountinfo, str_find(mountinfo, '\n'));

		if (take_line(a, line, out, e) < 0)
			return err_result(e);
		mountinfo = str_from(mountinfo, line.len + 1);
	}
	return 0;
}

enum { MOUNTINFO_MAX_BYTES = 64 << 20 };

int kernel_mounts_find(struct arena *a, kernel_mounts *out, struct err *e)
{
	scoped_buf text = BUF_INIT(MOUNTINFO_MAX_BYTES);
	char room[8192];
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	int os_error;

	if (fd < 0)
		return FAIL_SYS(e, errno, "can't read /proc/self/mountinfo");
	while ((n = read(fd, room, sizeof(room))) > 0)
		buf_add(&text, (struct str){ room, (size_t)n });
	os_error = errno;
	close(fd);
	if (n < 0)
		return FAIL_SYS(e, os_error, "can't read /proc/self/mountinfo");
	if (buf_check(&text, e) < 0)
		return err_result(e);
	return kernel_mounts_parse(a, buf_str(&text), out, e);
}
