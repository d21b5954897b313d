/* SPDX-License-Identifier: MIT */
/* P16: finds the first backend that gives every guarantee a plan needs, or says why there is none. */
#include "backend/backend.h"
#include "base/utf8.h"

enum {
	REFUSAL_MAX_BYTES = 16 << 10,
};

/* Backends of other systems and versions: a policy that names one has no typo. */
static bool is_planned(struct str name)
{
	static const char *const planned[] = { "native",   "bwrap",	"landlock",
					       "seatbelt", "win_token", "win_elevated" };

	for (size_t i = 0; i < COUNT_OF(planned); i++)
		if (str_is(name, planned[i]))
			return true;
	return false;
}

/* What helps besides accepting that the guarantee is missing; NULL: nothing does. */
static const char *find_advice(enum guarantee g)
{
	switch (g) {
	case G_NET_MANAGED:
		return "use the backend native or bwrap, or --network off or full";
	case G_DENY_FUTURE:
		return "use globs = \"default\" in the profile, which needs less";
	case G_LIMITS:
		return "take it out of the profile, and let systemd limit the run: 'systemd-run "
		       "--user --scope -p MemoryMax=... -p TasksMax=... cordon run ...' (as root "
		       "without --user)";
	case G_IPC:
		return "set isolation.ipc = false in the profile";
	case G_PROC:
		return "set isolation.proc = false in the profile";
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

static const struct need *find_need(const struct plan *plan, enum guarantee g)
{
	for (size_t i = 0; i < plan->needs.count; i++)
		if (plan->needs.items[i].guarantee == g)
			return &plan->needs.items[i];
	return NULL;
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
	struct err *failure = ARENA_NEW(s->a, struct err, &copy);

	if (failure) {
		*failure = *e;
		attempt.failure = failure;
		attempt.reason = str_of(failure->text);
	}
	if (!failure || keep_attempt(s, attempt, &copy) < 0) {
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

/* The backend that lacks the fewest guarantees; NULL: none would work if they were accepted. */
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

/* The first that gives every guarantee but does not work on this host; NULL: there is none. */
static const struct backend_attempt *find_hindered(const struct backend_search *s)
{
	for (size_t i = 0; i < s->attempts.count; i++)
		if (!s->attempts.items[i].lacks && !s->attempts.items[i].is_unknown)
			return &s->attempts.items[i];
	return NULL;
}

/* "missing: fs_carve, because of '/repo/.env' = deny, cordon.toml:5" */
static void add_missing(struct err *e, const struct backend_search *s, guarantee_set missing)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		const struct need *need = find_need(s->plan, (enum guarantee)g);
		char because[240], place[ERR_FILE_BYTES + 16] = "";

		if (!(missing & GUARANTEE_BIT(g)))
			continue;
		if (!need) {
			err_add_line(e, "missing: %s", guarantee_name((enum guarantee)g));
			continue;
		}
		if (need->rule && need->rule->origin.file && need->rule->origin.line)
			(void)snprintf(place, sizeof(place), ", %s:%u", need->rule->origin.file,
				       (unsigned)need->rule->origin.line);
		else if (need->rule && need->rule->origin.file) /* an option has no line */
			(void)snprintf(place, sizeof(place), ", %s", need->rule->origin.file);
		(void)utf8_show(str_first(need->because, 120), because, sizeof(because));
		err_add_line(e, "missing: %s, needed because %s%s",
			     guarantee_name((enum guarantee)g), because, place);
	}
}

/* A backend that lacks more than this is no way out: its guarantees are named without reasons. */
enum { MAX_EXPLAINED = 2 };

static void add_lacks(struct err *e, const char *name, guarantee_set lacks)
{
	scoped_buf list = BUF_INIT(REFUSAL_MAX_BYTES);

	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (lacks & GUARANTEE_BIT(g))
			buf_printf(&list, "%s%s", list.len ? ", " : "",
				   guarantee_name((enum guarantee)g));
	err_add_line(e, "tried %s: lacks %.*s; 'cordon doctor' says why", name,
		     STR_ARG(buf_str(&list)));
}

/* "tried native: why not", and the lines that its own failure has. */
static void add_attempts(struct err *e, const struct backend_search *s)
{
	for (size_t i = 0; i < s->attempts.count; i++) {
		const struct backend_attempt *attempt = &s->attempts.items[i];
		const struct backend_attempt *before = i ? attempt - 1 : NULL;
		const struct err *failure = attempt->failure;
		struct str reason = failure ? err_line(failure, 0) : attempt->reason;
		char name[64];

		(void)utf8_show(attempt->name, name, sizeof(name));
		if (!failure && s->attempts.count > 1 && count(attempt->lacks) > MAX_EXPLAINED) {
			add_lacks(e, name, attempt->lacks);
			continue;
		}
		if (before && !failure && !before->failure && str_eq(before->reason, reason))
			err_add_line(e, "tried %s: the same", name);
		else
			err_add_line(e, "tried %s: %.*s", name, (int)reason.len, reason.p);
		for (size_t line = 1; failure && line <= failure->line_count; line++) {
			struct str more = err_line(failure, line);

			err_add_line(e, "%s: %.*s", name, (int)more.len, more.p);
		}
	}
}

static void add_advice(struct err *e, const struct backend_search *s,
		       const struct backend_attempt *best)
{
	const struct backend *b = backend_find(best->name);
	scoped_buf options = BUF_INIT(REFUSAL_MAX_BYTES);
	struct err ignored = ERR_INIT;

	if (s->forced)
		err_add_line(e, "without --backend, Cordon tries the other backends");
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (!(best->lacks & GUARANTEE_BIT(g)))
			continue;
		if (find_advice((enum guarantee)g))
			err_add_line(e, "for %s: %s", guarantee_name((enum guarantee)g),
				     find_advice((enum guarantee)g));
		if (s->names_no_options)
			buf_printf(&options, "%s\"%s\"",
				   buf_str(&options).len ? ", " : " accept_missing = [",
				   guarantee_name((enum guarantee)g));
		else
			buf_printf(&options, " --accept-missing %s",
				   guarantee_name((enum guarantee)g));
	}
	if (s->names_no_options && buf_str(&options).len)
		buf_add_text(&options, "] in your configuration");
	if (buf_check(&options, &ignored) < 0)
		return;
	if (s->accepts_no_more)
		err_add_line(e, "not allowed with %s:%s", s->accepts_no_more, buf_str(&options).p);
	else
		err_add_line(e, "to run without %s, with %.*s%s:%s",
			     count(best->lacks) == 1 ? "it" : "them", STR_ARG(best->name),
			     b && b->enforces_modes_only
				     ? " (only the modes read-only and workspace-write)"
				     : "",
			     buf_str(&options).p);
}

static int refuse(const struct backend_search *s, struct err *e)
{
	const struct backend_attempt *best = find_best(s);
	const struct backend_attempt *hindered = find_hindered(s);

	/* A single backend's own failure says everything. */
	if (s->forced && hindered && hindered->failure) {
		*e = *hindered->failure;
		return err_result(e);
	}
	if (s->forced)
		err_fail_cause(e, ERR_HERE, hindered ? hindered->cause : CAUSE_GUARANTEE_MISSING, 0,
			       "the backend %s can't enforce this policy", s->forced);
	else
		err_fail_cause(e, ERR_HERE, hindered ? hindered->cause : CAUSE_GUARANTEE_MISSING, 0,
			       "no backend can enforce this policy here");
	if (!hindered)
		add_missing(e, s, best ? best->lacks : 0);
	if (!s->attempts.count)
		err_add_line(e, "the policy's list of backends names none that this host has");
	add_attempts(e, s);
	if (best)
		add_advice(e, s, best);
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
		(void)FAIL_CAUSE(e, CAUSE_BACKEND_UNAVAILABLE,
				 "the backend '%s' is not in this version", shown);
	else
		(void)FAIL_CAUSE(e, CAUSE_UNKNOWN_BACKEND, "there is no backend '%s'", shown);
	err_add_line(e, "the backends are %s and none", buf_str(&known).p);
	return err_result(e);
}

int backend_begin(struct arena *a, const struct plan *plan, const names *order, const char *forced,
		  guarantee_set accepted, struct backend_search *out, struct err *e)
{
	*out = (struct backend_search){
		.a = a, .plan = plan, .accepted = accepted, .order = order, .forced = forced
	};
	return forced ? check_forced(forced, e) : 0;
}

/* The name of the next backend in the order; false: there are no more. */
static bool take_name(struct backend_search *s, struct str *out)
{
	if (s->next >= (s->forced ? 1 : s->order->count))
		return false;
	*out = s->forced ? str_of(s->forced) : s->order->items[s->next].name;
	s->next++;
	return true;
}

/* 1: it is a candidate; 0: it is passed over. */
static int consider(struct backend_search *s, struct str name, const struct backend **out,
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
	/* "none" is not a sandbox, so a list can't choose it. */
	if (b == &backend_none)
		return 0;
	given = b->gives(s->plan);
	if (!given && b->check_host && b->check_host(e) < 0)
		return backend_fell_short(s, b, e);
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
		int status = consider(s, name, out, lost, e);

		if (status != 0)
			return status < 0 ? err_result(e) : 0;
	}
	return refuse(s, e);
}

/* ---- WSL1 ------------------------------------------------------------------------------ */

static bool contains(struct str text, const char *part)
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
	return contains(release, "microsoft") && !backend_is_wsl2(release);
}

bool backend_is_wsl2(struct str release)
{
	return contains(release, "microsoft-standard") || contains(release, "wsl2");
}
