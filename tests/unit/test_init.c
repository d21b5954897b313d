/* SPDX-License-Identifier: MIT */
/* Tests of src/linux/init/init.c: what PID 1 waits for, and a terminal that it shares. */
#include "linux/init/init.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct world {
	int channel[2]; /* both ends are held here, as by a process that the host has forked */
	pid_t host;
	int pidfd;
};

static void world_init(struct world *w)
{
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, w->channel) == 0);
	w->host = fork();
	if (w->host == 0) {
		(void)pause();
		_exit(0);
	}
	REQUIRE(w->host > 0);
	w->pidfd = (int)syscall(SYS_pidfd_open, w->host, 0);
	REQUIRE(w->pidfd >= 0);
}

static void kill_host(struct world *w)
{
	REQUIRE(kill(w->host, SIGKILL) == 0);
	REQUIRE(waitpid(w->host, NULL, 0) == w->host);
	w->host = 0;
}

static void order(const struct world *w, enum init_order_kind kind)
{
	const struct init_order order = { .kind = kind, .value = 7 };

	REQUIRE(send(w->channel[0], &order, sizeof(order), 0) == (ssize_t)sizeof(order));
}

static void world_done(struct world *w)
{
	if (w->host)
		kill_host(w);
	(void)close(w->pidfd);
	(void)close(w->channel[0]);
	(void)close(w->channel[1]);
}

TEST(an_order_is_waited_for_and_another_is_none)
{
	struct init_order got;
	struct world w;

	world_init(&w);
	order(&w, INIT_GO);
	CHECK(init_wait(w.channel[1], w.pidfd, INIT_GO, &got) && got.value == 7);
	order(&w, INIT_KILL);
	CHECK(!init_wait(w.channel[1], w.pidfd, INIT_GO, &got));
	world_done(&w);
}

TEST(nothing_is_waited_for_from_a_host_that_is_dead)
{
	struct init_order got;
	struct world w;

	world_init(&w);
	kill_host(&w);
	CHECK(!init_wait(w.channel[1], w.pidfd, INIT_GO, &got));
	world_done(&w);
}

TEST(what_a_dead_host_has_said_before_counts)
{
	struct init_order got;
	struct world w;

	world_init(&w);
	order(&w, INIT_GO);
	kill_host(&w);
	CHECK(init_wait(w.channel[1], w.pidfd, INIT_GO, &got));
	CHECK(!init_wait(w.channel[1], w.pidfd, INIT_START, &got));
	world_done(&w);
}

/* ---- Ctrl-Z ------------------------------------------------------------------------------- */

enum { SOON_MS = 10000, NEVER_MS = 500, KEY_MS = 200 };

/* A monitor and its command, which has the terminal; who started them knows job control. */
struct job {
	struct world w;
	int terminal;
	pid_t shell;
};

static _Noreturn void be_monitor(const struct job *j)
{
	sigset_t all, none;
	pid_t command;

	(void)setpgid(0, 0);
	sigfillset(&all);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	command = fork();
	if (command == 0) {
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		for (;;)
			(void)pause();
	}
	init_run_without_namespace(&(struct init_ties){ j->w.channel[1], j->w.pidfd, -1 }, command,
				   false);
}

static _Noreturn void be_shell(const struct job *j, const char *terminal)
{
	int fd = setsid() < 0 ? -1 : open(terminal, O_RDWR);
	sigset_t ttou;
	pid_t monitor;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0 || sigprocmask(SIG_BLOCK, &ttou, NULL) < 0)
		_exit(1);
	monitor = fork();
	if (monitor == 0)
		be_monitor(j);
	(void)setpgid(monitor, monitor);
	if (monitor < 0 || tcsetpgrp(fd, monitor) < 0)
		_exit(1);
	_exit(waitpid(monitor, NULL, 0) != monitor);
}

static void job_init(struct job *j)
{
	char *name;

	world_init(&j->w);
	j->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	REQUIRE(j->terminal >= 0 && grantpt(j->terminal) == 0 && unlockpt(j->terminal) == 0);
	name = ptsname(j->terminal);
	REQUIRE(name);
	j->shell = fork();
	if (j->shell == 0)
		be_shell(j, name);
	REQUIRE(j->shell > 0);
}

static void signal_all(const struct job *j, int number)
{
	const struct init_order order = { .kind = INIT_SIGNAL_ALL, .value = number };

	REQUIRE(send(j->w.channel[0], &order, sizeof(order), 0) == (ssize_t)sizeof(order));
}

/* Which signal has stopped the command; 0: none in that time. */
static int wait_for_stop(const struct job *j, int ms, bool *is_typed)
{
	struct pollfd wait = { .fd = j->w.channel[0], .events = POLLIN };
	struct init_message m = { .kind = 0 };

	while (poll(&wait, 1, ms) > 0 && recv(wait.fd, &m, sizeof(m), 0) == (ssize_t)sizeof(m)) {
		*is_typed = m.is_typed;
		if (m.kind == INIT_STOPPED)
			return m.value;
	}
	return 0;
}

static void job_done(struct job *j)
{
	int status;

	kill_host(&j->w);
	CHECK(waitpid(j->shell, &status, 0) == j->shell && status == 0);
	(void)close(j->terminal);
	world_done(&j->w);
}

TEST(a_ctrl_z_that_comes_while_all_are_stopped_counts_when_they_go_on)
{
	bool is_typed = true;
	struct job j;

	job_init(&j);
	signal_all(&j, SIGSTOP);
	CHECK_INT(wait_for_stop(&j, SOON_MS, &is_typed), SIGSTOP);
	CHECK(!is_typed);
	signal_all(&j, SIGCONT);
	CHECK_INT(wait_for_stop(&j, NEVER_MS, &is_typed), 0);
	signal_all(&j, SIGSTOP);
	CHECK_INT(wait_for_stop(&j, SOON_MS, &is_typed), SIGSTOP);
	CHECK(write(j.terminal, "\032", 1) == 1);
	(void)poll(NULL, 0, KEY_MS);
	signal_all(&j, SIGCONT);
	CHECK_INT(wait_for_stop(&j, SOON_MS, &is_typed), SIGTSTP);
	CHECK(is_typed);
	/* It counts once. */
	signal_all(&j, SIGSTOP);
	signal_all(&j, SIGCONT);
	CHECK_INT(wait_for_stop(&j, NEVER_MS, &is_typed) == SIGTSTP, false);
	job_done(&j);
}
