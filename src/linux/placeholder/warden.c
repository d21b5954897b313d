/* SPDX-License-Identifier: MIT */
/*
 * See warden.h. The warden follows orders from the channel. If the channel ends, the other process
 * was killed: at an orderly end that process removes the placeholders itself and kills the warden.
 *
 * SECURITY: if the warden has no pidfd then, the sandbox was still being made. It ends by itself,
 * because its own channel has ended, too. The warden waits a moment for that; if it removed the
 * placeholders at once, the sandbox could create what they kept it from.
 */
#include "linux/placeholder/warden.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

enum warden_order_kind {
	WARDEN_LOCKS = 1, /* the locks of the placeholders in `numbers` come with it */
	WARDEN_WATCH,	  /* the pidfd of the sandbox comes with it */
};

enum { ORDER_MAX_FDS = FD_PASS_MAX };

struct order {
	uint32_t kind;
	uint32_t count; /* of descriptors */
	uint32_t numbers[ORDER_MAX_FDS];
};

enum {
	DEATH_MS = 5000, /* for a killed sandbox; what is left then hangs in the kernel */
	UNSEEN_MS = 50,	 /* for a sandbox of which the warden has no pidfd */
};

/* Waits for the process to end; without a pidfd, just waits. */
static bool has_ended(int pidfd, int wait_ms)
{
	struct pollfd poll = { .fd = pidfd, .events = POLLIN };
	struct timespec time = { .tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L };

	return syscall(SYS_ppoll, &poll, 1, &time, NULL, 0) == 1;
}

/* ---- The warden itself ---------------------------------------------------------- */

/* What the warden knows of the run. */
struct wardship {
	struct placeholders *held;
	int sandbox; /* pidfd, or -1 */
};

static void follow(struct wardship *w, const struct order *order, const int *fds)
{
	if (order->kind == WARDEN_WATCH && order->count == 1)
		w->sandbox = fds[0];
	for (size_t i = 0; order->kind == WARDEN_LOCKS && i < order->count; i++)
		if (order->numbers[i] < w->held->count)
			w->held->items[order->numbers[i]].fd = fds[i];
}

static _Noreturn void end(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

/*
 * False at the end of the channel. SECURITY: without the locks, or the sandbox, of an order that is
 * not whole this process could not clean up. The other one notices its end, and ends the run.
 */
static bool follow_next(struct wardship *w, int channel)
{
	int fds[ORDER_MAX_FDS];
	size_t count = ORDER_MAX_FDS;
	struct order order;
	ssize_t n = fd_pass_receive(channel, &order, sizeof(order), fds, &count);

	if (n == 0 || n == -ECONNRESET)
		return false;
	if (n != (ssize_t)sizeof(order) || order.count != count)
		end(1);
	follow(w, &order, fds);
	return true;
}

static _Noreturn void warden_run(int channel, struct placeholders *held, int parent)
{
	struct wardship w = { .held = held, .sandbox = -1 };

	while (os_await_parent(channel, parent) && follow_next(&w, channel))
		;
	if (w.sandbox >= 0) {
		os_kill(w.sandbox, SIGKILL);
		(void)has_ended(w.sandbox, DEATH_MS);
	} else {
		(void)has_ended(-1, UNSEEN_MS);
	}
	placeholders_release(held);
	placeholders_reclaim(held);
	end(0);
}

/* ---- In the process that starts it ------------------------------------------------ */

struct job {
	int channel;
	struct placeholders *held;
};

static void run_job(void *arg, int parent)
{
	const struct job *job = arg;

	warden_run(job->channel, job->held, parent);
}

static pid_t fork_warden(int channel, struct placeholders *held, int *pidfd)
{
	struct job job = { .channel = channel, .held = held };
	/* It gets the locks by the channel: none of them is taken yet. */
	pid_t pid = os_fork_helper(&(struct os_helper){ .name = "cordon-warden",
							.is_detached = true,
							.run = run_job,
							.arg = &job,
							.kept = &channel,
							.kept_count = 1 },
				   pidfd);

	/* Before it gets to leave the session: a signal to this process's group must not hit it. */
	if (pid > 0)
		(void)setpgid(pid, pid);
	return pid;
}

static int start_warden(struct warden *w, struct placeholders *held, struct err *e)
{
	struct warden started = WARDEN_NONE;
	int ends[2];
	int r = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the warden");
	started.channel = ends[0];
	started.pid = fork_warden(ends[1], held, &started.pidfd);
	if (started.pid < 0)
		r = FAIL_START(e, errno, "can't start the warden");
	(void)close(ends[1]);
	if (r < 0)
		(void)close(ends[0]);
	else
		*w = started;
	return r;
}

static int send_order(const struct warden *w, struct order *order, const int *fds, struct err *e)
{
	int r = fd_pass_send(w->channel, order, sizeof(*order), fds, order->count, 0);

	return r < 0 ? FAIL_SYS(e, -r, "can't reach the warden") : 0;
}

/* Gives the warden copies of the locks: they must outlive this process until the sandbox ends. */
static int share_locks(const struct warden *w, const struct placeholders *held, struct err *e)
{
	struct order order = { .kind = WARDEN_LOCKS };
	int fds[ORDER_MAX_FDS];

	for (size_t i = 0; i < held->count; i++) {
		if (held->items[i].fd >= 0) {
			fds[order.count] = held->items[i].fd;
			order.numbers[order.count++] = (uint32_t)i;
		}
		if (order.count == 0 || (order.count < ORDER_MAX_FDS && i + 1 < held->count))
			continue;
		if (send_order(w, &order, fds, e) < 0)
			return err_result(e);
		order.count = 0;
	}
	return 0;
}

int warden_hold(struct warden *w, struct arena *a, struct placeholder_list wanted,
		struct placeholders *out, struct err *e)
{
	struct warden started = WARDEN_NONE;
	struct placeholders held;

	if (placeholders_prepare(a, wanted, &held, e) < 0 ||
	    (held.count > 0 && start_warden(&started, &held, e) < 0))
		return err_result(e);
	if (placeholders_take(&held, e) < 0 || share_locks(&started, &held, e) < 0) {
		warden_finish(&started, &held);
		return err_result(e);
	}
	*w = started;
	*out = held;
	return 0;
}

int warden_watch(struct warden *w, int sandbox_pidfd, struct err *e)
{
	struct order order = { .kind = WARDEN_WATCH, .count = 1 };

	return w->pid == 0 ? 0 : send_order(w, &order, &sandbox_pidfd, e);
}

/* The last close frees a removed file; the kernel does that later (os/deferred_close.h). */
static void shed_places(struct warden *w, const struct placeholders *held)
{
	int fds[ORDER_MAX_FDS - 1];
	size_t count = 0;

	for (size_t i = 0; i < held->count; i++) {
		if (held->items[i].fd >= 0)
			fds[count++] = held->items[i].fd;
		if (count < COUNT_OF(fds) && i + 1 < held->count)
			continue;
		(void)deferred_close_add(&w->deferred, fds, count);
		count = 0;
	}
}

void warden_release(struct warden *w, struct placeholders *held)
{
	shed_places(w, held);
	/* If this process is killed here, the warden does the rest. */
	placeholders_release(held);
	if (w->pid != 0)
		os_kill(w->pidfd, SIGKILL);
}

void warden_finish(struct warden *w, struct placeholders *held)
{
	warden_release(w, held);
	if (w->pid == 0)
		return;
	os_reap(w->pidfd);
	(void)deferred_close_finish(&w->deferred);
	fd_close(&w->pidfd);
	fd_close(&w->channel);
	*w = (struct warden)WARDEN_NONE;
}
