/* SPDX-License-Identifier: MIT */
/*
 * How long policies of many entries take from their text to the plan, how much
 * memory they need, and how fast the plan answers. Prints a JSON object a line:
 *
 *	{"bench":"plan_compile","entries":1000,"config_ms":…,"policy_ms":…,"plan_ms":…,
 *	 "compile_ms":…,"peak_bytes":…,"max_rss_kb":…}
 *	{"bench":"plan_answers","entries":10000,"globs":0,"case":"…","answers_per_second":…}
 *
 * Each is the best of several rounds: other work on the machine disturbs less. The
 * host is made up and has no cost of its own: all that the policy names is
 * an existing directory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/path.h"
#include "plan/plan.h"
#include "policy/policy.h"

enum { FILES_IN_DIR = 100, GLOBS = 4, QUERIES = 1 << 14, ANSWER_ROUNDS = 40 };

#define ARENA_LIMIT ((size_t)2 << 30)

static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- The host ----------------------------------------------------------- */

/* What the entries name exists; what the passes look for besides (.git, HEAD …) does not. */
static int look(void *user, struct str path, struct host_file *out, struct err *e)
{
	struct str name = path_name(path);
	bool exists = name.len == 0 || str_is(name, "srv") || str_is(name, "home") ||
		      ((name.p[0] == 'd' || name.p[0] == 'f') && name.len > 4);

	(void)user;
	(void)e;
	*out = (struct host_file){ .type = exists ? HOST_DIR : HOST_MISSING, .inode = exists };
	return 0;
}

static int read_nothing(void *user, struct str path, struct buf *out, struct err *e)
{
	(void)user;
	(void)out;
	return FAIL_SYS(e, ENOENT, "%.*s", STR_ARG(path));
}

static int list_nothing(void *user, struct str path,
			int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
			void *arg, struct err *e)
{
	(void)user;
	(void)path;
	(void)each;
	(void)arg;
	(void)e;
	return 0;
}

static const struct host host = {
	.look = look, .read_link = read_nothing, .read_file = read_nothing, .list = list_nothing
};

/* ---- From text to plan -------------------------------------------------- */

static void entry_path(char *out, size_t room, size_t i)
{
	(void)snprintf(out, room, "/srv/d%05zu/f%05zu", i / FILES_IN_DIR, i % FILES_IN_DIR);
}

/* Half of the entries read, one in sixteen writes, the others deny. */
static void make_text(struct buf *b, size_t entries, size_t globs)
{
	buf_add_text(b, "default_permissions = \"big\"\n[permissions.big.filesystem]\n"
			"\"/\" = \"read\"\n\"/srv\" = \"write\"\n");
	for (size_t i = 0; i < globs; i++)
		buf_printf(b, "\"/srv/**/%c*.env\" = \"deny\"\n", (int)('a' + i));
	for (size_t i = 0; i + 2 < entries; i++) {
		char path[64];

		entry_path(path, sizeof(path), i);
		buf_printf(b, "\"%s\" = \"%s\"\n", path,
			   i % 16 == 0	? "write"
			   : i % 2 == 1 ? "read"
					: "deny");
	}
}

struct made {
	double config_ms, policy_ms, plan_ms;
	struct plan *plan;
};

static struct plan *make_plan(struct arena *a, struct str text, struct made *out, struct err *e)
{
	static const struct str root = STR_INIT("/srv");
	struct config_inputs inputs = {
		.user = { .file = "bench.toml", .text = text, .is_present = true }
	};
	struct selection selection = { .fallback = ":read-only" };
	struct plan_inputs in = {
		.places = { .cwd = root, .home = STR("/home"), .tmpdir = STR_EMPTY },
		.host = &host,
	};
	const struct profile_doc *doc;
	const struct config *config;
	double times[4] = { now_ms() };

	in.places.roots = &root;
	in.places.root_count = 1;
	config = config_load(a, &inputs, e);
	if (!config)
		return NULL;
	times[1] = now_ms();
	doc = config_select(a, config, &selection, e);
	if (!doc)
		return NULL;
	in.policy = policy_compile(a, config, doc, NULL, 0, NULL, e);
	if (!in.policy)
		return NULL;
	times[2] = now_ms();
	out->plan = plan_build(a, &in, e);
	if (!out->plan)
		return NULL;
	times[3] = now_ms();
	out->config_ms = times[1] - times[0];
	out->policy_ms = times[2] - times[1];
	out->plan_ms = times[3] - times[2];
	return out->plan;
}

static int bench_compile(size_t entries, struct err *e)
{
	scoped_buf text = BUF_INIT(CONFIG_MAX_BYTES);
	size_t rounds = entries > 20000 ? 3 : 7;
	struct made best = { .plan = NULL };
	struct rusage usage;
	size_t bytes = 0;

	make_text(&text, entries, 0);
	for (size_t i = 0; i < rounds; i++) {
		scoped_arena a = ARENA_INIT(ARENA_LIMIT);
		struct made made = { .plan = NULL };

		if (!make_plan(&a, buf_str(&text), &made, e))
			return err_result(e);
		bytes = a.used_bytes;
		if (!best.plan || made.config_ms + made.policy_ms + made.plan_ms <
					  best.config_ms + best.policy_ms + best.plan_ms)
			best = made;
	}
	(void)getrusage(RUSAGE_SELF, &usage);
	printf("{\"bench\":\"plan_compile\",\"entries\":%zu,\"config_ms\":%.2f,\"policy_ms\":%.2f,"
	       "\"plan_ms\":%.2f,\"compile_ms\":%.2f,\"peak_bytes\":%zu,\"max_rss_kb\":%ld}\n",
	       entries, best.config_ms, best.policy_ms, best.plan_ms,
	       best.config_ms + best.policy_ms + best.plan_ms, bytes, usage.ru_maxrss);
	return buf_check(&text, e);
}

/* ---- Answers ------------------------------------------------------------ */

struct queries {
	char text[QUERIES][64];
	struct str path[QUERIES];
};

/* A third are entries themselves, a third lie below one, a third match nothing but a directory. */
static void make_queries(struct queries *q, size_t entries)
{
	uint64_t state = 1;

	for (size_t i = 0; i < QUERIES; i++) {
		char *text = q->text[i];
		size_t len;

		state = state * 6364136223846793005u + 1442695040888963407u;
		entry_path(text, sizeof(q->text[i]), (size_t)(state >> 33) % entries);
		len = strlen(text);
		if (i % 3 == 1)
			(void)snprintf(text + len, sizeof(q->text[i]) - len, "/src/main.c");
		if (i % 3 == 2)
			(void)snprintf(text + len - 5, sizeof(q->text[i]) - len, "none/a.out");
		q->path[i] = str_of(text);
	}
}

static int bench_answers(size_t entries, size_t globs, struct err *e)
{
	static struct queries q;
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	scoped_buf text = BUF_INIT(CONFIG_MAX_BYTES);
	size_t sum = 0;
	struct made made = { .plan = NULL };
	struct plan *plan;
	double best_ms = 0;

	make_text(&text, entries, globs);
	plan = make_plan(&a, buf_str(&text), &made, e);
	if (!plan)
		return err_result(e);
	make_queries(&q, entries);
	for (size_t round = 0; round < ANSWER_ROUNDS; round++) {
		double start = now_ms(), took;

		for (size_t i = 0; i < QUERIES; i++)
			sum += plan_resolve(plan, q.path[i]).access;
		took = now_ms() - start;
		best_ms = round == 0 || took < best_ms ? took : best_ms;
	}
	printf("{\"bench\":\"plan_answers\",\"entries\":%zu,\"globs\":%zu,\"case\":\"%s\","
	       "\"answers_per_second\":%.0f,\"checksum\":%zu}\n",
	       entries, globs, globs ? "with globs" : "no globs", QUERIES / (best_ms / 1e3), sum);
	return 0;
}

int main(void)
{
	static const size_t sizes[] = { 1000, 10000, 100000 };
	struct err e = ERR_INIT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < COUNT_OF(sizes); i++)
		r = bench_compile(sizes[i], &e);
	if (r == 0)
		r = bench_answers(10000, 0, &e);
	if (r == 0)
		r = bench_answers(10000, GLOBS, &e);
	if (r < 0)
		(void)fprintf(stderr, "bench_plan: %s\n", e.text);
	return r < 0;
}
