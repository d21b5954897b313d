/* SPDX-License-Identifier: MIT */
/* PID 1 of a native sandbox, from the clone to the command. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/native.h"

_Noreturn void native_fail(const struct native_job *job, enum native_stage stage, size_t index)
{
	struct init_message message = {
		.kind = INIT_FAILED, .stage = stage, .index = (uint32_t)index, .os_error = errno
	};

	/* When nobody listens there is nobody left to tell. */
	send(job->channel, &message, sizeof(message), MSG_NOSIGNAL);
	_exit(1);
}

/* An own network has only the loopback interface, and it is down. */
static void make_network(struct native_job *job)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd;

	if (!job->has_own_network)
		return;
	if (unshare(CLONE_NEWNET) < 0)
		native_fail(job, NATIVE_NETWORK, 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		native_fail(job, NATIVE_NETWORK, 0);
	request.ifr_flags |= IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		native_fail(job, NATIVE_NETWORK, 1);
	close(fd);
	if (!job->asks_connect)
		return;
	/* The supervisor asks this one which sockets were bound in here. */
	job->unix_diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (job->unix_diag < 0)
		native_fail(job, NATIVE_NETWORK, 2);
}

/* With the descriptors that only this process can make. */
static void tell_ready(const struct native_job *job, int listener)
{
	struct init_message message = { .kind = INIT_READY };
	int fds[3] = { job->root };
	size_t count = 1;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(fds))];
	} control;
	struct iovec part = { .iov_base = &message, .iov_len = sizeof(message) };
	struct msghdr envelope = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room };

	/* The parent knows which are there: those that it asked for. */
	if (job->unix_diag >= 0)
		fds[count++] = job->unix_diag;
	if (listener >= 0)
		fds[count++] = listener;
	envelope.msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(fds[0]));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(fds[0]));
	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(fds[0]));
	if (sendmsg(job->channel, &envelope, MSG_NOSIGNAL) < 0)
		native_fail(job, NATIVE_TELL, 0);
}

/* ---- The command ------------------------------------------------------------ */

static _Noreturn void tell_exec_failed(const struct native_job *job, int os_error)
{
	struct init_message message = { .kind = INIT_EXEC_FAILED, .os_error = os_error };

	send(job->channel, &message, sizeof(message), MSG_NOSIGNAL);
	_exit(127);
}

/* The same file at the same place in it, but by the sandbox's own mount. */
static int open_again(const struct native_job *job, int i)
{
	int fd = open(job->reopened[i], O_RDONLY | O_NOFOLLOW | O_NOCTTY);
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct stat given, found;

	if (moved < 0 || fstat(job->stdio[i], &given) < 0 || fstat(moved, &found) < 0)
		return -1;
	if (given.st_dev != found.st_dev || given.st_ino != found.st_ino) {
		errno = ESTALE;
		return -1;
	}
	if (lseek(moved, lseek(job->stdio[i], 0, SEEK_CUR), SEEK_SET) < 0)
		return -1;
	return moved;
}

static _Noreturn void run_command(struct native_job *job)
{
	for (int i = 0; i < 3; i++) {
		if (!job->reopened[i])
			continue;
		job->stdio[i] = open_again(job, i);
		if (job->stdio[i] < 0)
			tell_exec_failed(job, errno);
	}
	/* Limits come last: what was set up may have needed more. */
	if (!command_place_stdio(job->stdio) ||
	    syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) < 0 ||
	    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &job->open_files, NULL) < 0 ||
	    !command_set_limits(&job->limits))
		tell_exec_failed(job, errno);
	command_reset_signals(job->signals);
	tell_exec_failed(job, command_execute(&job->words));
}

/* ---- PID 1 ------------------------------------------------------------------ */

/*
 * SECURITY: PID 1 is a copy of the caller and can be seen from inside. Nothing
 * may be read from it (not dumpable), and its words and environment, which the
 * kernel shows nevertheless, are wiped. Where they lie the parent finds out
 * while this process is busy.
 */
static void hide_self(const struct native_job *job)
{
	static const char shown[] = "cordon";
	struct init_order words;
	char *from;

	if (!init_wait(job->channel, INIT_WORDS, &words))
		_exit(1);
	from = (char *)(uintptr_t)words.from;
	memset(from, 0, words.bytes);
	/* What `ps` shows of it. */
	if (words.bytes >= sizeof(shown))
		memcpy(from, shown, sizeof(shown));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		native_fail(job, NATIVE_CAPABILITIES, 4);
	prctl(PR_SET_NAME, shown, 0, 0, 0);
}

/*
 * A network namespace takes the kernel about as long as all the mounts, so the
 * two are made at the same time. The second process shares everything with PID 1
 * but its namespaces of the network; errno, too, and so only what fails for good
 * may set it here while the other runs.
 */
static int mount_beside(void *arg)
{
	struct native_job *job = arg;
	struct init_order go;

	native_open_sources(job);
	if (!init_wait(job->channel, INIT_GO, &go))
		_exit(1);
	native_mount_all(job);
	return 0;
}

static void make_namespaces(struct native_job *job)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES;
	pid_t mounter = clone(mount_beside, job->stack + NATIVE_STACK_BYTES, flags, job);
	int status;

	if (mounter < 0)
		native_fail(job, NATIVE_FORK, 1);
	make_network(job);
	while (waitpid(mounter, &status, __WALL) < 0)
		if (errno != EINTR)
			native_fail(job, NATIVE_FORK, 2);
	/* It has said why. */
	if (status != 0)
		_exit(0);
}

/* All but `count` descriptors, which get sorted. */
static void close_all_but(int *kept, size_t count)
{
	unsigned from = 0;

	for (size_t i = 1; i < count; i++)
		for (size_t k = i; k > 0 && kept[k - 1] > kept[k]; k--) {
			int other = kept[k];

			kept[k] = kept[k - 1];
			kept[k - 1] = other;
		}
	for (size_t i = 0; i < count; i++) {
		unsigned fd = (unsigned)kept[i];

		if (fd > from)
			syscall(SYS_close_range, from, fd - 1, 0U);
		from = fd + 1;
	}
	syscall(SYS_close_range, from, ~0U, 0U);
}

/*
 * What else the caller has open is not for here; above all not the channels of
 * other runs that are being started by other threads, whose end would then not be
 * seen. For the set-up there may be many descriptors.
 */
static void tidy_descriptors(struct native_job *job)
{
	int kept[] = { job->stdio[0], job->stdio[1], job->stdio[2], job->channel };
	struct rlimit most;

	close_all_but(kept, COUNT_OF(kept));
	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &job->open_files) < 0)
		native_fail(job, NATIVE_LIMITS, 0);
	most = (struct rlimit){ job->open_files.rlim_max, job->open_files.rlim_max };
	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &most, NULL) < 0)
		native_fail(job, NATIVE_LIMITS, 1);
}

_Noreturn void native_child(struct native_job *job)
{
	mode_t mask;
	int listener;
	pid_t command;

	/* SECURITY: a group of its own: the command's kill(0) must not reach the caller's. */
	if (setpgid(0, 0) < 0)
		native_fail(job, NATIVE_GROUP, 0);
	tidy_descriptors(job);
	mask = umask(0);
	make_namespaces(job);
	umask(mask);
	if (chdir(job->directory) < 0)
		native_fail(job, NATIVE_DIRECTORY, 0);
	job->root = open("/", O_PATH | O_CLOEXEC);
	hide_self(job);
	native_drop_capabilities(job);
	native_lock_landlock(job);
	listener = native_lock_filter(job);
	tell_ready(job, listener);
	job->signals = command_watch_children();
	/* Nothing is copied that exec would throw away; PID 1 waits until then. */
	command = vfork();
	if (command < 0)
		native_fail(job, NATIVE_FORK, 0);
	if (command == 0)
		run_command(job);
	close_all_but(&job->channel, 1);
	init_run(job->channel, command);
}
