/* SPDX-License-Identifier: MIT */
/* Attempts at names and attributes of files: what a directory or an inode holds, not its bytes. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif
#define ATTRIBUTE "user.cordon"

static int try_stat(char **a)
{
	struct stat st;

	if (lstat(a[0], &st) < 0)
		return -errno;
	say("%o %u", st.st_mode & 07777, (unsigned)(st.st_mode & S_IFMT) >> 12);
	return 0;
}

static int try_list(char **a)
{
	DIR *dir = opendir(a[0]);
	struct dirent *entry;

	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			say("%s ", entry->d_name);
	return outcome(closedir(dir));
}

/*
 * All below it that may be written, by what access() says: nothing is opened.
 * Processes come and go, and what they may write of themselves is theirs.
 */
static void tell_writable(const char *path, int depth)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char below[4096];

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		bool is_process = strcmp(path, "/proc") == 0 && entry->d_name[0] >= '0' &&
				  entry->d_name[0] <= '9';

		if (entry->d_name[0] == '.' || entry->d_type == DT_LNK || is_process)
			continue;
		(void)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (faccessat(AT_FDCWD, below, W_OK, AT_EACCESS) == 0)
			say("%s ", below);
		if (entry->d_type == DT_DIR && depth < 6)
			tell_writable(below, depth + 1);
	}
	(void)closedir(dir);
}

static int try_writable(char **a)
{
	if (access(a[0], W_OK) == 0)
		say("%s ", a[0]);
	tell_writable(a[0], 0);
	return 0;
}

/* Writes down what descriptors 0, 1 and 2 are: for when none of them can be printed to. */
static int try_stdio(char **a)
{
	int fd = must_open(a[0], O_WRONLY | O_CREAT);

	for (int i = 0; i < 3; i++) {
		char path[64], target[256] = "closed";
		ssize_t length;

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		length = readlink(path, target, sizeof(target) - 1);
		if (length > 0)
			target[length] = '\0';
		if (dprintf(fd, "%s\n", target) < 0)
			return -errno;
	}
	return 0;
}

static int try_readlink(char **a)
{
	char target[4096];
	ssize_t length = readlink(a[0], target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	target[length] = '\0';
	say("%s", target);
	return 0;
}

static int try_create(char **a)
{
	return outcome(open(a[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

/* Also through a link that leads nowhere yet. */
static int try_touch(char **a)
{
	return outcome(open(a[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

/* The mode is given in octal: what set-id bits come to. */
static int try_create_mode(char **a)
{
	struct stat st;
	int fd = open(a[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)number(a[1]));

	if (fd < 0)
		return -errno;
	(void)fstat(fd, &st);
	say("%o", st.st_mode & 07777);
	return 0;
}

/* O_TMPFILE has no O_CREAT in it, and takes a mode all the same. */
static int try_tmpfile_mode(char **a)
{
	int fd = open(a[0], O_WRONLY | O_TMPFILE | O_CLOEXEC, (mode_t)number(a[2]));
	char path[64];

	if (fd < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return outcome(linkat(AT_FDCWD, path, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW));
}

/* The calls themselves, old ones too, with bits in the mode that the kernel does not look at. */
static int try_raw_mode(char **a)
{
	uint64_t mode = (uint64_t)number(a[2]) | 0xdeadbeef00000000U;

	if (strcmp(a[0], "openat") == 0)
		return outcome(syscall(SYS_openat, AT_FDCWD, a[1], O_WRONLY | O_CREAT, mode));
	if (strcmp(a[0], "fchmodat") == 0)
		return outcome(syscall(SYS_fchmodat, AT_FDCWD, a[1], mode));
	if (strcmp(a[0], "mknodat") == 0)
		return outcome(syscall(SYS_mknodat, AT_FDCWD, a[1], mode | S_IFREG, 0));
#ifdef SYS_creat
	if (strcmp(a[0], "open") == 0)
		return outcome(syscall(SYS_open, a[1], O_WRONLY | O_CREAT, mode));
	if (strcmp(a[0], "creat") == 0)
		return outcome(syscall(SYS_creat, a[1], mode));
	if (strcmp(a[0], "mknod") == 0)
		return outcome(syscall(SYS_mknod, a[1], mode | S_IFREG, 0));
	if (strcmp(a[0], "chmod") == 0)
		return outcome(syscall(SYS_chmod, a[1], mode));
#endif
	return -ENOSYS;
}

static int try_openat2_create(char **a)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT | O_EXCL, .mode = 0644 };

	return outcome(syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof(how)));
}

static int try_openat2_mode(char **a)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT | O_EXCL };

	how.mode = (uint64_t)number(a[1]);
	return outcome(syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof(how)));
}

/* By a descriptor of the directory, so that no path is looked up but a name. */
static int try_create_at(char **a)
{
	int dir = must_open(a[0], O_PATH | O_DIRECTORY);

	return outcome(openat(dir, a[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

static int try_tmpfile(char **a)
{
	int fd = must_open(a[0], O_WRONLY | O_TMPFILE);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return outcome(linkat(AT_FDCWD, path, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW));
}

static int try_rename(char **a)
{
	return outcome(rename(a[0], a[1]));
}

static int try_rename_flags(const char *from, const char *to, unsigned flags)
{
	return outcome(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
}

static int try_exchange(char **a)
{
	return try_rename_flags(a[0], a[1], RENAME_EXCHANGE);
}

/* For a second process: exchanges them until the probe is killed. */
static int try_exchange_for_ever(char **a)
{
	pid_t parent = getppid();

	while (getppid() == parent)
		(void)syscall(SYS_renameat2, AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE);
	return 0;
}

static int try_noreplace(char **a)
{
	return try_rename_flags(a[0], a[1], RENAME_NOREPLACE);
}

static int try_whiteout(char **a)
{
	return try_rename_flags(a[0], a[1], RENAME_WHITEOUT);
}

static int try_link(char **a)
{
	return outcome(link(a[0], a[1]));
}

static int try_link_fd(char **a)
{
	int fd = must_open(a[0], O_PATH);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return outcome(linkat(AT_FDCWD, path, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW));
}

static int try_symlink(char **a)
{
	return outcome(symlink(a[0], a[1]));
}

/* Replaces what stands there by a link, as `ln -sfn` does. */
static int try_symlink_over(char **a)
{
	char temporary[4096];

	(void)snprintf(temporary, sizeof(temporary), "%s.new", a[1]);
	if (symlink(a[0], temporary) < 0)
		return -errno;
	return outcome(rename(temporary, a[1]));
}

static int try_unlink(char **a)
{
	return outcome(unlink(a[0]));
}

static int try_mkdir(char **a)
{
	return outcome(mkdir(a[0], 0755));
}

static int try_mkdir_mode(char **a)
{
	struct stat st;

	if (mkdir(a[0], (mode_t)number(a[1])) < 0 || lstat(a[0], &st) < 0)
		return -errno;
	say("%o", st.st_mode & 07777);
	return 0;
}

static int try_rmdir(char **a)
{
	return outcome(rmdir(a[0]));
}

static int try_mkfifo(char **a)
{
	return outcome(mkfifo(a[0], 0644));
}

static int try_mknod(char **a)
{
	static const mode_t kinds[] = { S_IFREG, S_IFCHR, S_IFBLK };
	mode_t kind = strcmp(a[1], "c") == 0   ? kinds[1]
		      : strcmp(a[1], "b") == 0 ? kinds[2]
					       : kinds[0];

	return outcome(mknod(a[0], kind | 0600, ((dev_t)number(a[2]) << 8) | (dev_t)number(a[3])));
}

static int try_mknod_mode(char **a)
{
	struct stat st;

	if (mknod(a[0], S_IFREG | (mode_t)number(a[1]), 0) < 0 || lstat(a[0], &st) < 0)
		return -errno;
	say("%o", st.st_mode & 07777);
	return 0;
}

/* A socket's name is a file as well. */
static int try_bind_name(char **a)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(a[0]) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, a[0], strlen(a[0]) + 1);
	return fd < 0 ? -errno : outcome(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

static int try_chmod(char **a)
{
	return outcome(chmod(a[0], (mode_t)number(a[1])));
}

/* A descriptor for reading is enough for fchmod(). */
static int try_fchmod(char **a)
{
	return outcome(fchmod(must_open(a[0], O_RDONLY), (mode_t)number(a[1])));
}

static int try_fchmodat(char **a)
{
	return outcome(syscall(SYS_fchmodat, AT_FDCWD, a[0], (mode_t)number(a[1])));
}

static int try_fchmodat2(char **a)
{
	return outcome(
		syscall(SYS_fchmodat2, AT_FDCWD, a[0], (mode_t)number(a[1]), AT_SYMLINK_NOFOLLOW));
}

static int try_chmod_fd(char **a)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", must_open(a[0], O_PATH));
	return outcome(chmod(path, (mode_t)number(a[1])));
}

static int try_chown(char **a)
{
	return outcome(chown(a[0], (uid_t)-1, getgid()));
}

static int try_lchown(char **a)
{
	return outcome(lchown(a[0], (uid_t)-1, getgid()));
}

static int try_fchown(char **a)
{
	return outcome(fchown(must_open(a[0], O_RDONLY), (uid_t)-1, getgid()));
}

static int try_fchownat(char **a)
{
	return outcome(fchownat(must_open(a[0], O_PATH), "", (uid_t)-1, getgid(), AT_EMPTY_PATH));
}

static const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

static int try_utimes(char **a)
{
	return outcome(utimensat(AT_FDCWD, a[0], long_ago, 0));
}

static int try_utimes_link(char **a)
{
	return outcome(utimensat(AT_FDCWD, a[0], long_ago, AT_SYMLINK_NOFOLLOW));
}

static int try_futimens(char **a)
{
	return outcome(futimens(must_open(a[0], O_RDONLY), long_ago));
}

static int try_setxattr(char **a)
{
	return outcome(setxattr(a[0], ATTRIBUTE, "evil", 4, 0));
}

static int try_fsetxattr(char **a)
{
	return outcome(fsetxattr(must_open(a[0], O_RDONLY), ATTRIBUTE, "evil", 4, 0));
}

static int try_setxattrat(char **a)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} args = { (uint64_t)(uintptr_t) "evil", 4, 0 };

	return outcome(syscall(SYS_setxattrat, AT_FDCWD, a[0], 0, ATTRIBUTE, &args, sizeof(args)));
}

static int try_removexattr(char **a)
{
	return outcome(removexattr(a[0], ATTRIBUTE));
}

/* chattr +d: any owner may, and a descriptor for reading is enough. */
static int try_setflags(char **a)
{
	int fd = must_open(a[0], O_RDONLY);
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return -errno;
	flags |= FS_NODUMP_FL;
	return outcome(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static int try_setattr(char **a)
{
	struct {
		uint64_t xflags;
		uint32_t extsize, nextents, projid, cowextsize;
	} attr = { .xflags = 0x80 /* FS_XFLAG_NODUMP */ };

	return outcome(syscall(SYS_file_setattr, AT_FDCWD, a[0], &attr, sizeof(attr), 0));
}

const struct attempt file_attempts[] = {
	{ "stat", 1, try_stat },
	{ "list", 1, try_list },
	{ "writable", 1, try_writable },
	{ "stdio", 1, try_stdio },
	{ "readlink", 1, try_readlink },
	{ "create", 1, try_create },
	{ "touch", 1, try_touch },
	{ "create-mode", 2, try_create_mode },
	{ "tmpfile-mode", 3, try_tmpfile_mode },
	{ "raw-mode", 3, try_raw_mode },
	{ "openat2-create", 1, try_openat2_create },
	{ "openat2-mode", 2, try_openat2_mode },
	{ "create-at", 2, try_create_at },
	{ "tmpfile", 2, try_tmpfile },
	{ "rename", 2, try_rename },
	{ "exchange", 2, try_exchange },
	{ "exchange-for-ever", 2, try_exchange_for_ever },
	{ "noreplace", 2, try_noreplace },
	{ "whiteout", 2, try_whiteout },
	{ "link", 2, try_link },
	{ "link-fd", 2, try_link_fd },
	{ "symlink", 2, try_symlink },
	{ "symlink-over", 2, try_symlink_over },
	{ "unlink", 1, try_unlink },
	{ "mkdir", 1, try_mkdir },
	{ "mkdir-mode", 2, try_mkdir_mode },
	{ "rmdir", 1, try_rmdir },
	{ "mkfifo", 1, try_mkfifo },
	{ "mknod", 4, try_mknod },
	{ "mknod-mode", 2, try_mknod_mode },
	{ "bind-name", 1, try_bind_name },
	{ "chmod", 2, try_chmod },
	{ "fchmod", 2, try_fchmod },
	{ "fchmodat", 2, try_fchmodat },
	{ "fchmodat2", 2, try_fchmodat2 },
	{ "chmod-fd", 2, try_chmod_fd },
	{ "chown", 1, try_chown },
	{ "lchown", 1, try_lchown },
	{ "fchown", 1, try_fchown },
	{ "fchownat", 1, try_fchownat },
	{ "utimes", 1, try_utimes },
	{ "utimes-link", 1, try_utimes_link },
	{ "futimens", 1, try_futimens },
	{ "setxattr", 1, try_setxattr },
	{ "fsetxattr", 1, try_fsetxattr },
	{ "setxattrat", 1, try_setxattrat },
	{ "removexattr", 1, try_removexattr },
	{ "setflags", 1, try_setflags },
	{ "setattr", 1, try_setattr },
	{ NULL, 0, NULL },
};
