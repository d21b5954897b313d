/* SPDX-License-Identifier: MIT */
/* Tests of os_fork_helper() (src/os/linux/child.c): what a helper keeps, and when it ends. */
#include "os/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "os/fd.h"
#include "test.h"

enum { SOON_MS = 10000 };

/* Everything that a helper can say of itself. */
struct seen {
	int open;	  /* descriptors */
	int named;	  /* of those, the ones that were named */
	int death_signal; /* that the kernel sends it when its parent ends */
	int dumpable;
	bool is_session_leader, is_at_root, all_blocked;
	char name[16];
};

struct task {
	int channel;
	const int *kept;
	size_t kept_count;
};

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void look(void *arg, int parent)
{
	const struct task *task = arg;
	struct seen seen = { .open = 0 };
	char here[8] = "";
	sigset_t blocked;

	for (int fd = 0; fd < 1024; fd++)
		seen.open += is_open(fd);
	for (size_t i = 0; i < task->kept_count; i++)
		seen.named += is_open(task->kept[i]);
	seen.named += is_open(parent);
	(void)prctl(PR_GET_PDEATHSIG, &seen.death_signal);
	(void)prctl(PR_GET_NAME, seen.name);
	seen.dumpable = prctl(PR_GET_DUMPABLE);
	seen.is_session_leader = getsid(0) == getpid();
	seen.is_at_root = getcwd(here, sizeof(here)) && strcmp(here, "/") == 0;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	seen.all_blocked = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGHUP);
	(void)send(task->channel, &seen, sizeof(seen), 0);
	_exit(0);
}

static bool run_helper(bool is_detached, const int *more, size_t count, struct seen *out)
{
	int ends[2], kept[4] = { -1, -1, -1, -1 }, pidfd = -1;
	struct task task = { .kept = kept, .kept_count = count + 1 };
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	task.channel = kept[0] = ends[1];
	for (size_t i = 0; i < count; i++)
		kept[i + 1] = more[i];
	(void)os_fork_helper(&(struct os_helper){ .name = "helper",
						  .is_detached = is_detached,
						  .run = look,
						  .arg = &task,
						  .kept = kept,
						  .kept_count = COUNT_OF(kept) },
			     &pidfd);
	(void)close(ends[1]);
	n = recv(ends[0], out, sizeof(*out), 0);
	(void)close(ends[0]);
	(void)os_reap(pidfd);
	(void)close(pidfd);
	return n == (ssize_t)sizeof(*out);
}

TEST(a_helper_has_no_descriptor_but_the_named_ones)
{
	/* Unsorted, with one that is given twice, and with gaps between them. */
	int low = dup(0), between = dup(0), high = fcntl(0, F_DUPFD, 700);
	struct seen seen;

	REQUIRE(low >= 0 && between >= 0 && high >= 700);
	REQUIRE(run_helper(false, (int[]){ high, low, high }, 3, &seen));
	/* `low`, `high`, the channel, and the pidfd of its parent. */
	CHECK_INT(seen.open, 4);
	CHECK_INT(seen.named, 5);
	CHECK_STR(seen.name, "helper");
	CHECK_INT(seen.death_signal, SIGCONT);
	CHECK(seen.all_blocked);
	CHECK(!seen.is_session_leader);
	fd_done(&low);
	fd_done(&between);
	fd_done(&high);
}

TEST(a_detached_helper_leaves_the_session_and_hides_its_memory)
{
	struct seen seen;

	REQUIRE(run_helper(true, NULL, 0, &seen));
	CHECK(seen.is_session_leader);
	CHECK(seen.is_at_root);
	CHECK_INT(seen.dumpable, 0);
	CHECK_INT(seen.death_signal, SIGCONT);
	CHECK_INT(seen.open, 2);
}

/* The call is refused from now on; prctl() only with `option`, which is then its first argument. */
static bool refuse(unsigned call, unsigned option)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, option, 0, call == SYS_prctl),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { COUNT_OF(code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(a_helper_that_can_t_be_detached_does_not_run)
{
	const unsigned calls[][2] = { { SYS_setsid, 0 }, { SYS_prctl, PR_SET_DUMPABLE } };

	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		struct seen seen;
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			if (!refuse(calls[i][0], calls[i][1]) || !run_helper(false, NULL, 0, &seen))
				_exit(2);
			_exit(run_helper(true, NULL, 0, &seen));
		}
		REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
		CHECK_INT(status, 0);
	}
}

/* ---- The end of its parent ----------------------------------------------------------- */

static void wait_for_parent(void *arg, int parent)
{
	(void)os_await_parent(*(const int *)arg, parent);
	_exit(0);
}

struct family {
	int channel[2]; /* the helper's; this process has both ends open, so that it never ends */
	int life;	/* open in the helper alone, once its parent has ended */
	int told;
};

static _Noreturn void be_parent(const struct family *f)
{
	int kept[] = { f->channel[1], f->life }, pidfd = -1;
	pid_t helper = os_fork_helper(&(struct os_helper){ .run = wait_for_parent,
							   .arg = &kept[0],
							   .kept = kept,
							   .kept_count = COUNT_OF(kept) },
				      &pidfd);

	(void)send(f->told, &helper, sizeof(helper), 0);
	for (;;)
		(void)pause();
}

/* Kills the parent, its helper being stopped or not, and says whether the helper ends, too. */
static bool ends_with_parent(bool is_stopped)
{
	int life[2], told[2];
	struct family f;
	struct pollfd gone = { .events = POLLIN };
	pid_t parent, helper = -1;
	bool has_ended;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f.channel) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, told) < 0 ||
	    pipe2(life, O_CLOEXEC) < 0)
		return false;
	f.life = life[1];
	f.told = told[1];
	parent = fork();
	if (parent == 0)
		be_parent(&f);
	(void)close(life[1]);
	if (recv(told[0], &helper, sizeof(helper), 0) != (ssize_t)sizeof(helper) || helper <= 0)
		return false;
	gone.fd = life[0];
	/* With its parent alive, it waits. */
	has_ended = poll(&gone, 1, 50) > 0;
	if (is_stopped)
		(void)kill(helper, SIGSTOP);
	(void)kill(parent, SIGKILL);
	(void)waitpid(parent, NULL, 0);
	has_ended = !has_ended && poll(&gone, 1, SOON_MS) > 0;
	if (!has_ended)
		(void)kill(helper, SIGKILL);
	(void)close(life[0]);
	for (int i = 0; i < 2; i++) {
		(void)close(told[i]);
		(void)close(f.channel[i]);
	}
	return has_ended;
}

TEST(a_helper_ends_with_its_parent_even_if_others_hold_the_channel)
{
	CHECK(ends_with_parent(false));
}

TEST(a_stopped_helper_ends_with_its_parent)
{
	CHECK(ends_with_parent(true));
}
