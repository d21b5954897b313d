/* SPDX-License-Identifier: MIT */
/*
 * Tests of linux/notify/connector.c and connectors.c: whatever becomes of a connect
 * or of the process that makes it, the loop goes on and the others are answered.
 */
#include "linux/notify/connectors.h"

#include <pthread.h>
#include <sys/time.h>

#include "judged.h"
#include "linux/notify/connector.h"

/* ---- Processes that connect ---------------------------------------------------- */

static bool is_connector_of(const char *pid, pid_t parent)
{
	char path[300], text[512] = "", name[32] = "";
	int ppid = 0;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel writes a number that fits. */
	return sscanf(text, "%*d (%31[^)]) %*c %d", name, &ppid) == 2 && ppid == parent &&
	       strcmp(name, "cordon-connect") == 0;
}

/* Their number; the last one's pid in `*found`. */
static int count_connectors(pid_t parent, pid_t *found)
{
	const struct dirent *entry;
	DIR *dir = opendir("/proc");
	int count = 0;

	while (dir && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] > '0' && entry->d_name[0] <= '9' &&
		    is_connector_of(entry->d_name, parent)) {
			*found = (pid_t)strtol(entry->d_name, NULL, 10);
			count++;
		}
	if (dir)
		closedir(dir);
	return count;
}

/* ---- Time on the host ------------------------------------------------------------ */

enum { TICK_MS = 10 };

/* Sees whether the loop stands still. */
struct ticks {
	struct timer timer;
	struct loop *loop;
	uint64_t last, longest;
	int count;
	void (*also)(void);
};

static int tick(void *user, struct err *e)
{
	struct ticks *t = user;
	uint64_t now = loop_now();

	(void)e;
	t->count++;
	t->longest = MAX_OF(t->longest, now - t->last);
	t->last = now;
	if (t->also)
		t->also();
	loop_set_timer(t->loop, &t->timer, now + TICK_MS);
	return 0;
}

static int run_ticking(struct judged *j, struct ticks *t)
{
	int status;

	t->timer = (struct timer){ .due = tick, .user = t };
	t->loop = &j->loop;
	t->last = loop_now();
	loop_set_timer(&j->loop, &t->timer, t->last + TICK_MS);
	status = judged_run(j);
	loop_drop_timer(&j->loop, &t->timer);
	return status;
}

static int fill_unix_queue(void)
{
	int listener = listen_at_type("w/full.sock", SOCK_STREAM, 1), r = 0;

	for (int i = 0; i < 8 && r == 0; i++)
		r = connect_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), "w/full.sock");
	return r == -EAGAIN ? listener : -1;
}

/* ---- O_NONBLOCK is anyone's -------------------------------------------------------- */

/* One call that blocked would hold the loop for ever; a loaded machine holds up all for a while. */
enum { ATTACK_MS = 3000, ATTACKERS = 8, STUCK_MS = 10000 };

static int attacked;

static void *flip(void *arg)
{
	(void)arg;
	for (;;) {
		(void)fcntl(attacked, F_SETFL, O_NONBLOCK);
		(void)usleep(20);
		(void)fcntl(attacked, F_SETFL, 0);
		(void)usleep(20);
	}
	return NULL;
}

static pid_t start_attacker(bool is_tcp, uint16_t port)
{
	pthread_t thread;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	attacked = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
	if (pthread_create(&thread, NULL, flip, NULL) != 0)
		_exit(1);
	for (;;)
		(void)(is_tcp ? connect_port(attacked, port) : connect_fd(attacked, "w/full.sock"));
}

static int attack(void)
{
	uint64_t until = loop_now() + ATTACK_MS;
	pid_t attackers[ATTACKERS] = { 0 };
	uint16_t full_port, port;
	int tcp = listen_tcp(&port, 64), full = fill_unix_queue();
	int full_tcp = listen_tcp(&full_port, 0);

	INSIDE(tcp >= 0 && full >= 0 && full_tcp >= 0);
	for (int i = 0; loop_now() < until; i++) {
		pid_t *attacker = &attackers[i % ATTACKERS];
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (*attacker) {
			INSIDE(kill(*attacker, SIGKILL) == 0);
			INSIDE(waitpid(*attacker, NULL, 0) == *attacker);
		}
		*attacker = start_attacker(i % 2, full_port);
		INSIDE(connect_port(fd, port) == 0);
		INSIDE(count_waiting(tcp) == 1);
		close(fd);
		shared->numbers[0]++;
		(void)usleep(10000);
	}
	_exit(0);
}

TEST(whoever_changes_a_flag_of_the_socket_stops_nobody_else)
{
	struct ticks t = { .count = 0 };
	struct judged j;

	(void)mkdir("w", 0755);
	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = attack }));
	CHECK_INT(run_ticking(&j, &t), 0);
	printf("# %d connects of others, %d ticks, the longest %d ms\n", shared->numbers[0],
	       t.count, (int)t.longest);
	CHECK(shared->numbers[0] >= 10);
	CHECK(t.count >= 30 && t.longest < STUCK_MS);
	judged_done(&j);
}

/* ---- So is whether closing it waits -------------------------------------------------- */

static void *close_lingering(void *arg)
{
	(void)usleep((useconds_t)(shared->numbers[1] % 10) * 30);
	close(*(int *)arg);
	return NULL;
}

/* Data that nobody reads, and an end that would be waited for. */
static int make_lingering(int listener, uint16_t port)
{
	static const char data[4096];
	struct linger long_time = { .l_onoff = 1, .l_linger = 1000 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect_port(fd, port) != 0 || accept(listener, NULL, NULL) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &long_time, sizeof(long_time)) < 0)
		return -1;
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* The address can't be read, so nothing is to be connected. */
static int linger_once(int listener, uint16_t port)
{
	pthread_t thread;
	int fd = make_lingering(listener, port);

	INSIDE(fd >= 0);
	INSIDE(pthread_create(&thread, NULL, close_lingering, &fd) == 0);
	for (;;)
		if (syscall(SYS_connect, fd, 1, 16) == -1 && errno == EBADF)
			return 0;
}

static int linger(void)
{
	uint16_t port;
	int listener = listen_tcp(&port, 64);

	INSIDE(listener >= 0);
	for (int i = 0; i < 100; i++) {
		pid_t pid;

		shared->numbers[1] = i;
		pid = fork();
		if (pid == 0)
			_exit(linger_once(listener, port));
		(void)usleep(20000);
		INSIDE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	}
	return 0;
}

TEST(a_socket_that_lingers_is_not_closed_by_the_loop)
{
	struct ticks t = { .count = 0 };
	struct judged j;

	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = linger }));
	CHECK_INT(run_ticking(&j, &t), 0);
	printf("# %d ticks, the longest %d ms\n", t.count, (int)t.longest);
	CHECK(t.longest < STUCK_MS);
	judged_done(&j);
}

/* ---- Processes that end -------------------------------------------------------------- */

static void kill_connector(void)
{
	pid_t pid = 0;

	if (shared->step != 1 || count_connectors(getpid(), &pid) == 0)
		return;
	/* The one that waits, and any other. */
	while (count_connectors(getpid(), &pid) > 0 && kill(pid, SIGKILL) == 0 &&
	       shared->numbers[2]++ < 20)
		(void)usleep(2000);
	shared->step = 2;
}

static void *connect_full(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)arg;
	shared->numbers[0] = connect_fd(fd, "w/full.sock");
	return NULL;
}

static int connector_is_killed(void)
{
	pthread_t thread;
	uint16_t port;
	int tcp = listen_tcp(&port, 16);

	INSIDE(fill_unix_queue() >= 0);
	shared->numbers[0] = 1;
	INSIDE(pthread_create(&thread, NULL, connect_full, NULL) == 0);
	(void)usleep(100000);
	shared->step = 1;
	INSIDE(pthread_join(thread, NULL) == 0);
	INSIDE(shared->numbers[0] == -EPERM);
	for (int i = 0; i < 10; i++) {
		INSIDE(connect_port(socket(AF_INET, SOCK_STREAM, 0), port) == 0);
		INSIDE(count_waiting(tcp) == 1);
	}
	return 0;
}

TEST(a_process_that_is_killed_costs_one_call)
{
	struct ticks t = { .also = kill_connector };
	struct judged j;
	pid_t pid;

	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = connector_is_killed }));
	CHECK_INT(count_connectors(getpid(), &pid), 0); /* none before it is needed */
	CHECK_INT(run_ticking(&j, &t), 0);
	CHECK(count_connectors(getpid(), &pid) >= 1);
	judged_done(&j);
	CHECK_INT(count_connectors(getpid(), &pid), 0);
}

static int ends_while_many_wait(void)
{
	enum { MANY = 200 }; /* more than there are processes */
	pthread_attr_t small;
	pthread_t thread;

	INSIDE(fill_unix_queue() >= 0);
	INSIDE(pthread_attr_init(&small) == 0);
	INSIDE(pthread_attr_setstacksize(&small, 256 << 10) == 0);
	for (int i = 0; i < MANY; i++)
		INSIDE(pthread_create(&thread, &small, connect_full, NULL) == 0);
	(void)usleep(400000);
	_exit(0);
}

TEST(a_run_that_ends_while_connects_wait_leaves_nothing)
{
	struct judged j;
	pid_t pid;

	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = ends_while_many_wait }));
	CHECK_INT(judged_run(&j), 0);
	judged_done(&j);
	CHECK_INT(count_connectors(getpid(), &pid), 0);
}

/* ---- A person who is asked ------------------------------------------------------------- */

static struct asked {
	struct unix_connect *connects;
	uint64_t id, at_ms;
	int count, left;
} asked;

static bool hold_connect(void *user, const struct engine_call *call, const struct denial *attempt)
{
	struct asked *a = user;

	(void)attempt;
	a->id = call->id;
	a->at_ms = loop_now();
	a->count++;
	return true;
}

static void note_left(void *user, uint64_t id)
{
	struct asked *a = user;

	a->left += id == a->id;
}

static void answer_in_time(void)
{
	if (asked.id && loop_now() - asked.at_ms >= 500 &&
	    unix_connect_release(asked.connects, asked.id, CONNECT_ONCE))
		asked.id = 0;
}

static void do_nothing(int signal)
{
	(void)signal;
}

static int connects_while_a_clock_rings(void)
{
	struct sigaction action = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };

	INSIDE(sigaction(SIGALRM, &action, NULL) == 0);
	INSIDE(setitimer(ITIMER_REAL, &often, NULL) == 0);
	INSIDE(connect_fd(socket(AF_UNIX, SOCK_STREAM, 0), "asked.sock") == 0);
	return 0;
}

static int is_told_to_end_while_it_waits(void)
{
	struct sigaction action = { .sa_handler = do_nothing };

	INSIDE(sigaction(SIGTERM, &action, NULL) == 0);
	if (fork() == 0) {
		(void)usleep(100000);
		(void)kill(getppid(), SIGTERM);
		_exit(0);
	}
	INSIDE(connect_fd(socket(AF_UNIX, SOCK_STREAM, 0), "asked.sock") == -EINTR);
	return 0;
}

TEST(a_clock_that_rings_does_not_keep_a_connect_from_being_answered)
{
	int (*const insides[])(void) = { connects_while_a_clock_rings,
					 is_told_to_end_while_it_waits };
	const struct connect_asker asker = { .hold = hold_connect,
					     .unhold = note_left,
					     .user = &asked };
	int listener = listen_at_type("asked.sock", SOCK_STREAM, 8);

	for (size_t i = 0; i < COUNT_OF(insides); i++) {
		struct ticks t = { .also = answer_in_time };
		struct judged j;

		REQUIRE(judged_start(&j, NETWORK_MANAGED,
				     &(struct cage_options){ .inside = insides[i] }));
		asked = (struct asked){ .connects = j.connects };
		unix_connect_ask(j.connects, &asker);
		CHECK_INT(run_ticking(&j, &t), 0);
		CHECK_INT(asked.count, 1);
		CHECK_INT(asked.left, i);
		judged_done(&j);
	}
	close(listener);
	unlink("asked.sock");
}

/* A program that has a connector wait for a server, until it is killed. */
static void be_killed(int told)
{
	struct connector_order order = { .id = 7 };
	int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	struct connector c;

	order.size = fill_unix(&address, "@cordon-test-connectors");
	memcpy(&order.address, &address, sizeof(address));
	if (connector_start(&c) == 0 && connector_send(&c, &order, socket_fd, -1) == 0)
		(void)!write(told, "s", 1);
	for (;;)
		(void)pause();
}

TEST(a_process_that_waits_ends_with_who_started_it)
{
	int listener = listen_at_type("@cordon-test-connectors", SOCK_STREAM, 0);
	int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), told[2];
	struct pollfd end = { .events = POLLIN };
	pid_t starter, pid = 0;
	char byte;

	REQUIRE(listener >= 0 && pipe2(told, O_CLOEXEC) == 0);
	REQUIRE(connect_fd(first, "@cordon-test-connectors") == 0); /* all that it has room for */
	(void)fflush(stdout);
	starter = fork();
	if (starter == 0)
		be_killed(told[1]);
	REQUIRE(read(told[0], &byte, 1) == 1);
	(void)usleep(100000);
	CHECK_INT(count_connectors(starter, &pid), 1);
	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK_INT(poll(&end, 1, 0), 0);
	CHECK(kill(starter, SIGKILL) == 0 && waitpid(starter, NULL, 0) == starter);
	CHECK_INT(poll(&end, 1, 10000), 1);
	close(end.fd);
	close(told[0]);
	close(told[1]);
	close(first);
	close(listener);
}

/* ---- What one says --------------------------------------------------------------------- */

/* As the process sends it. */
struct said {
	uint64_t id;
	int64_t result;
	uint64_t source_size;
	uint64_t is_refused;
	struct sockaddr_storage source;
};

static bool is_believed(struct said said, size_t size)
{
	struct connector c = CONNECTOR_NONE;
	struct connector_result got;
	bool believed;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    send(pair[1], &said, size, 0) != (ssize_t)size)
		return false;
	c.channel = pair[0];
	believed = connector_receive(&c, 7, &got) && got.result == said.result &&
		   got.source_size == said.source_size && got.is_refused == (said.is_refused != 0);
	close(pair[0]);
	close(pair[1]);
	return believed;
}

TEST(only_a_result_of_its_own_call_is_believed)
{
	const size_t all = sizeof(struct said);

	CHECK(is_believed((struct said){ .id = 7 }, all));
	CHECK(is_believed((struct said){ .id = 7, .result = -ECONNREFUSED }, all));
	CHECK(is_believed((struct said){ .id = 7, .source_size = 16 }, all));
	CHECK(is_believed((struct said){ .id = 7, .is_refused = 1 }, all));
	CHECK(!is_believed((struct said){ .id = 7, .source_size = 129 }, all));
	CHECK(!is_believed((struct said){ .id = 8 }, all));
	CHECK(!is_believed((struct said){ .id = 7, .result = 1 }, all));
	CHECK(!is_believed((struct said){ .id = 7, .result = -512 }, all));
	CHECK(!is_believed((struct said){ .id = 7, .result = INT64_MIN }, all));
	CHECK(!is_believed((struct said){ .id = 7 }, 16));
}
