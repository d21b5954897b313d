/* SPDX-License-Identifier: MIT */
/*
 * What the kernel alone takes for what Cordon does, without a policy, without judging or
 * saying anything: who does it by these calls can't be faster than this.
 *
 *	floor masks COMMAND [FILE...]	in namespaces of its own each FILE is covered
 *	floor landlock COMMAND		a ruleset, a filter with a listener, and no more
 *	floor nothing			to be started and to end
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static int must(long r, const char *what)
{
	if (r < 0)
		die(what);
	return (int)r;
}

static int status_of(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0), "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static _Noreturn void run(char *command)
{
	char *const argv[] = { command, NULL };

	execv(command, argv);
	die(command);
}

/* ---- Masks ------------------------------------------------------------------------ */

static void write_file(const char *path, const char *text)
{
	int fd = must(open(path, O_WRONLY | O_CLOEXEC), path);

	must(write(fd, text, strlen(text)), path);
	close(fd);
}

static void map_identities(pid_t pid)
{
	char path[64], text[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
	write_file(path, "deny");
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	(void)snprintf(text, sizeof(text), "%u %u 1", geteuid(), geteuid());
	write_file(path, text);
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	(void)snprintf(text, sizeof(text), "%u %u 1", getegid(), getegid());
	write_file(path, text);
}

/* A file system with the empty file that covers all others. */
static int make_cover(void)
{
	int context = must(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), "fsopen");
	int top;

	must(syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0), "fsconfig");
	top = must(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0), "fsmount");
	close(context);
	close(must(openat(top, "cover", O_CREAT | O_CLOEXEC, 0), "cover"));
	return top;
}

/* As it has to be: what is covered is what was meant, and is looked at first. */
static void cover_file(int top, const char *path)
{
	int place = must(open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), path);
	int cover = must(syscall(SYS_open_tree, top, "cover", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
			 "open_tree");
	struct stat st;

	must(fstat(place, &st), path);
	must(syscall(SYS_move_mount, cover, "", place, "",
		     MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
	     "move_mount");
	close(cover);
	close(place);
}

static _Noreturn void run_covered(int is_mapped, char *command, char **files)
{
	pid_t pid;
	char byte;
	int top;

	(void)!read(is_mapped, &byte, 1);
	must(syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE,
		     &(struct mount_attr){ .propagation = 1U << 18 /* MS_PRIVATE */ },
		     sizeof(struct mount_attr)),
	     "mount_setattr");
	top = make_cover();
	for (; *files; files++)
		cover_file(top, *files);
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
	pid = vfork();
	if (pid == 0)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): it leaves alone what is used here. */
		run(command);
	_exit(status_of(must(pid, "vfork")));
}

static int masks(char *command, char **files)
{
	unsigned long spaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
			       CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	int mapped[2];
	pid_t pid;

	must(pipe2(mapped, O_CLOEXEC), "pipe");
	pid = must(syscall(SYS_clone, spaces | SIGCHLD, 0, 0, 0, 0), "clone");
	if (pid == 0) {
		close(mapped[1]);
		run_covered(mapped[0], command, files);
	}
	map_identities(pid);
	close(mapped[1]);
	return status_of(pid);
}

/* ---- Landlock ----------------------------------------------------------------------- */

static void raise_wall(void)
{
	const struct landlock_ruleset_attr all = { .handled_access_fs = (1U << 13) - 1 };
	struct landlock_path_beneath_attr reads = { .allowed_access = LANDLOCK_ACCESS_FS_EXECUTE |
								      LANDLOCK_ACCESS_FS_READ_FILE |
								      LANDLOCK_ACCESS_FS_READ_DIR };
	int wall = must(syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0), "ruleset");

	reads.parent_fd = must(open("/", O_PATH | O_CLOEXEC), "/");
	must(syscall(SYS_landlock_add_rule, wall, LANDLOCK_RULE_PATH_BENEATH, &reads, 0), "rule");
	must(syscall(SYS_landlock_restrict_self, wall, 0), "restrict");
	close(reads.parent_fd);
	close(wall);
}

/*
 * A search, as a filter of ours is, with about as many instructions. The kernel looks which verdict
 * each number gets: with one test after the other that alone would take longer than all the rest.
 */
static unsigned short add_search(struct sock_filter *line, unsigned low, unsigned high)
{
	enum { STEP = 8 };
	unsigned middle = low + (high - low) / 2;
	unsigned short below, above;

	if (high - low <= STEP) {
		*line = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		return 1;
	}
	below = add_search(line + 1, low, middle);
	above = add_search(line + 1 + below, middle, high);
	*line = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, middle, (uint8_t)below, 0);
	return (unsigned short)(1 + below + above);
}

/* connect() is asked of who listens. */
static int add_filter(void)
{
	enum { NUMBERS = 512, ROOM = 256 };
	struct sock_filter lines[ROOM] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = { .len = 3, .filter = lines };

	program.len = (unsigned short)(program.len + add_search(lines + 3, 0, NUMBERS));
	return must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program),
		    "seccomp");
}

static int landlock(char *command)
{
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): as little as can be. */
	pid_t pid = vfork();

	if (pid != 0)
		return status_of(must(pid, "vfork"));
	/* NOLINTBEGIN(clang-analyzer-unix.Vfork): nothing of this is looked at afterwards. */
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
	raise_wall();
	close(add_filter());
	run(command);
	/* NOLINTEND(clang-analyzer-unix.Vfork) */
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "masks") == 0)
		return masks(argv[2], argv + 3);
	if (argc == 3 && strcmp(argv[1], "landlock") == 0)
		return landlock(argv[2]);
	if (argc == 2 && strcmp(argv[1], "nothing") == 0)
		return 0;
	(void)fputs(
		"usage: floor masks COMMAND [FILE...] | floor landlock COMMAND | floor nothing\n",
		stderr);
	return 2;
}
