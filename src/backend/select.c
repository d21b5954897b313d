/* SPDX-License-Identifier: MIT */
/* P16: the first backend that gives all that a plan needs, or why there is none. */
#include "backend/backend.h"
#include "base/utf8.h"

enum {
	REFUSAL_MAX_BYTES = 16 << 10,
	EXPLAINED_MAX = 3, /* guarantees of which it is said why they are needed */
};

/* Names of other versions: no typos. */
static bool is_planned(struct str name)
{
	static const char *const planned[] = { "native",   "bwrap",	"landlock",
					       "seatbelt", "win_token", "win_elevated" };

	for (size_t i = 0; i < COUNT_OF(planned); i++)
		if (str_is(name, planned[i]))
			return true;
	return false;
}

/* What helps besides accepting the loss. */
static const char *way_out(enum guarantee g)
{
	switch (g) {
	case G_NET_MANAGED:
		return "native and bwrap give it; --network off or full needs it not";
	case G_DENY_FUTURE:
		return "globs = \"default\" does with less";
	case G_LIMITS:
		return "limit it from outside, in place of the profile: systemd-run --user --scope "
		       "-p MemoryMax=... -p MemorySwapMax=0 -p TasksMax=... cordon run ... (as "
		       "root without --user)";
	case G_IPC:
		return "isolation.ipc = false in the profile drops it";
	case G_PROC:
		return "isolation.proc = false in the profile drops it";
	case G_FS_WRITE:
	case G_FS_READ:
	case G_FS_CARVE:
	case G_FS_REOPEN:
	case G_PROTECT_MISSING:
	case G_NET_OFF:
	case G_KERNEL:
	case G_TREE_DEATH:
	case GUARANTEE_COUNT:
		break;
	}
	return NULL;
}

static void say_need(struct buf *out, const struct plan *plan, enum guarantee g)
{
	const struct need *need = NULL;

	for (size_t i = 0; i < plan->needs.count && !need; i++)
		if (plan->needs.items[i].guarantee == g)
			need = &plan->needs.items[i];
	buf_add_text(out, guarantee_name(g));
	if (!need)
		return;
	buf_add_text(out, " (needed because ");
	utf8_add_shown(out, str_first(need->because, 120));
	if (need->rule && need->rule->origin.file) {
		buf_printf(out, ", %s", need->rule->origin.file);
		if (need->rule->origin.line) /* an option has none */
			buf_printf(out, ":%u", (unsigned)need->rule->origin.line);
	}
	buf_add_text(out, ")");
}

static int count(guarantee_set set)
{
	int n = 0;

	for (; set; set &= set - 1)
		n++;
	return n;
}

/* ---- Attempts ---------------------------------------------------------------------------- */

static int keep_attempt(struct backend_search *s, struct backend_attempt attempt, struct err *e)
{
	struct backend_attempt *kept = VEC_PUSH(s->a, &s->attempts, e);

	if (!kept)
		return err_result(e);
	*kept = attempt;
	return 0;
}

/* "fs_carve: why, proc: why" */
static int keep_lacks(struct backend_search *s, const struct backend *b, guarantee_set lacks,
		      struct err *e)
{
	struct backend_attempt attempt = { .name = str_of(b->name),
					   .cause = CAUSE_GUARANTEE_MISSING,
					   .lacks = lacks };
	scoped_buf text = BUF_INIT(REFUSAL_MAX_BYTES);

	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (lacks & GUARANTEE_BIT(g))
			buf_printf(&text, "%s%s: %s", text.len ? ", " : "",
				   guarantee_name((enum guarantee)g),
				   b->why_not((enum guarantee)g));
	if (buf_check(&text, e) < 0 || arena_copy(s->a, buf_str(&text), &attempt.reason, e) < 0)
		return err_result(e);
	return keep_attempt(s, attempt, e);
}

int backend_fell_short(struct backend_search *s, const struct backend *candidate, struct err *e)
{
	struct backend_attempt attempt = { .name = str_of(candidate->name), .cause = e->cause };
	struct err copy = ERR_INIT;

	if (arena_copy(s->a, str_of(e->text), &attempt.reason, &copy) < 0 ||
	    keep_attempt(s, attempt, &copy) < 0) {
		*e = copy;
		return err_result(e);
	}
	err_clear(e);
	return 0;
}

void backend_say_attempts(const struct backend_search *s, struct buf *out)
{
	for (size_t i = 0; i < s->attempts.count; i++) {
		const struct backend_attempt *attempt = &s->attempts.items[i];

		buf_add_text(out, i ? "; " : "");
		utf8_add_shown(out, str_first(attempt->name, 64));
		buf_add_text(out, ": ");
		buf_add(out, attempt->reason);
	}
}

/* ---- The refusal --------------------------------------------------------------------------- */

/* The one that would do with the fewest losses; NULL: none would. */
static const struct backend_attempt *find_best(const struct backend_search *s)
{
	const struct backend_attempt *best = NULL;

	for (size_t i = 0; i < s->attempts.count; i++) {
		const struct backend_attempt *attempt = &s->attempts.items[i];

		if (attempt->lacks && (!best || count(attempt->lacks) < count(best->lacks)))
			best = attempt;
	}
	return best;
}

/* The first that would give everything, if only this host let it; NULL: none would. */
static const struct backend_attempt *find_hindered(const struct backend_search *s)
{
	for (size_t i = 0; i < s->attempts.count; i++)
		if (!s->attempts.items[i].lacks && !s->attempts.items[i].is_unknown)
			return &s->attempts.items[i];
	return NULL;
}

static void say_missing(struct buf *out, const struct backend_search *s, guarantee_set missing)
{
	int said = 0;

	if (!missing)
		buf_add_text(out, ": there is no backend for it");
	else if (s->forced)
		buf_printf(out, ": %s does not give ", s->forced);
	else
		buf_add_text(out, ": nothing gives ");

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (!(missing & GUARANTEE_BIT(g)))
			continue;
		buf_add_text(out, said ? ", " : "");
		if (said++ < EXPLAINED_MAX)
			say_need(out, s->plan, (enum guarantee)g);
		else
			buf_add_text(out, guarantee_name((enum guarantee)g));
	}
}

static void say_way_out(struct buf *out, const struct backend_search *s,
			const struct backend_attempt *best)
{
	const struct backend *b = backend_find(best->name);

	if (s->forced)
		buf_add_text(out, "; without --backend others are tried, which may");
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if ((best->lacks & GUARANTEE_BIT(g)) && way_out((enum guarantee)g))
			buf_printf(out, "; %s: %s", guarantee_name((enum guarantee)g),
				   way_out((enum guarantee)g));
	buf_printf(out, "; to run with less, by %.*s%s:", STR_ARG(best->name),
		   b && b->holds_modes_only ? ", which holds the modes read-only and "
					      "workspace-write alone"
					    : "");
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (best->lacks & GUARANTEE_BIT(g))
			buf_printf(out, " --accept-missing %s", guarantee_name((enum guarantee)g));
	if (s->accepts_no_more)
		buf_printf(out, ", but not with %s", s->accepts_no_more);
}

static int refuse(const struct backend_search *s, struct err *e)
{
	scoped_buf text = BUF_INIT(REFUSAL_MAX_BYTES);
	const struct backend_attempt *best = find_best(s);

	const struct backend_attempt *hindered = find_hindered(s);

	/* Of one alone there is no more to say than what it says. */
	if (s->forced && hindered) {
		err_fail_cause(e, ERR_HERE, hindered->cause, 0, "%s", hindered->reason.p);
		return err_result(e);
	}
	if (!hindered)
		say_missing(&text, s, best ? best->lacks : 0);
	if (s->attempts.count)
		buf_add_text(&text, "; tried ");
	backend_say_attempts(s, &text);
	if (best)
		say_way_out(&text, s, best);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	err_fail_cause(e, ERR_HERE, hindered ? hindered->cause : CAUSE_GUARANTEE_MISSING, 0,
		       "the policy can't be enforced here%s", buf_str(&text).p);
	return err_result(e);
}

/* ---- The search ------------------------------------------------------------------------------ */

static int check_forced(const char *name, struct err *e)
{
	scoped_buf known = BUF_INIT(REFUSAL_MAX_BYTES);
	char shown[64];

	if (backend_find(str_of(name)))
		return 0;
	(void)utf8_show(str_of(name), shown, sizeof(shown));
	for (size_t i = 0; backends[i]; i++)
		buf_printf(&known, "%s%s", i ? ", " : "", backends[i]->name);
	if (buf_check(&known, e) < 0)
		return err_result(e);
	if (is_planned(str_of(name)))
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNAVAILABLE,
				  "the backend '%s' is not in this version; there are %s and none",
				  shown, buf_str(&known).p);
	return FAIL(e, ERR_ARGUMENT, "there is no backend '%s'; there are %s and none", shown,
		    buf_str(&known).p);
}

int backend_begin(struct arena *a, const struct plan *plan, const names *order, const char *forced,
		  guarantee_set accepted, struct backend_search *out, struct err *e)
{
	*out = (struct backend_search){
		.a = a, .plan = plan, .accepted = accepted, .order = order, .forced = forced
	};
	return forced ? check_forced(forced, e) : 0;
}

/* The name of the next in the order; false behind the last. */
static bool take_name(struct backend_search *s, struct str *out)
{
	if (s->next >= (s->forced ? 1 : s->order->count))
		return false;
	*out = s->forced ? str_of(s->forced) : s->order->items[s->next].name;
	s->next++;
	return true;
}

/* 1 for a candidate, 0 when it is passed over. */
static int judge(struct backend_search *s, struct str name, const struct backend **out,
		 guarantee_set *lost, struct err *e)
{
	const struct backend_attempt unknown = { .name = name,
						 .cause = CAUSE_BACKEND_UNAVAILABLE,
						 .reason = STR("not in this version"),
						 .is_unknown = true };
	const struct backend *b = backend_find(name);
	guarantee_set given, lacks, open;

	if (!b)
		return keep_attempt(s, unknown, e);
	/* No sandbox is none, whatever a list says. */
	if (b == &backend_none)
		return 0;
	given = b->gives(s->plan);
	if (!given) {
		const struct backend_attempt useless = { .name = name,
							 .cause = CAUSE_WEAKER,
							 .reason = str_of(b->why_not(G_FS_WRITE)) };

		return keep_attempt(s, useless, e);
	}
	lacks = s->plan->needs_set & ~given;
	open = lacks & ~s->accepted;
	if (open)
		return keep_lacks(s, b, open, e);
	*out = b;
	*lost = lacks;
	return 1;
}

int backend_next(struct backend_search *s, const struct backend **out, guarantee_set *lost,
		 struct err *e)
{
	struct str name;

	while (take_name(s, &name)) {
		int status = judge(s, name, out, lost, e);

		if (status != 0)
			return status < 0 ? err_result(e) : 0;
	}
	return refuse(s, e);
}

/* ---- The first WSL ------------------------------------------------------------------------------ */

static bool holds(struct str text, const char *part)
{
	size_t len = strlen(part);

	for (size_t i = 0; i + len <= text.len; i++) {
		size_t n = 0;

		while (n < len && ascii_lower(text.p[i + n]) == part[n])
			n++;
		if (n == len)
			return true;
	}
	return false;
}

/*
 * WSL1 is "4.4.0-19041-Microsoft"; WSL2 was "4.19.84-microsoft-standard" first and is
 * "5.15.90.1-microsoft-standard-WSL2" now, both a Linux like any other.
 */
bool backend_is_wsl1(struct str release)
{
	return holds(release, "microsoft") && !backend_is_wsl2(release);
}

bool backend_is_wsl2(struct str release)
{
	return holds(release, "microsoft-standard") || holds(release, "wsl2");
}
