/* SPDX-License-Identifier: MIT */
/* Tests of linux/notify/engine.c and caller.c, on real system calls of a real process. */
#include "linux/notify/engine.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "cage.h"
#include "linux/notify/caller.h"
#include "test.h"

/* The call that is asked about: it exists everywhere and nobody needs it. */
enum { ASKED = SYS_getppid };
static long ask(long a, const void *b, long c)
{
	return syscall(ASKED, a, b, c);
}

struct outside {
	struct cage cage;
	struct loop loop;
	struct engine engine;
	struct engine_call last;
	uint64_t address;
	char bytes[64];
	int result;
};

typedef enum engine_answer answer_function(void *user, struct engine *engine,
					   const struct engine_call *call, int64_t *value);

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* Starts a cage whose ASKED calls go to `answer` (NULL: nobody handles them). */
static bool start(struct outside *o, int (*inside)(void), answer_function *answer)
{
	struct engine_handler handler = { .number = ASKED, .call = answer, .user = o };
	struct err e = ERR_INIT;

	*o = (struct outside){ .result = 0 };
	if (!cage_start(&o->cage, &(struct cage_options){ .inside = inside, .asks = ASKED }) ||
	    loop_init(&o->loop, &e) < 0 || loop_prepare_timers(&o->loop, &e) < 0 ||
	    engine_start(&o->engine, &o->loop, o->cage.listener, &e) < 0)
		return false;
	o->cage.listener = -1;
	if (answer)
		engine_handle(&o->engine, &handler);
	cage_go(&o->cage);
	return true;
}

static void stop(struct outside *o)
{
	engine_stop(&o->engine);
	loop_done(&o->loop);
	cage_done(&o->cage);
}

/* ---- Answers -------------------------------------------------------------------- */

static int expects_eperm(void)
{
	errno = 0;
	INSIDE(ask(1, NULL, 3) == -1 && errno == EPERM);
	return 0;
}

TEST(a_call_that_nobody_handles_is_refused)
{
	struct outside o;
	size_t before = count_fds();

	REQUIRE(start(&o, expects_eperm, NULL));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	CHECK_INT(o.engine.handled, 1);
	stop(&o);
	CHECK_INT(count_fds(), before);
}

static enum engine_answer answer_by_first(void *user, struct engine *engine,
					  const struct engine_call *call, int64_t *value)
{
	struct outside *o = user;

	(void)engine;
	o->last = *call;
	*value = (int64_t)call->args[0];
	return call->args[0] == 99 ? ENGINE_CONTINUE : ENGINE_RETURN;
}

static int expects_answers(void)
{
	INSIDE(ask(42, NULL, 3) == 42);
	INSIDE(ask(0, NULL, 3) == 0);
	INSIDE(ask(-ENOTTY, NULL, 3) == -1 && errno == ENOTTY);
	INSIDE(ask(99, NULL, 3) == 0); /* of PID 1 */
	return 0;
}

TEST(a_handler_says_what_the_caller_gets)
{
	struct outside o;

	REQUIRE(start(&o, expects_answers, answer_by_first));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	CHECK_INT(o.engine.handled, 4);
	CHECK_INT(o.last.number, ASKED);
	CHECK_INT(o.last.args[2], 3);
	CHECK_INT(o.last.pid, shared->pid);
	stop(&o);
}

static int on_due(void *user, struct err *e)
{
	struct outside *o = user;

	(void)e;
	CHECK(engine_is_waiting(&o->engine, o->last.id));
	engine_reply(&o->engine, o->last.id, 17);
	CHECK(!engine_is_waiting(&o->engine, o->last.id));
	engine_reply(&o->engine, o->last.id, 18); /* has no one */
	return 0;
}

static struct timer later;

static enum engine_answer answer_later(void *user, struct engine *engine,
				       const struct engine_call *call, int64_t *value)
{
	struct outside *o = user;

	*value = 0;
	o->last = *call;
	later = (struct timer){ .due = on_due, .user = o };
	loop_set_timer(engine->loop, &later, loop_now() + 30);
	return ENGINE_LATER;
}

static int expects_seventeen(void)
{
	INSIDE(ask(1, NULL, 3) == 17);
	return 0;
}

TEST(an_answer_may_come_later)
{
	struct outside o;

	REQUIRE(start(&o, expects_seventeen, answer_later));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	stop(&o);
}

/* ---- Callers that go ------------------------------------------------------------ */

static enum engine_answer answer_dead(void *user, struct engine *engine,
				      const struct engine_call *call, int64_t *value)
{
	struct outside *o = user;
	struct caller_status status;

	CHECK(caller_read_status(call->pid, &status));
	CHECK_INT(status.process, call->pid);
	CHECK(status.inner_process > 1);
	CHECK_INT(status.threads, 1);
	CHECK(engine_is_waiting(engine, call->id));
	kill(call->pid, SIGKILL);
	for (int i = 0; i < 1000 && engine_is_waiting(engine, call->id); i++)
		(void)usleep(1000);
	CHECK(!engine_is_waiting(engine, call->id));
	o->result = engine_take_fd(engine, call, 0);
	CHECK_INT(engine_read(engine, call, call->args[1], o->bytes, 1), -ESRCH);
	*value = 0;
	return ENGINE_RETURN;
}

static int child_is_killed(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		ask(1, "x", 1);
		_exit(3);
	}
	INSIDE(waitpid(pid, &status, 0) == pid);
	INSIDE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return 0;
}

TEST(a_caller_that_was_killed_is_noticed)
{
	struct outside o;

	REQUIRE(start(&o, child_is_killed, answer_dead));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	CHECK(o.result < 0);
	stop(&o);
}

static int nothing(void)
{
	return 0;
}

TEST(the_engine_rests_when_all_callers_are_gone)
{
	struct err e = ERR_INIT;
	struct outside o;
	uint64_t from;

	REQUIRE(start(&o, nothing, NULL));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	for (int i = 0; i < 100 && o.engine.watcher.is_added; i++)
		CHECK_INT(loop_step(&o.loop, 20, &e), 0);
	CHECK(!o.engine.watcher.is_added);
	from = loop_now();
	CHECK_INT(loop_step(&o.loop, 50, &e), 0);
	CHECK(loop_now() - from >= 45); /* does not turn in circles */
	stop(&o);
}

/* ---- Memory --------------------------------------------------------------------- */

static enum engine_answer answer_by_memory(void *user, struct engine *engine,
					   const struct engine_call *call, int64_t *value)
{
	struct outside *o = user;
	int r = engine_read(engine, call, call->args[1], o->bytes, (size_t)call->args[2]);

	*value = r < 0 ? r : o->bytes[0];
	return ENGINE_RETURN;
}

static int memory_is_read(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	INSIDE(two != MAP_FAILED && munmap(two + page, page) == 0);
	memset(two, 'm', page);
	INSIDE(ask(0, two, 8) == 'm');
	INSIDE(ask(0, two + page - 8, 8) == 'm');
	INSIDE(ask(0, two + page - 8, 9) == -1 && errno == EFAULT);
	INSIDE(ask(0, two + page, 1) == -1 && errno == EFAULT);
	INSIDE(ask(0, NULL, 1) == -1 && errno == EFAULT);
	INSIDE(ask(0, (void *)(intptr_t)-8, 4) == -1 && errno == EFAULT);
	INSIDE(ask(0, NULL, 0) >= 0);
	INSIDE(mprotect(two, page, PROT_NONE) == 0);
	INSIDE(ask(0, two, 8) == -1 && errno == EFAULT);
	return 0;
}

TEST(memory_of_the_caller_is_read_whole_or_not_at_all)
{
	struct outside o;

	REQUIRE(start(&o, memory_is_read, answer_by_memory));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	stop(&o);
}

/* ---- Descriptors ---------------------------------------------------------------- */

/* Says the inode of the descriptor, so that the caller can compare. */
static enum engine_answer answer_by_fd(void *user, struct engine *engine,
				       const struct engine_call *call, int64_t *value)
{
	struct stat st;
	int fd = engine_take_fd(engine, call, (int)call->args[0]);

	(void)user;
	*value = fd;
	if (fd >= 0) {
		*value = fstat(fd, &st) < 0 ? -EIO : (int64_t)(st.st_ino & 0x7fffffff);
		CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		close(fd);
	}
	return ENGINE_RETURN;
}

static long inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? -1 : (long)(st.st_ino & 0x7fffffff);
}

/* In a thread whose number 50 is a pipe of its own. */
static void *ask_alone(void *arg)
{
	int pair[2];

	(void)arg;
	if (unshare(CLONE_FILES) < 0 || pipe(pair) < 0 || dup2(pair[0], 50) < 0)
		return (void *)1;
	shared->numbers[0] = (int)ask(50, NULL, 0);
	shared->numbers[1] = (int)inode_of(50);
	return NULL;
}

static int descriptors_are_taken(void)
{
	pthread_t thread;
	void *failed = NULL;
	int pair[2];

	INSIDE(pipe(pair) == 0 && dup2(pair[0], 50) == 50);
	INSIDE(ask(50, NULL, 0) == inode_of(50));
	INSIDE(ask(51, NULL, 0) == -1 && errno == EBADF);
	INSIDE(ask(-1, NULL, 0) == -1 && errno == EBADF);
	INSIDE(pthread_create(&thread, NULL, ask_alone, NULL) == 0);
	INSIDE(pthread_join(thread, &failed) == 0 && !failed);
	INSIDE(shared->numbers[1] != inode_of(50));
	return 0;
}

TEST(descriptors_are_those_of_the_calling_thread)
{
	size_t before = count_fds();
	struct outside o;

	REQUIRE(start(&o, descriptors_are_taken, answer_by_fd));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	CHECK_INT(shared->numbers[0], shared->numbers[1]);
	stop(&o);
	CHECK_INT(count_fds(), before);
}

/* As a kernel before 6.9 answers. */
static bool forbid_thread_pidfds(void)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = COUNT_OF(insns), .filter = insns };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The same in a child of the test, since such a filter stays. */
static int take_fds_without_thread_pidfds(void)
{
	struct outside o;
	int status;

	test_failed = false;
	if (!start(&o, descriptors_are_taken, answer_by_fd) || !forbid_thread_pidfds())
		return 1;
	status = cage_wait(&o.cage, &o.loop);
	/* What the thread has of its own can't be had, and nothing else is taken for it. */
	if (status != 0 || shared->numbers[0] != -1)
		return 2;
	stop(&o);
	return test_failed ? 3 : 0;
}

TEST(older_kernels_take_them_from_the_main_thread)
{
	int status = -1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		status = take_fds_without_thread_pidfds();
		(void)fflush(stdout);
		_exit(status);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static void *ask_after_main(void *arg)
{
	pthread_t *main_thread = arg;

	(void)pthread_join(*main_thread, NULL);
	shared->numbers[0] = (int)ask(50, NULL, 0);
	shared->numbers[1] = (int)inode_of(50);
	_exit(0);
}

static int main_thread_ends(void)
{
	static pthread_t self;
	pthread_t thread;
	int pair[2];

	self = pthread_self();
	INSIDE(pipe(pair) == 0 && dup2(pair[0], 50) == 50);
	INSIDE(pthread_create(&thread, NULL, ask_after_main, &self) == 0);
	pthread_exit(NULL);
}

TEST(a_process_whose_main_thread_has_ended_still_has_descriptors)
{
	struct outside o;

	REQUIRE(start(&o, main_thread_ends, answer_by_fd));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	CHECK(shared->numbers[1] > 0);
	CHECK_INT(shared->numbers[0], shared->numbers[1]);
	stop(&o);
}

/* ---- Signals -------------------------------------------------------------------- */

static _Atomic int caught;
static void on_signal(int number)
{
	(void)number;
	caught++;
}

static enum engine_answer answer_slowly(void *user, struct engine *engine,
					const struct engine_call *call, int64_t *value)
{
	(void)user;
	(void)engine;
	(void)usleep(3000);
	*value = (int64_t)call->args[0];
	return ENGINE_RETURN;
}

static int calls_under_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };

	INSIDE(sigaction(SIGALRM, &action, NULL) == 0);
	INSIDE(setitimer(ITIMER_REAL, &each_ms, NULL) == 0);
	for (int i = 1; i < 100; i++)
		INSIDE(ask(i, NULL, 0) == i);
	INSIDE(setitimer(ITIMER_REAL, &never, NULL) == 0);
	INSIDE(caught >= 50);
	return 0;
}

TEST(a_signal_does_not_make_a_finished_call_look_failed)
{
	struct outside o;

	REQUIRE(start(&o, calls_under_signals, answer_slowly));
	CHECK_INT(cage_wait(&o.cage, &o.loop), 0);
	/* A signal may come before a call was received; then, and only then, it is made again. */
	CHECK(o.engine.handled >= 99);
	stop(&o);
}
