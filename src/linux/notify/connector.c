/* SPDX-License-Identifier: MIT */
/*
 * The process that connects, and the two ends of its channel. In the process the
 * raw calls are used where the C library's could cancel a thread.
 */
#include "linux/notify/connector.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

enum {
	MAX_FDS = 2,
	INTERRUPT = SIGUSR1,
	MAX_ERRNO_TOLD = 511, /* the kernel uses greater numbers only internally */
};

struct answer {
	uint64_t id;
	int64_t result;
	uint64_t source_size;
	uint64_t is_refused;
	struct sockaddr_storage source;
};

/* ---- In the process ------------------------------------------------------------- */

static _Noreturn void end(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

/* Since the order came. A call that any other signal has interrupted is made again. */
static volatile sig_atomic_t is_interrupted;

/* For the signal handler. Only this process sets it: the one that forked it has another copy. */
static int own_channel = -1;

/* That it is handled at all is what interrupts connect(). */
static void on_signal(int number)
{
	struct pollfd channel = { .fd = own_channel };
	struct timespec now = { .tv_sec = 0 };
	int saved = errno;

	if (number == INTERRUPT)
		is_interrupted = 1;
	if (syscall(SYS_ppoll, &channel, 1, &now, NULL, 0) == 1 && channel.revents & POLLHUP)
		end(0);
	errno = saved;
}

/* SIGIO: something came, or the other end is gone. */
static bool listen_to_signals(int channel)
{
	const struct sigaction action = { .sa_handler = on_signal };
	uint64_t blocked = ~(UINT64_C(1) << (SIGIO - 1) | UINT64_C(1) << (INTERRUPT - 1));

	own_channel = channel;
	return sigaction(SIGIO, &action, NULL) == 0 && sigaction(INTERRUPT, &action, NULL) == 0 &&
	       fcntl(channel, F_SETOWN, getpid()) == 0 && fcntl(channel, F_SETFL, O_ASYNC) == 0 &&
	       syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof(blocked)) == 0;
}

static bool drop_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { .effective = 0 }, { .effective = 0 } };

	return syscall(SYS_capset, &header, none) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* How many descriptors came with the order; 0 at the end of the channel. */
static size_t receive_order(int channel, int parent, struct connector_order *order,
			    int fds[MAX_FDS])
{
	size_t count = MAX_FDS;
	ssize_t n = 0;

	if (os_await_parent(channel, parent))
		n = fd_pass_receive(channel, order, sizeof(*order), fds, &count);
	return n == (ssize_t)sizeof(*order) ? count : 0;
}

static long connect_by(int socket, const void *address, size_t size)
{
	long r;

	/* SIGIO may come as late as this, for the order itself. */
	do
		r = syscall(SYS_connect, socket, address, size) < 0 ? -errno : 0;
	while (r == -EINTR && !is_interrupted);
	return r;
}

/* By descriptor: what was judged is what is connected, however long its path. */
static long connect_file(int socket, int target)
{
	static const char dir[] = "/proc/self/fd/";
	struct sockaddr_un path = { .sun_family = AF_UNIX };

	if (target < 0 || target > 9)
		return -EPERM; /* this process never has so many open */
	memcpy(path.sun_path, dir, sizeof(dir) - 1);
	path.sun_path[sizeof(dir) - 1] = (char)('0' + target);
	return connect_by(socket, &path, sizeof(path));
}

static long carry_out(const struct connector_order *order, const int *fds, size_t count)
{
	if (order->verdict < 0)
		return order->verdict;
	if (count != (order->has_target ? 2 : 1))
		return -EPERM;
	return order->has_target ? connect_file(fds[0], fds[1])
				 : connect_by(fds[0], &order->address, order->size);
}

/* Where the kernel connects from it knows from the call on. */
static void find_source(const struct connector_order *order, int socket, struct answer *answer)
{
	socklen_t size = sizeof(answer->source);

	if (!order->wants_source || (answer->result != 0 && answer->result != -EINPROGRESS) ||
	    syscall(SYS_getsockname, socket, &answer->source, &size) < 0 ||
	    size > sizeof(answer->source))
		return;
	answer->source_size = size;
}

/* Loopback answers before a connect that does not wait returns, which says nothing of it. */
static bool is_refused(int socket, int64_t result)
{
	struct tcp_info info = { .tcpi_state = TCP_SYN_SENT };
	socklen_t size = sizeof(info);

	if (result != -EINPROGRESS)
		return result == -ECONNREFUSED;
	return syscall(SYS_getsockopt, socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
	       info.tcpi_state == TCP_CLOSE;
}

static bool send_answer(int channel, const struct answer *answer)
{
	ssize_t n;

	do
		n = fd_pass_tell(channel, answer, sizeof(*answer), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*answer);
}

static void run(void *arg, int parent)
{
	int channel = *(const int *)arg;
	struct connector_order order;
	int fds[MAX_FDS];
	size_t count;

	if (!drop_rights() || !listen_to_signals(channel))
		end(1);
	while ((count = receive_order(channel, parent, &order, fds)) > 0) {
		struct answer answer = { .id = order.id };

		is_interrupted = 0;
		answer.result = carry_out(&order, fds, count);
		find_source(&order, fds[0], &answer);
		answer.is_refused = is_refused(fds[0], answer.result);
		/* Before the answer: the last close of a socket may wait, as the call would. */
		for (size_t i = 0; i < count; i++)
			fd_done(&fds[i]);
		if (!send_answer(channel, &answer))
			break;
	}
	end(0);
}

/* ---- In this process ------------------------------------------------------------- */

int connector_start(struct connector *c)
{
	struct connector started = CONNECTOR_NONE;
	int ends[2], r = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	if (os_fork_helper(&(struct os_helper){ .name = "cordon-connect",
						.is_detached = true,
						.run = run,
						.arg = &ends[1],
						.kept = &ends[1],
						.kept_count = 1 },
			   &started.pidfd) < 0)
		r = -errno;
	(void)close(ends[1]);
	if (r < 0) {
		(void)close(ends[0]);
		return r;
	}
	started.channel = ends[0];
	*c = started;
	return 0;
}

int connector_send(const struct connector *c, const struct connector_order *order, int socket,
		   int target)
{
	const int fds[MAX_FDS] = { socket, target };
	struct connector_order copy = *order;

	return fd_pass_send(c->channel, &copy, sizeof(copy), fds, order->has_target ? 2 : 1,
			    MSG_DONTWAIT);
}

bool connector_receive(const struct connector *c, uint64_t id, struct connector_result *out)
{
	struct answer answer;
	ssize_t n;

	do
		n = recv(c->channel, &answer, sizeof(answer), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	/* SECURITY: nothing that it says may mean more than the result of its own call. */
	if (n != (ssize_t)sizeof(answer) || answer.id != id || answer.result > 0 ||
	    answer.result < -MAX_ERRNO_TOLD || answer.source_size > sizeof(answer.source))
		return false;
	*out = (struct connector_result){ .result = (int)answer.result,
					  .is_refused = answer.is_refused != 0,
					  .source = answer.source,
					  .source_size = (uint32_t)answer.source_size };
	return true;
}

void connector_interrupt(const struct connector *c)
{
	os_kill(c->pidfd, INTERRUPT);
}

void connector_kill(struct connector *c)
{
	os_kill(c->pidfd, SIGKILL);
	fd_close(&c->channel);
}

void connector_reap(struct connector *c)
{
	if (c->pidfd >= 0)
		os_reap(c->pidfd);
	fd_close(&c->pidfd);
}

/* It has copies of all descriptors of this process, so it must not outlive the thread that forked it. */
static void keep_open(void *arg)
{
	const pid_t *host = arg;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		end(1);
	while (getppid() == *host)
		(void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
	end(0);
}

void connector_close_all(const int *fds, size_t count)
{
	struct connector keeper = CONNECTOR_NONE;
	pid_t host = getpid();
	bool is_kept = count > 0 && os_fork(0, keep_open, &host, &keeper.pidfd) >= 0;

	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	if (!is_kept)
		return;
	connector_kill(&keeper);
	connector_reap(&keeper);
}
