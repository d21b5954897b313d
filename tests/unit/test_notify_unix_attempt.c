/* SPDX-License-Identifier: MIT */
/*
 * Tests of linux/notify/unix_attempt.c and of the waiting in connectors.c: connects
 * behave as without a supervisor, whether they block or not.
 */
#include "linux/notify/unix_attempt.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "judged.h"

/* Runs it free and judged: both times all has to be as it should. */
static void check_same(int (*inside)(void))
{
	struct judged j;

	(void)mkdir("w", 0755);
	CHECK_INT(run_free(&(struct cage_options){ .inside = inside }), 0);
	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = inside }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(j.denials.total, 0);
	judged_done(&j);
}

/* ---- TCP ------------------------------------------------------------------------ */

static int tcp_connects(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
	int tcp6 = socket(AF_INET6, SOCK_STREAM, 0);
	uint16_t port, free_port;
	int listener = listen_tcp(&port, 16), accepted;
	char text[8];

	close(listen_tcp(&free_port, 1));
	INSIDE(listener >= 0);
	INSIDE(connect_port(fd, port) == 0);
	INSIDE(connect_port(fd, port) == -EISCONN);
	INSIDE((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
	accepted = accept(listener, NULL, NULL);
	INSIDE(write(fd, "abc", 3) == 3 && read(accepted, text, 8) == 3);
	INSIDE(connect(fd, &none, sizeof(none)) == 0); /* taken apart */
	INSIDE(write(fd, "abc", 3) == -1);
	INSIDE(connect_port(fd, port) == 0); /* and connected anew */
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	INSIDE(connect_port(fd, free_port) == -ECONNREFUSED);
	INSIDE(connect_port(fd, port) == 0);
	INSIDE(connect_port(udp, free_port) == 0);
	INSIDE(connect(udp, &none, sizeof(none)) == 0);
	six.sin6_port = free_port;
	INSIDE(connect(tcp6, (struct sockaddr *)&six, sizeof(six)) == -1 && errno == ECONNREFUSED);
	return 0;
}

static int tcp_of_the_host_is_not_there(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in away = { .sin_family = AF_INET,
				    .sin_port = htons(80),
				    .sin_addr.s_addr = htonl(0xc6336401) /* 198.51.100.1 */ };

	INSIDE(connect_port(fd, (uint16_t)shared->numbers[0]) == -ECONNREFUSED);
	INSIDE(connect(fd, (struct sockaddr *)&away, sizeof(away)) == -1 && errno == ENETUNREACH);
	return 0;
}

static int ignore_sigpipe(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return tcp_connects();
}

TEST(tcp_connects_in_the_network_of_the_cage)
{
	check_same(ignore_sigpipe);
}

TEST(and_not_in_the_hosts)
{
	uint16_t port;
	int listener = listen_tcp(&port, 4), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct judged j;

	CHECK_INT(connect_port(fd, port), 0);
	CHECK_INT(count_waiting(listener), 1);
	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = tcp_of_the_host_is_not_there }));
	shared->numbers[0] = port;
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(listener), 0);
	judged_done(&j);
	close(fd);
	close(listener);
}

static int waits_by_epoll(void)
{
	int epoll = epoll_create1(0), error = -1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET, .data.u32 = 5 };
	socklen_t size = sizeof(error);
	uint16_t port;
	int listener = listen_tcp(&port, 16);

	INSIDE(listener >= 0);
	INSIDE(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	INSIDE(epoll_wait(epoll, &event, 1, 0) == 1); /* not connected: told at once */
	INSIDE(connect_port(fd, port) == -EINPROGRESS);
	INSIDE(epoll_wait(epoll, &event, 1, 5000) == 1 && event.events & EPOLLOUT);
	INSIDE(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
	INSIDE(connect_port(fd, port) == 0);
	INSIDE(connect_port(fd, port) == -EISCONN);
	INSIDE(fcntl(fd, F_GETFL) & O_NONBLOCK);
	return 0;
}

TEST(an_epoll_that_waited_before_the_connect_is_told)
{
	check_same(waits_by_epoll);
}

/* A listener whose queue is full, so that the next one has to wait. */
static int fill_tcp(uint16_t *port, int held[4])
{
	int listener = listen_tcp(port, 0);

	for (int i = 0; i < 4; i++) {
		held[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect_port(held[i], *port);
	}
	(void)usleep(50000);
	return listener;
}

static void *accept_soon(void *arg)
{
	int listener = *(int *)arg;

	(void)usleep(100000);
	for (int i = 0; i < 8; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			break;
		shared->numbers[9]++;
		if (i > 0)
			close(fd);
	}
	return NULL;
}

static int tcp_waits(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), held[4];
	struct timeval little = { .tv_usec = 80000 };
	uint64_t from;
	pthread_t thread;
	uint16_t port;
	int listener = fill_tcp(&port, held);

	INSIDE(listener >= 0);
	INSIDE(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &little, sizeof(little)) == 0);
	from = loop_now();
	INSIDE(connect_port(fd, port) == -EINPROGRESS);
	INSIDE(loop_now() - from >= 70 && loop_now() - from < 20000);
	INSIDE((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	INSIDE(pthread_create(&thread, NULL, accept_soon, &listener) == 0);
	INSIDE(connect_port(fd, port) == 0);
	INSIDE(connect_port(fd, port) == -EISCONN);
	INSIDE((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
	return 0;
}

TEST(a_blocking_connect_waits_for_a_slow_server)
{
	check_same(tcp_waits);
}

/* ---- A full queue ---------------------------------------------------------------- */

/* Fills the queue of a unix listener. */
static int fill_unix_queue(void)
{
	int listener = listen_at_type("w/full.sock", SOCK_STREAM, 1), r = 0;

	for (int i = 0; i < 8 && r == 0; i++)
		r = connect_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), "w/full.sock");
	return r == -EAGAIN ? listener : -1;
}

static int unix_waits(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct timeval little = { .tv_usec = 80000 };
	uint64_t from;
	pthread_t thread;
	int listener = fill_unix_queue();

	INSIDE(listener >= 0);
	INSIDE(connect_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), "w/full.sock") ==
	       -EAGAIN);
	INSIDE(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &little, sizeof(little)) == 0);
	from = loop_now();
	INSIDE(connect_fd(fd, "w/full.sock") == -EAGAIN);
	INSIDE(loop_now() - from >= 70 && loop_now() - from < 20000);
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	INSIDE(pthread_create(&thread, NULL, accept_soon, &listener) == 0);
	INSIDE(connect_fd(fd, "w/full.sock") == 0);
	INSIDE((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
	return 0;
}

TEST(a_blocking_connect_waits_for_room_in_the_queue)
{
	check_same(unix_waits);
}

static void *close_soon(void *arg)
{
	(void)usleep(100000);
	close(*(int *)arg);
	return NULL;
}

static int server_goes(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t thread;
	int listener = fill_unix_queue();

	INSIDE(listener >= 0);
	INSIDE(pthread_create(&thread, NULL, close_soon, &listener) == 0);
	INSIDE(connect_fd(fd, "w/full.sock") == -ECONNREFUSED);
	return 0;
}

TEST(a_server_that_goes_meanwhile_refuses)
{
	check_same(server_goes);
}

static void *connect_and_wait(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)arg;
	shared->numbers[connect_fd(fd, "w/full.sock") == 0]++;
	close(fd);
	return NULL;
}

static int many_wait(void)
{
	enum { MANY = 100 };
	pthread_t threads[MANY];
	uint16_t port;
	int listener = fill_unix_queue(), tcp = listen_tcp(&port, 16);

	INSIDE(listener >= 0);
	for (int i = 0; i < MANY; i++)
		INSIDE(pthread_create(&threads[i], NULL, connect_and_wait, NULL) == 0);
	(void)usleep(50000);
	/* Others are served meanwhile. */
	INSIDE(connect_port(socket(AF_INET, SOCK_STREAM, 0), port) == 0);
	INSIDE(count_waiting(tcp) == 1);
	for (int i = 0; i < MANY; i++) {
		int fd = accept(listener, NULL, NULL);

		INSIDE(fd >= 0);
		close(fd);
	}
	for (int i = 0; i < MANY; i++) {
		(void)count_waiting(listener);
		INSIDE(pthread_join(threads[i], NULL) == 0);
	}
	INSIDE(shared->numbers[1] == MANY);
	return 0;
}

TEST(many_may_wait_at_once)
{
	check_same(many_wait);
}

static int too_many_wait(void)
{
	enum { MANY = 300 };
	static pthread_t threads[MANY];
	pthread_attr_t small;
	int listener = fill_unix_queue();

	INSIDE(listener >= 0);
	INSIDE(pthread_attr_init(&small) == 0);
	INSIDE(pthread_attr_setstacksize(&small, 256 << 10) == 0);
	for (int i = 0; i < MANY; i++)
		INSIDE(pthread_create(&threads[i], &small, connect_and_wait, NULL) == 0);
	for (int i = 0; i < 500 && shared->numbers[0] < MANY - 256; i++)
		(void)usleep(10000);
	INSIDE(shared->numbers[0] == MANY - 256 && shared->numbers[1] == 0);
	_exit(0);
}

TEST(beyond_the_bound_they_are_told_to_try_again)
{
	struct judged j;

	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = too_many_wait }));
	CHECK_INT(judged_run(&j), 0);
	judged_done(&j);
}

/* ---- Signals and deaths ------------------------------------------------------------ */

static _Atomic int caught;
static void on_signal(int number)
{
	(void)number;
	caught++;
}

/* And again, should the first have come before the call. */
static bool alarm_each_100_ms(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	struct itimerval each = { { .tv_usec = 100000 }, { .tv_usec = 100000 } };

	return sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &each, NULL) == 0;
}

static int alarm_interrupts(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	uint64_t from = loop_now();

	INSIDE(fill_unix_queue() >= 0);
	INSIDE(alarm_each_100_ms(0));
	INSIDE(connect_fd(fd, "w/full.sock") == -EINTR);
	INSIDE(caught >= 1 && loop_now() - from < 20000);
	return 0;
}

TEST(a_signal_interrupts_a_connect_that_waits)
{
	check_same(alarm_interrupts);
}

static void *accept_later(void *arg)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	(void)usleep(300000);
	close(accept(*(int *)arg, NULL, NULL));
	return NULL;
}

/* With SA_RESTART it goes on. The helper is a process: one thread takes the signal. */
static int alarm_restarts(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int listener = fill_unix_queue();
	pid_t pid;

	INSIDE(listener >= 0);
	INSIDE(alarm_each_100_ms(SA_RESTART));
	pid = fork();
	if (pid == 0) {
		(void)accept_later(&listener);
		_exit(0);
	}
	INSIDE(connect_fd(fd, "w/full.sock") == 0);
	INSIDE(caught >= 1);
	return 0;
}

TEST(or_is_handled_and_the_connect_goes_on)
{
	check_same(alarm_restarts);
}

static int tcp_alarm_restarts(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), held[4];
	uint16_t port;
	int listener = fill_tcp(&port, held);
	pid_t pid;

	INSIDE(listener >= 0);
	INSIDE(alarm_each_100_ms(SA_RESTART));
	pid = fork();
	if (pid == 0) {
		(void)usleep(300000);
		for (;;)
			(void)accept(listener, NULL, NULL);
	}
	INSIDE(connect_port(fd, port) == 0);
	INSIDE(caught >= 1);
	kill(pid, SIGKILL);
	return 0;
}

TEST(also_with_tcp)
{
	check_same(tcp_alarm_restarts);
}

static int storm(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	int listener = listen_at("w/storm.sock");
	uint16_t port;
	int tcp = listen_tcp(&port, 64);

	INSIDE(sigaction(SIGALRM, &action, NULL) == 0);
	INSIDE(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 1000; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		INSIDE(connect_to("w/storm.sock") == 0);
		INSIDE(count_waiting(listener) == 1);
		INSIDE(connect_port(fd, port) == 0);
		INSIDE(count_waiting(tcp) == 1);
		close(fd);
	}
	INSIDE(setitimer(ITIMER_REAL, &never, NULL) == 0);
	INSIDE(caught > 10);
	return 0;
}

TEST(a_storm_of_signals_spoils_nothing)
{
	check_same(storm);
}

static int stopped_and_continued(void)
{
	int listener = fill_unix_queue(), status;
	pid_t pid;

	INSIDE(listener >= 0);
	pid = fork();
	if (pid == 0)
		_exit(connect_to("w/full.sock") == 0 ? 0 : 1);
	(void)usleep(100000);
	INSIDE(kill(pid, SIGTSTP) == 0);
	INSIDE(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	INSIDE(kill(pid, SIGCONT) == 0);
	(void)usleep(50000);
	close(accept(listener, NULL, NULL));
	INSIDE(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}

static int stop_in_own_group(void)
{
	/* PID 1's children are an orphaned group; one of its own can be stopped. */
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (setsid() < 0)
			_exit(99);
		pid = fork();
		if (pid == 0) {
			(void)setpgid(0, 0);
			_exit(stopped_and_continued());
		}
		(void)waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
	}
	INSIDE(waitpid(pid, &status, 0) == pid);
	INSIDE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}

TEST(a_caller_that_waits_can_be_stopped_and_continued)
{
	check_same(stop_in_own_group);
}

static int callers_die(void)
{
	int listener = fill_unix_queue(), status, held[4];
	uint16_t port;

	INSIDE(listener >= 0 && fill_tcp(&port, held) >= 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(i % 2 ? connect_to("w/full.sock")
				    : connect_port(socket(AF_INET, SOCK_STREAM, 0), port));
		(void)usleep(20000);
		INSIDE(kill(pid, SIGKILL) == 0);
		INSIDE(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	}
	shared->step = 1;
	while (shared->step == 1)
		(void)usleep(1000);
	return 0;
}

/* A few processes that connect are kept, with a channel and a pidfd each. */
enum { KEPT_FDS = 8 };

struct watch_fds {
	struct timer timer;
	struct loop *loop;
	size_t at_start, at_end;
	int looks;
};

static int look_at_fds(void *user, struct err *e)
{
	struct watch_fds *w = user;

	(void)e;
	if (shared->step == 1) {
		w->at_end = count_fds();
		/* It takes a while until all of them are noticed. */
		if (w->at_end <= w->at_start + KEPT_FDS || w->looks++ > 2000)
			shared->step = 2;
	}
	if (shared->step < 2)
		loop_set_timer(w->loop, &w->timer, loop_now() + 5);
	return 0;
}

TEST(callers_that_die_while_they_wait_leave_nothing)
{
	struct watch_fds w = { .at_end = 0 };
	struct judged j;

	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = callers_die }));
	w.loop = &j.loop;
	w.timer = (struct timer){ .due = look_at_fds, .user = &w };
	w.at_start = count_fds();
	loop_set_timer(&j.loop, &w.timer, loop_now() + 5);
	CHECK_INT(judged_run(&j), 0);
	CHECK(w.at_end >= w.at_start && w.at_end <= w.at_start + KEPT_FDS);
	judged_done(&j);
}

/* ---- Threads ----------------------------------------------------------------------- */

static void *connect_alone(void *arg)
{
	int fd;

	if (unshare(CLONE_FILES) < 0)
		return arg;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (dup2(fd, 70) != 70 || connect_fd(70, "w/alone.sock") != 0)
		return arg;
	return NULL;
}

static int thread_has_its_own_files(void)
{
	int listener = listen_at("w/alone.sock");
	void *failed = NULL;
	pthread_t thread;

	INSIDE(listener >= 0);
	INSIDE(pthread_create(&thread, NULL, connect_alone, &listener) == 0);
	INSIDE(pthread_join(thread, &failed) == 0 && !failed);
	INSIDE(count_waiting(listener) == 1);
	return 0;
}

TEST(a_thread_with_descriptors_of_its_own_connects_those)
{
	check_same(thread_has_its_own_files);
}

/* ---- Speed --------------------------------------------------------------------------- */

static int ten_thousand(void)
{
	int listener = listen_at("w/fast.sock"), tcp;
	uint64_t from = loop_now();
	uint16_t port;

	INSIDE(listener >= 0);
	for (int i = 0; i < 10000; i++) {
		INSIDE(connect_to("w/fast.sock") == 0);
		INSIDE(count_waiting(listener) == 1);
	}
	shared->numbers[0] = (int)(loop_now() - from);
	tcp = listen_tcp(&port, 64);
	from = loop_now();
	for (int i = 0; i < 10000; i++) {
		struct linger at_once = { .l_onoff = 1 };
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		INSIDE(connect_port(fd, port) == 0);
		INSIDE(count_waiting(tcp) == 1);
		close(fd);
	}
	shared->numbers[1] = (int)(loop_now() - from);
	return 0;
}

TEST(ten_thousand_connects_take_seconds_at_most)
{
	struct judged j;
	int free_unix, free_tcp;

	CHECK_INT(run_free(&(struct cage_options){ .inside = ten_thousand }), 0);
	free_unix = shared->numbers[0];
	free_tcp = shared->numbers[1];
	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = ten_thousand }));
	CHECK_INT(judged_run(&j), 0);
	printf("# 10000 connects: unix %d ms (free %d), tcp %d ms (free %d)\n", shared->numbers[0],
	       free_unix, shared->numbers[1], free_tcp);
	CHECK(shared->numbers[0] < 30000 && shared->numbers[1] < 30000);
	judged_done(&j);
}
