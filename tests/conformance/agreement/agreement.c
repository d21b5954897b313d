/* SPDX-License-Identifier: MIT */
/*
 * P20: what the kernel does and what the resolver says are the same. Random
 * profiles over random trees of real files; for each, `cordon run` runs a probe
 * that tries every path, and what worked is held against plan_resolve() for the
 * same profile, loaded before the run.
 *
 * A(p) is the resolver's answer for the canonical path p. "The same" means:
 *
 *  a file	can be opened and its right content read: A(p) >= read; opened for
 *		writing: A(p) = write. A denied one fails either way, with whichever
 *		error: a mask is as good as nothing being there.
 *  a directory	its names can be read: A(p) >= read; a file made in it: A(p) = write.
 *		So a directory that is only passed on the way to something open
 *		below it, and can't be listed, counts as denied, as it should.
 *  below a	directory that is denied, all is denied but for what is opened again:
 *  denied one	there A says read or write, and that has to work, however it is reached.
 *  a link	opened by following it: what A says for its target, unless A denies the
 *		place of the link itself or of another one on the way, then nothing. Its
 *		text can be read: A(p) >= read. A link that ":secrets" alone denies by its name
 *		is as open as its place is, if an entry opens the very target (P7).
 *  not there	can be made (as a file or a directory): A(p) = write. Below something
 *		writable P11 puts a placeholder at the first missing component; there A
 *		says read, or deny for the denied path itself, and it can't be made. A
 *		denied one can't be opened either.
 *  moving	p, where A(p) < write, or where A(q) < write for any q that was asked
 *		about below p (when a glob decides, only if it exists), can't be moved
 *		within a writable directory: else what is narrower could be put aside and
 *		replaced (P8). The same for links that are protected as such, and for
 *		where a glob starts from and what is above. What else may or may not
 *		be moved is not said by A: some of it is a mount point (EXDEV, EBUSY).
 *
 * Left out is what A does not speak of: creating a name that a glob denies (the
 * window of P6), what a private /tmp hides, and /proc, /sys and /dev, which are
 * made anew for each run. All that is tried is permitted to everyone by mode, and
 * the probe is run once without a sandbox in every tree: a try counts only where
 * it works there. Afterwards the tree has to be as before.
 *
 * $AGREEMENT_BACKEND is the backend. landlock takes only what is a mode (P19), and the
 * losses that it has to be told to accept are left out of the comparison: what is
 * narrower inside a writable root.
 */
#include "agreement.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../unit/test.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/utf8.h"
#include "cordon.h"
#include "lib/lib.h"

enum {
	POLICIES_PER_TREE = 50,
	NARROWED_POLICIES = 5,
	NORMAL_POLICIES = 300,
	TEXT_BYTES = 1 << 20,
	SHOWN_DISAGREEMENTS = 8,
	SHOWN_FAILURES = 5,
	REASON_BYTES = 500,
};

/* What is tried at a spot, and what has to come of it. */
struct expected {
	uint8_t tries;
	uint8_t works; /* of `tries` */
	struct verdict verdict;
};

struct outcome {
	int status;
	uint8_t *worked; /* for each spot */
	size_t count;
	char all[4096];		 /* on stderr */
	char said[REASON_BYTES]; /* the first line of it */
};

struct env {
	struct tree tree;
	char home[PATH_MAX_BYTES + 10], tmpdir[PATH_MAX_BYTES + 10];
	const char *list[8];
	uint8_t *control; /* what works without a sandbox */
	bool tries_all;
};

static const char *backend(void)
{
	const char *name = getenv("AGREEMENT_BACKEND");

	return name ? name : "native";
}

/* Knows the modes only, and nothing narrower inside what is writable. */
static bool is_coarse(void)
{
	return strcmp(backend(), "landlock") == 0;
}

/* ---- Running the probe --------------------------------------------------------- */

static void env_init(struct env *env)
{
	static const char *const always[] = { "PATH=/usr/bin:/bin", "LC_ALL=C" };

	(void)snprintf(env->home, sizeof(env->home), "HOME=%s/home", env->tree.top.p);
	(void)snprintf(env->tmpdir, sizeof(env->tmpdir), "TMPDIR=%s/tmp", env->tree.top.p);
	env->list[0] = env->home;
	env->list[1] = env->tmpdir;
	env->list[2] = always[0];
	env->list[3] = always[1];
	env->list[4] = NULL;
}

static int make_stream(const struct tree *t)
{
	int fd = open(t->outer, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) {
		perror(t->outer);
		exit(99);
	}
	return fd;
}

static int make_input(const struct tree *t, const struct expected *expected)
{
	int fd = make_stream(t);
	scoped_buf b = BUF_INIT((size_t)64 << 20);

	for (size_t i = 0; i < t->spots.count; i++) {
		buf_add_char(&b, t->spots.items[i].kind);
		buf_add_char(&b, (char)(expected[i].tries | TRY_ALWAYS));
		buf_add(&b, t->spots.items[i].path);
		buf_add_char(&b, '\0');
	}
	if (b.failed || write(fd, b.p, b.len) != (ssize_t)b.len || lseek(fd, 0, SEEK_SET) < 0)
		exit(99);
	return fd;
}

static _Noreturn void become(const struct env *env, const int fds[3], const char *const *argv)
{
	uid_t uid = env->tree.uid;

	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			_exit(98);
	if (uid != geteuid() && (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
		_exit(98);
	if (chdir("/") < 0)
		_exit(98);
	execve(argv[0], (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env->list);
	_exit(98);
}

static void read_outcome(struct arena *a, const int fds[3], struct outcome *out)
{
	struct err e = ERR_INIT;
	struct stat st;
	ssize_t n;

	if (fstat(fds[1], &st) < 0)
		exit(99);
	out->count = (size_t)st.st_size;
	out->worked = arena_alloc(a, out->count + 1, &e);
	if (!out->worked || pread(fds[1], out->worked, out->count, 0) != (ssize_t)out->count)
		exit(99);
	n = pread(fds[2], out->all, sizeof(out->all) - 1, 0);
	out->all[n > 0 ? n : 0] = '\0';
	(void)snprintf(out->said, sizeof(out->said), "%.*s", (int)strcspn(out->all, "\n"),
		       out->all);
}

/* Runs it in the tree's name; with all descriptors closed but the three. */
static struct outcome run(struct arena *a, const struct env *env, const struct expected *expected,
			  const char *const *argv)
{
	struct outcome out = { .status = -1 };
	int fds[3] = { make_input(&env->tree, expected), make_stream(&env->tree),
		       make_stream(&env->tree) };
	int status;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		become(env, fds, argv);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(99);
	out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
	read_outcome(a, fds, &out);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	return out;
}

/* ---- What has to come of it ----------------------------------------------------- */

static struct verdict resolve(const cordon_policy *policy, struct str path)
{
	struct verdict v = plan_resolve(policy->plan, path);
	uint32_t access = 99;

	/* The way of everyone else gives the same. */
	if (cordon_policy_access(policy, path.p, path.len, CORDON_PATH_CANONICAL, &access, NULL) <
		    0 ||
	    access != (uint32_t)v.access)
		exit(99);
	return v;
}

static struct verdict resolve_in(struct tree *t, const cordon_policy *policy, struct str dir,
				 const char *name)
{
	struct err e = ERR_INIT;
	struct str path;

	if (path_join(&t->a, dir, str_of(name), &path, &e) < 0)
		exit(99);
	return resolve(policy, path);
}

static bool is_glob_deny(struct verdict v)
{
	return v.access == ACCESS_DENY && v.rule->kind == RULE_GLOB;
}

static bool is_hidden_by_tmp(const struct tree *t, const cordon_policy *policy, struct str path)
{
	struct str tmpdir = policy->plan->places.tmpdir;

	(void)t;
	return policy->policy->profile->tmp_is_private &&
	       (path_is_under(path, STR("/tmp")) ||
		(tmpdir.len > 0 && path_is_under(path, tmpdir)));
}

/* The most that an entry for that very path lifts; 0: nothing. */
static uint32_t lifted_at(const cordon_policy *policy, struct str path)
{
	uint32_t most = 0;

	for (size_t i = 0; i < policy->plan->rules.count; i++) {
		const struct rule *rule = &policy->plan->rules.items[i];

		if (str_eq(rule->path, path))
			most = MAX_OF(most, rule->lifts);
	}
	return most;
}

/* P7: a link that only ":secrets" denies by its name is open where an entry opens its target. */
static bool is_lifted(const cordon_policy *policy, const struct spot *spot)
{
	uint32_t lifts = spot->kind == KIND_LINK && spot->target.len > 0
				 ? lifted_at(policy, spot->target)
				 : 0;

	if (!lifts || !is_glob_deny(resolve(policy, spot->path)))
		return false;
	for (size_t i = 0; i < policy->plan->rules.count; i++) {
		const struct rule *rule = &policy->plan->rules.items[i];

		if (rule->kind == RULE_GLOB && path_is_under(spot->path, rule->path) &&
		    glob_match(rule->matcher, path_below(spot->path, rule->path)) &&
		    (!rule->secret || rule->secret > lifts))
			return false;
	}
	return resolve(policy, path_parent(spot->path)).access >= ACCESS_READ;
}

/* Whether something at or below the spot is narrower, so that it has to stay where it is. */
static bool must_stay(const struct env *env, const cordon_policy *policy, const struct spot *spot)
{
	const struct plan *plan = policy->plan;

	if (resolve(policy, spot->path).access < ACCESS_WRITE && !is_lifted(policy, spot))
		return true;
	for (size_t i = 0; i < plan->links.count; i++)
		if (str_eq(plan->links.items[i].path, spot->path))
			return true;
	if (spot->kind != KIND_DIR)
		return false;
	for (size_t i = 0; i < plan->rules.count; i++) {
		const struct rule *rule = &plan->rules.items[i];
		struct stat start;

		/* Below a file there is nothing that a glob could match. */
		if (rule->kind == RULE_GLOB && path_is_under(rule->path, spot->path) &&
		    stat(rule->path.p, &start) == 0 && S_ISDIR(start.st_mode))
			return true;
	}
	for (size_t i = 0; i < env->tree.spots.count; i++) {
		const struct spot *other = &env->tree.spots.items[i];
		struct str below = other->path;
		struct verdict v;

		if (below.len <= spot->path.len || !path_is_under(below, spot->path))
			continue;
		v = resolve(policy, below);
		if (v.access < ACCESS_WRITE &&
		    (v.rule->kind != RULE_GLOB || other->kind != KIND_MISSING) &&
		    !is_lifted(policy, other))
			return true;
	}
	return false;
}

static void expect_move(struct env *env, const cordon_policy *policy, const struct spot *spot,
			struct expected *out)
{
	struct str parent = path_parent(spot->path);

	if (spot->is_foreign || spot->kind == KIND_MISSING || str_eq(spot->path, env->tree.top) ||
	    resolve(policy, parent).access != ACCESS_WRITE ||
	    resolve_in(&env->tree, policy, parent, PROBE_MOVED).access != ACCESS_WRITE)
		return;
	if (must_stay(env, policy, spot))
		out->tries |= TRY_MOVE;
}

static void expect_file_or_dir(struct env *env, const cordon_policy *policy, struct str path,
			       enum access access, bool is_dir, struct expected *out)
{
	struct verdict made = out->verdict;

	out->tries |= TRY_READ;
	if (is_dir)
		made = resolve_in(&env->tree, policy, path, PROBE_MADE);
	if (!is_dir || !is_glob_deny(made))
		out->tries |= TRY_WRITE;
	if (access >= ACCESS_READ)
		out->works |= TRY_READ;
	if (access == ACCESS_WRITE)
		out->works |= TRY_WRITE;
}

static bool is_secret(const cordon_policy *policy, struct str path)
{
	struct verdict v = resolve(policy, path);

	return is_glob_deny(v) && v.rule->secret;
}

/* The same for a link on the way: an entry may open what that one leads to. */
static bool may_be_lifted(const cordon_policy *policy, const struct spot *spot)
{
	bool is_one = false;
	bool lifts = false;

	for (size_t i = 0; i < spot->others.count; i++)
		is_one = is_one || (!str_eq(spot->others.items[i], spot->path) &&
				    is_secret(policy, spot->others.items[i]));
	for (size_t i = 0; is_one && i < policy->plan->rules.count; i++) {
		const struct rule *rule = &policy->plan->rules.items[i];

		lifts = lifts || (rule->lifts && path_is_under(spot->target, rule->path));
	}
	return lifts;
}

static void expect_link(struct env *env, const cordon_policy *policy, const struct spot *spot,
			struct expected *out)
{
	bool lifted = is_lifted(policy, spot);
	enum access access;
	struct stat st;

	if (spot->target.len > 0 && may_be_lifted(policy, spot))
		return;
	out->tries = TRY_TEXT;
	if (out->verdict.access >= ACCESS_READ || lifted)
		out->works = TRY_TEXT;
	if (spot->target.len == 0 || lstat(spot->target.p, &st) < 0 ||
	    is_hidden_by_tmp(&env->tree, policy, spot->target) ||
	    !path_is_under(spot->target, env->tree.top))
		return;
	access = resolve(policy, spot->target).access;
	for (size_t i = 0; i < spot->others.count; i++)
		if ((resolve(policy, spot->others.items[i]).access == ACCESS_DENY &&
		     !(lifted && str_eq(spot->others.items[i], spot->path))) ||
		    is_hidden_by_tmp(&env->tree, policy, spot->others.items[i]))
			access = ACCESS_DENY;
	expect_file_or_dir(env, policy, spot->target, access, S_ISDIR(st.st_mode), out);
}

static void expect_missing(const cordon_policy *policy, const struct spot *spot,
			   struct expected *out)
{
	if (out->verdict.access == ACCESS_DENY)
		out->tries |= TRY_READ;
	if (is_glob_deny(out->verdict))
		return;
	out->tries |= TRY_CREATE;
	if (out->verdict.access == ACCESS_WRITE &&
	    resolve(policy, path_parent(spot->path)).access == ACCESS_WRITE)
		out->works |= TRY_CREATE;
}

/* Leaves out what rests on losses that are accepted. */
static void leave_losses_out(const cordon_policy *policy, const struct spot *spot,
			     struct expected *out)
{
	struct verdict decides = out->verdict;

	if (spot->kind == KIND_LINK && spot->target.len > 0)
		decides = resolve(policy, spot->target);
	out->tries &= (uint8_t)~TRY_MOVE;
	if (decides.rule->kind != RULE_ENTRY)
		out->tries &= (uint8_t) ~(TRY_WRITE | TRY_CREATE);
}

/*
 * What is refused costs nothing to try. A file that is made and removed does, on
 * some file systems a millisecond: of those that should work some are left out.
 */
static void leave_some_out(struct env *env, const struct spot *spot, struct expected *out)
{
	int makes = spot->kind == KIND_DIR || spot->kind == KIND_LINK ? TRY_WRITE : TRY_CREATE;

	if ((out->works & makes) && !env->tries_all && !tree_chance(&env->tree, 4))
		out->tries &= (uint8_t)~makes;
}

static void expect(struct env *env, const cordon_policy *policy, const struct spot *spot,
		   struct expected *out)
{
	*out = (struct expected){ .verdict = resolve(policy, spot->path) };
	if (is_hidden_by_tmp(&env->tree, policy, spot->path))
		return;
	switch (spot->kind) {
	case KIND_LINK:
		expect_link(env, policy, spot, out);
		break;
	case KIND_MISSING:
		expect_missing(policy, spot, out);
		break;
	default:
		expect_file_or_dir(env, policy, spot->path, out->verdict.access,
				   spot->kind == KIND_DIR, out);
		if (spot->is_foreign)
			out->tries &= (uint8_t)~TRY_WRITE;
	}
	leave_some_out(env, spot, out);
	expect_move(env, policy, spot, out);
	if (is_coarse())
		leave_losses_out(policy, spot, out);
}

/* ---- One case -------------------------------------------------------------------- */

enum result { SAME, DIFFERENT, REFUSED, NO_POLICY };

struct tally {
	size_t run, refused, no_policy, unanswered;
	size_t tries[5][2]; /* of each kind: that should fail, that should work */
	struct reason {
		char words[REASON_BYTES], example[REASON_BYTES];
		size_t count;
	} reasons[40];
	size_t reason_count;
};

/* By their words without names; one of each is shown. */
static void count_reason(struct tally *tally, const char *text)
{
	char words[REASON_BYTES];
	const char *from = text;
	size_t i = 0, len = 0;

	for (bool is_name = false; *from && len < sizeof(words) - 1; from++) {
		if (*from == '\'' || *from == '"')
			is_name = !is_name;
		else if (*from == '/')
			from += strcspn(from, " :,\'\"") - 1;
		else if (!is_name)
			words[len++] = *from;
	}
	words[len] = '\0';
	while (i < tally->reason_count && strncmp(tally->reasons[i].words, words, 30) != 0)
		i++;
	if (i == COUNT_OF(tally->reasons))
		return;
	if (i == tally->reason_count) {
		struct reason *reason = &tally->reasons[tally->reason_count++];

		(void)snprintf(reason->words, sizeof(reason->words), "%s", words);
		(void)snprintf(reason->example, sizeof(reason->example), "%s", text);
	}
	tally->reasons[i].count++;
}

static void count_tries(struct tally *tally, const struct expected *expected, uint8_t control)
{
	for (int i = 0; i < 5; i++)
		if (expected->tries & control & (1 << i))
			tally->tries[i][(expected->works >> i) & 1]++;
}

static cordon_policy *load(const struct env *env, char said[REASON_BYTES])
{
	struct cordon_load_options o = { .size = sizeof(o), .profile = "rand" };
	char ws[PATH_MAX_BYTES];
	cordon_policy *policy = NULL;
	cordon_error *error = NULL;

	(void)snprintf(ws, sizeof(ws), "%s/ws", env->tree.top.p);
	o.directory = ws;
	o.config_file = env->tree.config.p;
	o.environment = env->list;
	if (cordon_policy_load(&o, &policy, &error) < 0) {
		(void)snprintf(said, REASON_BYTES, "%s", cordon_error_text(error));
		cordon_error_free(error);
	}
	return policy;
}

static void write_config(const struct env *env, const struct draft *p)
{
	scoped_buf b = BUF_INIT(TEXT_BYTES);
	FILE *f = fopen(env->tree.config.p, "w");

	draft_print(p, &b);
	if (!f || b.failed || fputs(buf_str(&b).p, f) < 0 || fclose(f) != 0)
		exit(99);
}

/* How it is run: as it should be, or in a way that must be noticed. */
enum way { WAY_RIGHT, WAY_NO_SANDBOX, WAY_READ_ONLY };

static struct outcome run_cordon(struct arena *a, const struct env *env,
				 const struct expected *expected, enum way way)
{
	static const char *const accepted[] = { "fs_carve", "protect_missing", "ipc", "proc",
						"tree_death" };
	const char *argv[40], *program = getenv("CORDON");
	char ws[PATH_MAX_BYTES], probe[PATH_MAX_BYTES];
	int n = 0;

	(void)snprintf(ws, sizeof(ws), "%s/ws", env->tree.top.p);
	(void)snprintf(probe, sizeof(probe), "%s/bin/probe", env->tree.top.p);
	argv[n++] = program ? program : "cordon";
	argv[n++] = "run";
	argv[n++] = "--quiet";
	argv[n++] = "--config-file";
	argv[n++] = env->tree.config.p;
	argv[n++] = "-P";
	argv[n++] = way == WAY_READ_ONLY ? ":read-only" : "rand";
	argv[n++] = "-C";
	argv[n++] = ws;
	argv[n++] = "--backend";
	argv[n++] = way == WAY_NO_SANDBOX ? "none" : backend();
	for (size_t i = 0; is_coarse() && i < COUNT_OF(accepted); i++) {
		argv[n++] = "--accept-missing";
		argv[n++] = accepted[i];
	}
	argv[n++] = "--";
	argv[n++] = probe;
	argv[n] = NULL;
	return run(a, env, expected, argv);
}

static void show_bits(const char *label, int bits)
{
	printf("%s:%s%s%s%s%s%s", label, bits ? "" : " nothing", bits & TRY_READ ? " read" : "",
	       bits & TRY_WRITE ? " write" : "", bits & TRY_MOVE ? " move" : "",
	       bits & TRY_CREATE ? " create" : "", bits & TRY_TEXT ? " text" : "");
}

static void show_spot(const struct spot *spot, const struct expected *expected, int worked)
{
	static const char *const accesses[] = { "deny", "read", "write" };
	const struct rule *rule = expected->verdict.rule;
	char text[600];

	printf("#   %s", utf8_show(spot->path, text, sizeof(text)));
	if (spot->kind == KIND_LINK)
		printf(" -> %s", utf8_show(spot->target, text, sizeof(text)));
	printf(" (%c)\n#      says %s, by '%s' at", spot->kind, accesses[expected->verdict.access],
	       utf8_show(rule->key, text, sizeof(text)));
	printf(" %s (kind %d)\n#      tried", utf8_show(rule->path, text, sizeof(text)),
	       (int)rule->kind);
	show_bits("", expected->tries);
	show_bits("; should work", expected->works);
	show_bits("; worked", worked);
	printf("\n");
}

/* Compares; shows what differs when told to. */
static size_t compare(const struct env *env, const struct expected *expected,
		      const struct outcome *out, bool shows)
{
	size_t different = 0;

	for (size_t i = 0; i < env->tree.spots.count; i++) {
		uint8_t counts = expected[i].tries & env->control[i];

		if (((out->worked[i] ^ expected[i].works) & counts) == 0)
			continue;
		if (shows && different < SHOWN_DISAGREEMENTS)
			show_spot(&env->tree.spots.items[i], &expected[i], out->worked[i]);
		different++;
	}
	if (shows && different > SHOWN_DISAGREEMENTS)
		printf("#   and %zu more\n", different - SHOWN_DISAGREEMENTS);
	return different;
}

static void show_no_answers(struct env *env, const cordon_policy *policy, const struct outcome *out)
{
	struct spot probe = { .kind = KIND_OTHER, .path = tree_path(&env->tree, "bin/probe") };
	struct expected expected;

	printf("# status %d, %zu answers instead of %zu: %s\n", out->status, out->count,
	       env->tree.spots.count, out->said);
	expect(env, policy, &probe, &expected);
	show_spot(&probe, &expected, 0);
}

/* What landlock can't hold, and says so. */
static bool is_refused_by_name(const char *said)
{
	return is_coarse() && (strstr(said, "missing: fs_") || strstr(said, "only the modes") ||
			       strstr(said, "keep Cordon's own"));
}

/* Whether it is right that there are no answers: the policy denies what a run can't do without. */
static bool may_not_run(struct env *env, const cordon_policy *policy, struct outcome *out)
{
	if (out->status == 125 && is_refused_by_name(out->all))
		return true;
	if (out->status == 125)
		return resolve_in(&env->tree, policy, env->tree.top, "ws").access == ACCESS_DENY;
	if (out->status != 126 && out->status != 127)
		return false;
	(void)snprintf(out->said, sizeof(out->said), "the policy denies the probe");
	return resolve_in(&env->tree, policy, env->tree.top, "bin/probe").access == ACCESS_DENY;
}

static enum result try_profile(struct env *env, const struct draft *p, enum way way, bool shows,
			       struct tally *tally)
{
	scoped_arena a = ARENA_INIT(64 << 20);
	size_t count = env->tree.spots.count;
	struct err e = ERR_INIT;
	struct expected *expected = arena_array(&a, count, sizeof(*expected), &e);
	struct outcome out = { .status = 0 };
	cordon_policy *policy;
	size_t different;

	if (!expected)
		exit(99);
	write_config(env, p);
	policy = load(env, out.said);
	if (!policy) {
		tally->no_policy++;
		count_reason(tally, out.said);
		return NO_POLICY;
	}
	for (size_t i = 0; i < count; i++) {
		expect(env, policy, &env->tree.spots.items[i], &expected[i]);
		count_tries(tally, &expected[i], env->control[i]);
	}
	out = run_cordon(&a, env, expected, way);
	if (way == WAY_RIGHT && may_not_run(env, policy, &out)) {
		tally->refused++;
		count_reason(tally, out.said);
		cordon_policy_free(policy);
		return REFUSED;
	}
	tally->run++;
	if (out.status != 0 || out.count != count) {
		if (shows)
			show_no_answers(env, policy, &out);
		tally->unanswered++;
		different = 1;
	} else {
		different = compare(env, expected, &out, shows);
	}
	cordon_policy_free(policy);
	return different ? DIFFERENT : SAME;
}

static void show_draft(const struct draft *p)
{
	scoped_buf b = BUF_INIT(TEXT_BYTES);

	draft_print(p, &b);
	test_print_str("", buf_str(&b).p);
}

/* Leaves out every line without which it still differs, and shows what remains. */
static void shrink_and_show(struct env *env, struct draft *p)
{
	struct tally ignored = { .run = 0 };
	bool smaller = true;

	env->tries_all = true;
	while (smaller) {
		smaller = false;
		for (size_t i = 1; i < p->lines.count; i++) { /* [0] lets the probe be run */
			enum result r;

			if (p->lines.items[i].is_out)
				continue;
			p->lines.items[i].is_out = true;
			r = try_profile(env, p, WAY_RIGHT, false, &ignored);
			if (r == DIFFERENT)
				smaller = true;
			else
				p->lines.items[i].is_out = false;
			if (tree_changes(&env->tree))
				return;
		}
	}
	printf("# What matters of it:\n");
	show_draft(p);
	if (try_profile(env, p, WAY_RIGHT, true, &ignored) != DIFFERENT)
		printf("# ... which does not differ when it is tried again\n");
	env->tries_all = false;
}

/* ---- All of them ------------------------------------------------------------------ */

static bool env_start(struct env *env, uint64_t seed)
{
	const char *probe = getenv("AGREEMENT_PROBE");
	char in_tree[PATH_MAX_BYTES];
	const char *argv[] = { in_tree, NULL };
	struct err e = ERR_INIT;
	struct expected *all;
	struct outcome out;

	if (!probe || !tree_make(&env->tree, seed, probe))
		return false;
	env_init(env);
	all = arena_array(&env->tree.a, env->tree.spots.count, sizeof(*all), &e);
	if (!all)
		return false;
	for (size_t i = 0; i < env->tree.spots.count; i++) {
		const struct spot *spot = &env->tree.spots.items[i];

		all[i].tries = spot->is_foreign
				       ? TRY_READ
				       : TRY_READ | TRY_WRITE | TRY_MOVE | TRY_CREATE | TRY_TEXT;
		if (spot->kind != KIND_MISSING)
			all[i].tries &= (uint8_t)~TRY_CREATE;
	}
	(void)snprintf(in_tree, sizeof(in_tree), "%s/bin/probe", env->tree.top.p);
	out = run(&env->tree.a, env, all, argv);
	env->control = out.worked;
	if (out.status != 0 || out.count != env->tree.spots.count) {
		printf("# the probe: status %d: %s\n", out.status, out.said);
		return false;
	}
	/* Nothing is to be read there: what can be read then is what should not be. */
	for (size_t i = 0; i < env->tree.spots.count; i++)
		if (env->tree.spots.items[i].kind == KIND_MISSING)
			env->control[i] |= TRY_READ;
	return true;
}

/* CORDON_KEEP keeps the tree of a failure, for a closer look. */
static void env_done(struct env *env, bool failed)
{
	if (failed && getenv("CORDON_KEEP"))
		printf("# kept: %s\n", env->tree.top.p);
	else
		tree_remove(&env->tree);
}

static void show_failure(struct env *env, struct draft *p, uint64_t seed, size_t n)
{
	printf("# policy %zu of CORDON_SEED=%" PRIu64 " CORDON_CASES=%d, as uid %u:\n", n, seed,
	       (int)POLICIES_PER_TREE, (unsigned)env->tree.uid);
	show_draft(p);
}

/*
 * As many policies as are wanted; only some where most will be refused, for a mode (P19) that
 * the project's own file narrows is none any more. Those don't count as tried.
 */
static size_t try_tree(uint64_t seed, size_t policies, struct tally *tally, size_t *shown,
		       size_t *tried)
{
	struct env env = { .tries_all = false };
	size_t failures = 0;

	if (!CHECK(env_start(&env, seed)))
		return 1;
	if (is_coarse() && env.tree.is_narrowed)
		policies = MIN_OF(policies, (size_t)NARROWED_POLICIES);
	else
		*tried += policies;
	for (size_t n = 0; n < policies; n++) {
		struct draft p;
		bool is_changed;
		enum result r;

		draft_make(&env.tree, &p, is_coarse());
		r = try_profile(&env, &p, WAY_RIGHT, *shown < SHOWN_FAILURES, tally);
		is_changed = tree_changes(&env.tree) > 0;
		if (r != DIFFERENT && !is_changed)
			continue;
		failures++;
		if ((*shown)++ < SHOWN_FAILURES)
			show_failure(&env, &p, seed, n);
		if (!is_changed && *shown <= SHOWN_FAILURES)
			shrink_and_show(&env, &p);
		if (is_changed || tree_changes(&env.tree) > 0)
			break;
	}
	env_done(&env, failures > 0);
	return failures;
}

static void show_tally(const struct tally *tally, size_t failures)
{
	static const char *const kinds[] = { "read", "write", "move", "create", "see a link" };

	printf("# %zu policies run, %zu differ, %zu refused, %zu no valid policy\n", tally->run,
	       failures, tally->refused, tally->no_policy);
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		printf("#   tried to %s: %zu that should fail, %zu that should work\n", kinds[i],
		       tally->tries[i][0], tally->tries[i][1]);
	for (size_t i = 0; i < tally->reason_count; i++)
		printf("#   %zu times: %s\n", tally->reasons[i].count, tally->reasons[i].example);
}

TEST(what_the_kernel_does_is_what_the_resolver_says)
{
	uint64_t seed = test_seed();
	size_t wanted = test_cases(NORMAL_POLICIES);
	struct tally tally = { .run = 0 };
	size_t failures = 0, shown = 0, tried = 0;

	while (tried < wanted && failures < SHOWN_FAILURES)
		failures += try_tree(seed++, MIN_OF((size_t)POLICIES_PER_TREE, wanted - tried),
				     &tally, &shown, &tried);
	show_tally(&tally, failures);
	CHECK_INT(failures, 0);
	CHECK(tally.run * 10 >= tried * 7);
}

/* What a run that goes that way does otherwise: read-only nothing is written, without a sandbox all. */
static size_t count_wrong(const struct tally *tally, enum way way)
{
	size_t wrong = 0;

	if (way == WAY_READ_ONLY)
		return tally->tries[1][1] + tally->tries[3][1];
	for (size_t i = 0; i < COUNT_OF(tally->tries); i++)
		wrong += tally->tries[i][0];
	return wrong;
}

/* A mode that the project's own file narrows may be refused, however it is run. */
static bool env_start_for_any_way(struct env *env, uint64_t seed)
{
	while (env_start(env, seed++)) {
		if (!is_coarse() || !env->tree.is_narrowed)
			return true;
		env_done(env, false);
	}
	return false;
}

/*
 * The other way round: a run that does not do what the policy says is noticed. Where there are
 * only modes, every other policy is the same one, and proves nothing.
 */
static void must_be_noticed(enum way way)
{
	enum { WRONG = 12, MOST = 10 * WRONG };
	struct tally tally = { .run = 0 };
	size_t noticed = 0, wrong = 0;
	struct env env = { .tries_all = false };

	REQUIRE(env_start_for_any_way(&env, test_seed()));
	for (size_t n = 0; n < MOST && wrong < WRONG; n++) {
		size_t before = count_wrong(&tally, way);
		enum result result;
		struct draft p;

		draft_make(&env.tree, &p, is_coarse());
		result = try_profile(&env, &p, way, false, &tally);
		CHECK_INT(tree_changes(&env.tree), 0);
		if (count_wrong(&tally, way) == before)
			continue;
		wrong++;
		noticed += result == DIFFERENT;
	}
	env_done(&env, false);
	printf("# %zu of %zu\n", noticed, wrong);
	CHECK_INT(noticed, wrong);
	CHECK_INT(wrong, WRONG);
	CHECK_INT(tally.unanswered, 0);
}

TEST(a_run_without_a_sandbox_differs)
{
	must_be_noticed(WAY_NO_SANDBOX);
}

TEST(a_run_with_another_policy_differs)
{
	must_be_noticed(WAY_READ_ONLY);
}
