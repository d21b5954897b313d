/* SPDX-License-Identifier: MIT */
/* See cli/system.h. */
#include "cli/system.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/posix/signal_fd.h"

const int step_ms = 10;
const bool has_backslash_paths = false;

/* Where it ends is a SIGSEGV, which looks like the command's. */
static bool has_stack(void)
{
	enum { NEEDED_KIB = 256 };
	struct rlimit limit;
	char text[200];

	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= NEEDED_KIB * 1024)
		return true;
	(void)snprintf(text, sizeof(text),
		       "the stack may have %llu KiB only, and cordon needs %d: raise ulimit -s; "
		       "for the command alone a shell in the sandbox can lower it",
		       (unsigned long long)limit.rlim_cur / 1024, NEEDED_KIB);
	print_error(text);
	return false;
}

bool system_begin(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return has_stack();
}

bool fill_streams(void)
{
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
		/* Those before it are open, so it is the one that it gets. */
		if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream)
			return false;
	return true;
}

bool is_terminal(int fd)
{
	return isatty(fd);
}

const char *end_of_line(int fd)
{
	struct termios attributes;

	return tcgetattr(fd, &attributes) == 0 && !(attributes.c_oflag & OPOST) ? "\r\n" : "\n";
}

bool is_regular_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool is_in_directory(const char *directory, const char *name)
{
	struct stat st;
	int dir = open(directory, open_directory_flags);
	int found;

	if (dir < 0)
		return false;
	found = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
	(void)close(dir);
	return found == 0;
}

char *new_pages(size_t bytes)
{
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}
