/* SPDX-License-Identifier: MIT */
/*
 * What of a native sandbox needs no plan: its user namespace and its network.
 *
 * The kernel takes about as long for a network namespace as Cordon for everything
 * else, so it is begun before the policy is read, by a *forerunner*: a process that
 * shares this one's memory and descriptors, and that clones PID 1 when the job is
 * ready; as a sibling, so that it is this process's child all the same. Because
 * memory is shared, errno included, the forerunner calls the kernel and nothing
 * else, and never sets errno.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/begin.h"
#include "base/mem.h"
#include "os/child.h"
#include "os/linux/raw_call.h"

#ifdef __SANITIZE_ADDRESS__
/*
 * The address sanitizer asks for this before what does not return, and complains when the
 * stack is not the thread's first one, as in PID 1. Nothing here jumps over frames.
 */
void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
}
#endif

enum order { ORDER_NONE, ORDER_CLONE, ORDER_END };

/* The kernel says the last, whatever ended it. */
enum life { LIFE_OVER, LIFE_WORKS, LIFE_HAS_CLONED };

enum { STACK_BYTES = 64 << 10 };

struct beginning {
	bool has_network;
	pid_t parent;
	pid_t forerunner_pid;
	int forerunner;	 /* pidfd */
	uint32_t life;	 /* enum life */
	uint32_t orders; /* enum order */

	/* With ORDER_CLONE. */
	unsigned long namespaces;
	struct native_job *job;

	/* For the forerunner, which keeps nothing on its stack: sanitizers count on one a thread. */
	struct ifreq loopback;

	/* From the forerunner. */
	int os_error; /* of what failed first */
	int unix_diag;
	pid_t pid;
	int pidfd;

	_Alignas(16) char stack[STACK_BYTES];
};

static void set_word(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	raw_call(SYS_futex, (long)word, FUTEX_WAKE, 1, 0);
}

static void wait_while(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		raw_call(SYS_futex, (long)word, FUTEX_WAIT, value, 0);
}

/* ---- The forerunner ------------------------------------------------------------------ */

/* An own network has only the loopback interface, and it is down. */
static long make_network(struct beginning *b)
{
	long r = raw_call(SYS_unshare, CLONE_NEWNET, 0, 0, 0);
	long fd;

	if (r < 0)
		return r;
	fd = raw_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0);
	if (fd < 0)
		return fd;
	r = raw_call(SYS_ioctl, fd, SIOCSIFFLAGS, (long)&b->loopback, 0);
	raw_call(SYS_close, fd, 0, 0, 0);
	if (r < 0)
		return r;
	/* The supervisor asks this one which sockets were bound in here. */
	fd = raw_call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG, 0);
	b->unix_diag = fd < 0 ? -1 : (int)fd;
	return fd < 0 ? fd : 0;
}

static void clone_first(struct beginning *b)
{
	long flags = (long)(b->namespaces | CLONE_PARENT | CLONE_PIDFD);
	long pid;

	b->job->inner.unix_diag = b->unix_diag;
	pid = raw_call(SYS_clone, flags, 0, (long)&b->pidfd, 0);
	if (pid == 0)
		native_child(b->job);
	b->pid = pid < 0 ? -1 : (pid_t)pid;
	b->os_error = pid < 0 ? (int)-pid : 0;
}

static int run_forerunner(void *arg)
{
	struct beginning *b = arg;
	long r = raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);

	raw_call(SYS_prctl, PR_SET_NAME, (long)"cordon-begins", 0, 0);

	/* Who is gone already sends no signal. */
	if (raw_call(SYS_getppid, 0, 0, 0, 0) != b->parent)
		return 1;
	if (r == 0 && b->has_network)
		r = make_network(b);
	b->os_error = (int)-r;
	wait_while(&b->orders, ORDER_NONE);
	if (__atomic_load_n(&b->orders, __ATOMIC_ACQUIRE) == ORDER_CLONE) {
		if (r == 0)
			clone_first(b);
		set_word(&b->life, LIFE_HAS_CLONED);
		wait_while(&b->orders, ORDER_CLONE);
	}
	return 0;
}

/* ---- This process --------------------------------------------------------------------- */

struct beginning *native_begin(bool has_network)
{
	uint64_t all = UINT64_MAX, before = 0;
	struct err ignored = ERR_INIT;
	struct beginning *b = mem_new(sizeof(*b), &ignored);
	int flags = CLONE_VM | CLONE_FILES | CLONE_NEWUSER | CLONE_PIDFD | CLONE_CHILD_CLEARTID;

	if (!b)
		return NULL;
	b->has_network = has_network;
	b->loopback = (struct ifreq){ .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	b->parent = getpid();
	b->unix_diag = b->pidfd = -1;
	b->pid = -1;
	b->life = LIFE_WORKS;
	/* The raw call blocks those that the C library keeps to itself, too. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	b->forerunner_pid = clone(run_forerunner, b->stack + STACK_BYTES, flags, b, &b->forerunner,
				  NULL, &b->life);
	if (b->forerunner_pid < 0) {
		b->os_error = errno;
		b->life = LIFE_OVER;
		b->forerunner = -1;
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return b;
}

/*
 * One that has not the network that the job needs is no use. What is made here is
 * as good, only later.
 */
struct beginning *native_choose(struct beginning *b, bool has_network)
{
	if (b && b->has_network == has_network)
		return b;
	native_abandon(b);
	return native_begin(has_network);
}

pid_t native_forerunner(const struct beginning *b)
{
	return b->forerunner_pid;
}

void native_order(struct beginning *b, unsigned long namespaces, struct native_job *job)
{
	b->namespaces = namespaces;
	b->job = job;
	set_word(&b->orders, ORDER_CLONE);
}

int native_await(struct beginning *b, pid_t *pid, int *pidfd)
{
	wait_while(&b->life, LIFE_WORKS);
	if (b->pid < 0 && b->os_error == 0)
		b->os_error = ESRCH; /* it was killed */
	*pid = b->pid;
	/* A clone that fails late has already told the number of one that is closed again. */
	*pidfd = b->pid < 0 ? -1 : b->pidfd;
	return b->os_error;
}

void native_abandon(struct beginning *b)
{
	if (!b)
		return;
	set_word(&b->orders, ORDER_END);
	wait_while(&b->life, LIFE_WORKS);
	wait_while(&b->life, LIFE_HAS_CLONED);
	if (b->forerunner >= 0) {
		os_reap(b->forerunner);
		close(b->forerunner);
	}
	/* PID 1 has its own. */
	if (b->unix_diag >= 0)
		close(b->unix_diag);
	mem_free(b);
}
