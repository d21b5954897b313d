/* SPDX-License-Identifier: MIT */
/*
 * The parent's side of a launch with bwrap:
 *
 *	prepare		the job of the inner stage, what is mounted where
 *	find, probe	which bwrap, what it can do
 *	spawn		bwrap, with all that it needs as descriptors
 *	map		bwrap reports PID 1's pid; this process writes its id maps
 *	masks		this process makes those that would take bwrap long
 *	ready		the inner stage has checked everything and dropped all privileges
 *
 * The command does not run before that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend/bwrap/attempt.h"
#include "backend/host.h"
#include "backend/mounts/mounts.h"
#include "base/utf8.h"
#include "linux/placeholder/masker.h"
#include "linux/placeholder/watch.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/loop.h"
#include "os/os.h"

enum {
	INFO_TIMEOUT_MS = 700,
	INFO_MAX_MS = 10000,
	INFO_LOOK_MS = 50,
	BWRAP_DEPTH = 4, /* generations of processes below the leader of bwrap's group */
	READY_TIMEOUT_MS = 60000,
	LAST_WORDS_MS = 150,
	ERRORS_MAX_BYTES = 2048,
};

/* ---- bwrap --------------------------------------------------------------------------------- */

static int find_programs(struct attempt *t, struct err *e)
{
	const char *path_list = os_environment_find(os_environment(), "PATH");

	if (bwrap_find(t->a, t->in, path_list, &t->program, e) < 0 ||
	    bwrap_probe(t->a, t->in, t->program.fd, t->program.path, &t->program.identity,
			&t->facts.features, e) < 0)
		return err_result(e);
	return bwrap_find_stage(t->a, t->in, &t->stage, e);
}

/* Waits for `fd`. False: it timed out, or one of the processes `others` ended first. */
static bool wait_for_either(int fd, const int others[2], int timeout_ms)
{
	struct pollfd wait[] = { { .fd = fd, .events = POLLIN },
				 { .fd = others[0], .events = POLLIN },
				 { .fd = others[1], .events = POLLIN } };
	uint64_t until = loop_now() + (uint64_t)timeout_ms;
	int n;

	/* The host program may get a signal every few milliseconds, so compute the time left. */
	while ((n = poll(wait, COUNT_OF(wait), timeout_ms)) < 0 && errno == EINTR) {
		uint64_t now = loop_now();

		timeout_ms = now < until ? (int)(until - now) : 0;
	}
	return n > 0 && (wait[0].revents & POLLIN);
}

static bool wait_for(int fd, int other, int timeout_ms)
{
	return wait_for_either(fd, (const int[]){ other, -1 }, timeout_ms);
}

/*
 * Waits until the helper has executed bwrap. The kernel may have queued the helper behind this
 * process on one CPU, and this process has work to do while bwrap is loaded. A later step notices
 * if bwrap hangs or has ended.
 */
static void await_exec(const struct attempt *t)
{
	if (t->s.starter < 0)
		(void)wait_for(t->s.helper_life, t->s.helper, INFO_TIMEOUT_MS);
}

static bool is_alive(int pidfd)
{
	return !wait_for(pidfd, -1, 0);
}

/* The first line of bwrap's error output, without "bwrap: ". */
static void hear_errors(struct attempt *t, char *text, size_t room)
{
	static const char name[] = "bwrap: ";
	char raw[ERRORS_MAX_BYTES];
	struct str said;
	ssize_t n = -1;

	if (wait_for(t->s.helper, -1, LAST_WORDS_MS) || wait_for(t->errors, -1, 0)) {
		(void)fcntl(t->errors, F_SETFL, O_NONBLOCK);
		n = read(t->errors, raw, sizeof(raw));
	}
	said = (struct str){ raw, n > 0 ? (size_t)n : 0 };
	said = str_first(said, str_find(said, '\n'));
	if (str_has_prefix(said, str_of(name)))
		said = str_from(said, sizeof(name) - 1);
	(void)utf8_show(said, text, room);
}

static bool says(const char *text, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(text, *parts))
			return true;
	return false;
}

static int fail_killed(struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED, "the sandbox was killed while it was set up");
}

/* bwrap, or the helper, ended before the inner stage reported anything. */
static int word_end(struct attempt *t, struct err *e)
{
	static const char *const namespaces[] = { "namespace",	 "uid map",  "gid map", "setgroups",
						  "RTM_NEWADDR", "loopback", NULL };
	static const char *const changes[] = { "Can't find source path", "Can't create file at",
					       "Can't mkdir", "Can't stat mount", NULL };
	char text[400], path[256];

	if (t->s.starter >= 0 && !is_alive(t->s.helper) && is_alive(t->s.starter))
		return fail_killed(e);
	hear_errors(t, text, sizeof(text));
	(void)utf8_show(t->program.path, path, sizeof(path));
	if (strstr(text, "Resource temporarily unavailable"))
		return FAIL_START(e, EAGAIN, "can't start a sandbox");
	t->lacks_proc = strstr(text, "mount proc") != NULL;
	if (t->lacks_proc)
		return host_fail_proc(backend_bwrap.name, EPERM, e);
	if (says(text, namespaces))
		return host_fail_namespaces(backend_bwrap.name, EPERM, e);
	if (says(text, changes))
		return FAIL_CAUSE(
			e, CAUSE_PATH_CHANGED,
			"a path changed after the policy was compiled (bwrap: %s); nothing "
			"was run, try again",
			text);
	return FAIL_CAUSE(e, CAUSE_BWRAP_FAILED,
			  "the bwrap backend can't make its sandbox: '%s' %s%s", path,
			  *text ? "says: " : "ended, or hangs, without a word", text);
}

/* Finds "child-pid": 123 in what bwrap writes. */
static pid_t parse_pid(const char *text)
{
	static const char key[] = "\"child-pid\":";
	const char *at = strstr(text, key);
	long pid = at ? strtol(at + sizeof(key) - 1, NULL, 10) : 0;

	return pid > 0 && pid < INT32_MAX ? (pid_t)pid : 0;
}

/*
 * Waits for bwrap's info. On a busy host that takes longer; then some process of bwrap's is running
 * or ready to run. If all of them sleep, bwrap hangs, and this gives up soon.
 */
static bool await_info(const struct attempt *t)
{
	int asleep = 0;

	if (wait_for(t->info, t->s.helper, INFO_TIMEOUT_MS))
		return true;
	for (int ms = INFO_TIMEOUT_MS; ms < INFO_MAX_MS && asleep < 2; ms += INFO_LOOK_MS) {
		asleep = os_all_sleep(t->group, BWRAP_DEPTH) ? asleep + 1 : 0;
		if (wait_for(t->info, t->s.helper, INFO_LOOK_MS))
			return true;
		if (wait_for(t->s.helper, -1, 0))
			break;
	}
	return wait_for(t->info, -1, 0);
}

static int fail_stranger(const struct attempt *t, struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_BWRAP_UNUSABLE,
			  "the bwrap backend can't use '%s': it does not tell which process it has "
			  "started",
			  t->program.path.p);
}

static int find_first_process(struct attempt *t, struct err *e)
{
	char text[1024];
	size_t len = 0;
	pid_t pid;

	text[0] = '\0';
	while (!strchr(text, '}') && len < sizeof(text) - 1) {
		ssize_t n = -1;

		if (await_info(t))
			n = read(t->info, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			return word_end(t, e);
		len += (size_t)n;
		text[len] = '\0';
	}
	/* SECURITY: a false bwrap could name any process, which would then be killed with the run. */
	pid = parse_pid(text);
	if (pid > 0 && getpgid(pid) == t->group)
		t->s.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (t->s.pidfd < 0 || getpgid(pid) != t->group) {
		fd_close(&t->s.pidfd);
		return fail_stranger(t, e);
	}
	t->s.pid = pid;
	return 0;
}

/* Tells the helper which process to kill at the end of the run. */
static int tell_first_process(const struct attempt *t, struct err *e)
{
	char word = BWRAP_WORD_FIRST;
	int r = fd_pass_send(t->s.helper_life, &word, sizeof(word), &t->s.pidfd, 1, 0);

	/* help_stage() notices if the helper has ended. */
	return r < 0 && r != -EPIPE ? FAIL_SYS(e, -r, "can't send to a process") : 0;
}

/* ---- Masks from outside --------------------------------------------------------------------- */

static void nap(void)
{
	const struct timespec time = { .tv_nsec = 200000 };

	(void)nanosleep(&time, NULL);
}

static int order_masks(struct attempt *t, struct masker *m, struct err *e)
{
	size_t count = t->words.late.count;

	for (size_t i = 0; i < count; i++) {
		int r;

		while ((r = masker_order(m, str_of(t->words.late.items[i]), e)) == 0)
			nap();
		if (r < 0)
			return err_result(e);
	}
	while (atomic_load(&m->counts->done) < count) {
		if (wait_for(m->pidfd, -1, 0))
			return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED,
					  "the process that covers names was killed");
		nap();
	}
	return 0;
}

static int mask_the_rest(struct attempt *t, struct err *e)
{
	struct masker masker = MASKER_NONE;
	uint64_t masked, missed;
	char path[64], why[400];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)t->s.pid);
	t->s.root = open(path, O_PATH | O_CLOEXEC);
	if (t->s.root < 0)
		return FAIL_SYS(e, errno, "can't open the root of the sandbox");
	/* This process may be unable to join bwrap's namespaces; another backend may work. */
	if (masker_start(&masker, &t->s, e) < 0) {
		(void)utf8_show(str_of(e->text), why, sizeof(why));
		*e = (struct err)ERR_INIT;
		return FAIL_CAUSE(e, CAUSE_BWRAP_FAILED,
				  "the bwrap backend can't hide what the policy denies: %s", why);
	}
	r = order_masks(t, &masker, e);
	masker_stop(&masker, &masked, &missed);
	fd_close(&t->s.root);
	if (r < 0)
		return r;
	if (missed)
		return FAIL(e, ERR_SYS, "%llu names could not be covered in the sandbox",
			    (unsigned long long)missed);
	return 0;
}

/* ---- The inner stage ----------------------------------------------------------------------------- */

static const char *const stage_texts[] = {
#define BWRAP_STAGE_TEXT(name, text) [BWRAP_##name - INNER_STAGE_COUNT] = (text),
	BWRAP_STAGES(BWRAP_STAGE_TEXT)
#undef BWRAP_STAGE_TEXT
};

/* The file changed since the plan was made (P8), or bwrap mounted something else. */
static bool is_change(const struct init_message *m)
{
	return m->stage == BWRAP_CHANGED || m->stage == BWRAP_UNCOVERED ||
	       m->stage == BWRAP_WRITABLE ||
	       (m->stage == BWRAP_PLACE &&
		(m->os_error == ELOOP || m->os_error == ENOENT || m->os_error == ENOTDIR));
}

/* Stages that fail where AppArmor lets bwrap run but grants its children nothing; else NULL. */
static const char *needs_rights(uint32_t stage)
{
	switch (stage) {
	case BWRAP_PRIVATE:
		return "keep mounts of the host from appearing later";
	case INNER_CAPABILITIES:
		return "drop its capabilities";
	case INNER_NETWORK:
		return "set up its network";
	default:
		return NULL;
	}
}

static int word_failure(const struct attempt *t, const struct init_message *m, struct err *e)
{
	char path[400] = "";
	const char *doing;

	if (m->os_error == EPERM && needs_rights(m->stage))
		return host_fail_rights(backend_bwrap.name, needs_rights(m->stage), m->os_error, e);
	if (m->stage < INNER_STAGE_COUNT)
		return inner_word_failure(&t->job.inner, m, e);
	if (m->stage - INNER_STAGE_COUNT >= COUNT_OF(stage_texts))
		return FAIL(e, ERR_INTERNAL, "the inner stage reports an unknown stage");
	doing = stage_texts[m->stage - INNER_STAGE_COUNT];
	if (m->index < t->job.places.count)
		(void)utf8_show(str_of(t->job.places.items[m->index].path), path, sizeof(path));
	if (is_change(m))
		return FAIL_CAUSE(e, CAUSE_PATH_CHANGED,
				  "'%s' changed after the policy was compiled, or bwrap did not "
				  "mount it as told (it can't %s it); nothing was run, try again",
				  path, doing);
	if (m->stage == BWRAP_LINK) {
		err_fail_cause(
			e, ERR_HERE, CAUSE_BWRAP_FAILED, m->os_error,
			"the bwrap backend can't keep the link '%s' in its place: bwrap follows "
			"links, and the inner stage was not allowed to",
			path);
		return err_result(e);
	}
	if (m->stage == BWRAP_PLACE)
		return FAIL_SYS(e, m->os_error, "can't %s '%s' in the sandbox", doing, path);
	err_fail_cause(e, ERR_HERE, CAUSE_BWRAP_FAILED, m->os_error,
		       "the bwrap backend can't %s (step %u): bwrap did not do what it was told",
		       doing, m->index);
	return err_result(e);
}

/*
 * Waits for a message of PID 1, which may have sent it and ended. Until PID 1 runs the inner stage
 * it waits for bwrap, and bwrap does not outlive the helper, so the helper's end counts as well;
 * later the helper may have ended on purpose.
 */
static bool await_word(const struct attempt *t)
{
	const int ends[] = { t->s.pidfd, t->s.helper_leaves ? -1 : t->s.helper };

	return wait_for_either(t->s.channel, ends, READY_TIMEOUT_MS) ||
	       wait_for(t->s.channel, -1, 0);
}

/* Waits until PID 1 reports that it runs. False: it does not; await_ready() reports why. */
static bool hear_it_stands(struct attempt *t, pid_t *speaker)
{
	struct init_message stands;

	return await_word(t) &&
	       recv(t->s.channel, &stands, sizeof(stands), MSG_PEEK) == (ssize_t)sizeof(stands) &&
	       stands.kind == INIT_READY &&
	       fd_pass_receive_from(t->s.channel, &stands, sizeof(stands), speaker) > 0;
}

/* Checks that PID 1 shares no namespace with this process. */
static int compare_namespaces(struct attempt *t, struct err *e)
{
	struct init_message same = { .stage = BWRAP_NAMESPACES };

	for (; same.index < BWRAP_NAMESPACE_COUNT; same.index++) {
		struct stat st;
		char path[64];

		if (!t->job.namespaces[same.index])
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)t->s.pid,
			 bwrap_namespaces[same.index]);
		/* A security module may hide it; then PID 1 compares them itself. */
		if (stat(path, &st) < 0)
			return 0;
		if (st.st_ino == t->job.namespaces[same.index])
			return word_failure(t, &same, e);
	}
	t->has_own_namespaces = true;
	return 0;
}

/* Whether it has ended since, and has reported why. */
static bool has_failed(const struct attempt *t)
{
	struct init_message next;

	return recv(t->s.channel, &next, sizeof(next), MSG_PEEK | MSG_DONTWAIT) ==
		       (ssize_t)sizeof(next) &&
	       next.kind == INIT_FAILED;
}

/* Ends bwrap and the helper: they would only wait, and delay the end of the run. */
static void release_helpers(struct attempt *t)
{
	const char word = BWRAP_WORD_END;

	t->s.helper_leaves = t->in->adopts;
	(void)fd_pass_tell(t->s.helper_life, &word, sizeof(word), 0);
}

/*
 * Does what PID 1 can't do itself, while PID 1 checks the mounts. PID 1 waits for INIT_GO, so this
 * function does nothing that could have been done before.
 */
static int help_stage(struct attempt *t, struct err *e)
{
	struct init_order go = { .kind = INIT_GO,
				 .value = t->has_own_namespaces ? 0 : BWRAP_GO_LOOK };
	pid_t speaker;

	if (!hear_it_stands(t, &speaker))
		return 0;
	/* SECURITY: the kernel names the sender. Another process must not pose as PID 1. */
	if (speaker != t->s.pid)
		return fail_stranger(t, e);
	t->stands = true;
	if (!is_alive(t->s.helper))
		return has_failed(t) ? 0 : fail_killed(e);
	if (t->in->terminal >= 0)
		os_set_foreground(t->in->terminal, t->s.pid);
	if (t->words.late.count && mask_the_rest(t, e) < 0)
		return err_result(e);
	(void)fd_pass_tell(t->s.channel, &go, sizeof(go), 0);
	release_helpers(t);
	return 0;
}

static int await_ready(struct attempt *t, struct err *e)
{
	struct init_message first;
	struct err silence = ERR_INIT;

	if (!await_word(t))
		return word_end(t, e);
	/* await_word() also returns at the end of the channel. */
	if (inner_wait_ready(&t->job.inner, &t->s, &first, &silence) < 0) {
		if (silence.os_error != EMFILE || !t->stands)
			return word_end(t, e);
		*e = silence;
		return err_result(e);
	}
	if (first.kind != INIT_READY)
		return word_failure(t, &first, e);
	/* SECURITY: this message came too late to check its sender, which may be a false PID 1. */
	return t->stands ? 0 : fail_stranger(t, e);
}

/* Writes PID 1's id maps. If PID 1 has ended, reports why it ended instead. */
static int map_first_process(struct attempt *t, struct err *e)
{
	if (host_map_identities(backend_bwrap.name, t->s.pid, e) == 0)
		return 0;
	if (is_alive(t->s.pidfd))
		return err_result(e);
	*e = (struct err)ERR_INIT;
	return await_ready(t, e) < 0 ? err_result(e) : fail_stranger(t, e);
}

static int bring_up(struct attempt *t, struct err *e)
{
	t->job.has_own_proc = t->facts.has_own_proc;
	t->job.places.count = 0;
	t->has_own_namespaces = false;
	t->stands = false;
	if (lower_bwrap(t->a, t->in, &t->mounts, &t->facts, &t->words, e) < 0)
		return err_result(e);
	if (bwrap_spawn(t, e) < 0)
		return err_result(e);
	await_exec(t);
	/* Do this while bwrap is loaded, and the next steps while it makes its namespaces. */
	if (bwrap_find_kernel_mounts(t, e) < 0 || bwrap_write_args(t, e) < 0)
		return err_result(e);
	t->job.is_masked_later = t->words.late.count > 0;
	if (bwrap_hold_places(t, e) < 0 || bwrap_prepare_job(t, e) < 0 ||
	    bwrap_write_job(t, e) < 0 || find_first_process(t, e) < 0 ||
	    map_first_process(t, e) < 0)
		return err_result(e);
	if ((t->words.late.count || watch_is_needed(t->in->plan) || t->in->opens_paths) &&
	    host_open_namespaces(t->s.pid, &t->s.user_ns, &t->s.mount_ns, e) < 0)
		return err_result(e);
	/* bwrap waits for the end of this pipe. */
	fd_close(&t->block);
	/* Do this while bwrap mounts. */
	if (tell_first_process(t, e) < 0 || compare_namespaces(t, e) < 0 || help_stage(t, e) < 0 ||
	    await_ready(t, e) < 0)
		return err_result(e);
	t->s.has_own_network = t->facts.has_own_network;
	return 0;
}

/* ---- The backend -------------------------------------------------------------------------------------- */

static void begin(struct attempt *t, struct arena *a, const struct launch *in)
{
	*t = (struct attempt){ .a = a,
			       .in = in,
			       .program = { .fd = -1 },
			       .stage = -1,
			       .group = -1,
			       .errors = -1,
			       .info = -1,
			       .gate = -1,
			       .block = -1,
			       .args_file = -1,
			       .job_file = -1,
			       .s = SANDBOX_NONE };
}

/*
 * Whether the number of bwrap's group is still in use. SECURITY: a number that was freed may belong
 * to another group, which would be killed. Only this process frees the helper's number; bwrap itself
 * may have been reaped by a host program that ignores SIGCHLD or waits for any child.
 */
static bool is_group_alive(const struct attempt *t)
{
	return t->s.starter < 0 || os_is_child(t->s.starter);
}

static int start_or_undo(struct attempt *t, struct err *e)
{
	int r = bring_up(t, e);

	bwrap_close_ends(t);
	if (r == 0)
		return 0;
	/* The helper does so as well, but it may have been killed itself. */
	if (t->group > 1 && is_group_alive(t))
		kill(-t->group, SIGKILL);
	t->group = -1;
	inner_undo(t->in, &t->s);
	t->s = (struct sandbox)SANDBOX_NONE;
	return r;
}

static int start_with_less(struct attempt *t, guarantee_set lost, struct err *e)
{
	const struct launch *in = t->in;
	struct launch less = *in;
	int r;

	if (lost && in->lose && in->lose(in->user, lost, &less.environment, e) < 0)
		return err_result(e);
	t->in = &less;
	r = start_or_undo(t, e);
	t->in = in;
	t->s.lost = lost;
	return r;
}

/* Starts once more if bwrap was started with wrong expectations. */
static int start_as_held(struct attempt *t, struct err *e)
{
	int r = start_or_undo(t, e);

	if (r == 0 || !t->was_misled)
		return r;
	*e = (struct err)ERR_INIT;
	t->was_misled = false;
	return bwrap_lower(t, e) < 0 ? err_result(e) : start_or_undo(t, e);
}

/* Falls back to the host's /proc if the caller has accepted that. */
static int start_somehow(struct attempt *t, struct err *e)
{
	const guarantee_set proc = GUARANTEE_BIT(G_PROC);
	guarantee_set needed = t->in->plan->needs_set & proc;

	if (start_as_held(t, e) == 0)
		return 0;
	if (!t->lacks_proc || (needed & ~t->in->accepted))
		return err_result(e);
	t->facts.has_own_proc = false;
	*e = (struct err)ERR_INIT;
	return start_with_less(t, needed, e);
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	struct attempt t;
	int r = 0;

	begin(&t, a, in);
	if (bwrap_prepare(&t, e) < 0 || find_programs(&t, e) < 0 || start_somehow(&t, e) < 0)
		r = err_result(e);
	fd_close(&t.program.fd);
	fd_close(&t.stage);
	if (r < 0)
		return r;
	inner_say_lacks(in, &t.s);
	*out = t.s;
	out->narrowed = t.narrowed;
	return 0;
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	struct attempt t;
	int r;

	begin(&t, a, in);
	t.knows_kernel_mounts = true;
	r = kernel_mounts_find(a, &t.kernel, e);
	if (r == 0)
		r = bwrap_prepare(&t, e);
	if (r == 0)
		r = find_programs(&t, e);
	fd_close(&t.program.fd);
	fd_close(&t.stage);
	if (r < 0 || lower_bwrap(a, in, &t.mounts, &t.facts, &t.words, e) < 0)
		return err_result(e);
	/* One option with its arguments a line. */
	for (size_t i = 0; i < t.words.list.count; i++) {
		bool is_option = strncmp(t.words.list.items[i], "--", 2) == 0;

		if (i > 0)
			buf_add_char(out, is_option ? '\n' : ' ');
		utf8_add_shown(out, str_of(t.words.list.items[i]));
	}
	buf_add_char(out, '\n');
	for (size_t i = 0; i < t.words.late.count; i++) {
		buf_add_text(out, "hide ");
		utf8_add_shown(out, str_of(t.words.late.items[i]));
		buf_add_char(out, '\n');
	}
	return buf_check(out, e);
}

const struct backend backend_bwrap = {
	.name = "bwrap",
	.gives = mounts_give,
	.why_not = mounts_why_not,
	.describe = describe,
	.launch = launch,
	.holds_late = true,
};
