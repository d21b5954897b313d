/* SPDX-License-Identifier: MIT */
/*
 * What was refused, for people: who tried what, which rule forbids it, and what would allow it.
 * What would allow a path is tried on copies of the policy, which takes time: only for the
 * denials that somebody reads.
 */
#include "backend/denials.h"

#include <stdio.h>

#include "base/path.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "plan/homes.h"
#include "plan/obeyed.h"
#include "plan/words.h"
#include "session/run.h"

enum {
	LISTED_MAX = 5,	   /* on stderr; the others are counted */
	NAME_BYTES = 1024, /* of a path in a sentence */
	TEXT_MAX_BYTES = 64 << 10,
	TRIAL_MAX_BYTES = 768 << 20,
};

/* ---- In words --------------------------------------------------------------------------- */

const char *denial_kind_name(enum denial_kind kind)
{
	static const char *const names_of[] = {
		[DENIAL_UNIX_SOCKET] = "unix_socket", [DENIAL_HOST] = "host", [DENIAL_PATH] = "path"
	};

	return names_of[kind];
}

void denial_add_rule(struct buf *out, const struct denial *denial)
{
	if (denial->by)
		rule_add_words(out, denial->by);
	else
		utf8_add_shown(out, denial->rule);
}

struct origin denial_origin(const struct denial *denial)
{
	return denial->by ? denial->by->origin : denial->origin;
}

static void add_name(struct buf *out, struct str name)
{
	char shown[NAME_BYTES];

	buf_add_text(out, utf8_show(name, shown, sizeof(shown)));
}

static void add_place(struct buf *out, struct origin origin)
{
	if (!origin.file)
		return;
	buf_add_text(out, ", ");
	add_name(out, str_of(origin.file));
	if (origin.line && strcmp(origin.file, "built-in") != 0)
		buf_printf(out, ":%u", (unsigned)origin.line);
}

void denial_add_sentence(struct buf *out, const struct denial *denial)
{
	if (denial->program.len)
		add_name(out, denial->program);
	else
		buf_add_text(out, "the command");
	buf_printf(out, " was %snot allowed to %s '", denial->is_guess ? "probably " : "",
		   operation_meaning(denial->operation));
	add_name(out, denial->subject);
	buf_add_text(out, "' (");
	denial_add_rule(out, denial);
	add_place(out, denial_origin(denial));
	buf_add_char(out, ')');
	if (denial->denied_how)
		buf_printf(out, ", %s", denial->denied_how);
	if (denial->count > 1)
		buf_printf(out, ", %llu times", (unsigned long long)denial->count);
}

/* ---- What would allow it ------------------------------------------------------------------ */

enum access denial_access(const struct denial *denial)
{
	return denial->operation == OPERATION_READ || denial->operation == OPERATION_EXEC
		       ? ACCESS_READ
		       : ACCESS_WRITE;
}

/* Whether the operation changes the directory that the name is in, not what the name stands for. */
static bool changes_names(enum operation operation)
{
	switch (operation) {
	case OPERATION_CREATE:
	case OPERATION_MKDIR:
	case OPERATION_MKNOD:
	case OPERATION_SYMLINK:
	case OPERATION_LINK:
	case OPERATION_UNLINK:
	case OPERATION_RMDIR:
	case OPERATION_RENAME:
		return true;
	case OPERATION_CONNECT:
	case OPERATION_UNIX_CONNECT:
	case OPERATION_LOOKUP:
	case OPERATION_OPEN_WRITE:
	case OPERATION_TRUNCATE:
	case OPERATION_CHMOD:
	case OPERATION_CHOWN:
	case OPERATION_UTIME:
	case OPERATION_XATTR:
	case OPERATION_READ:
	case OPERATION_EXEC:
		break;
	}
	return false;
}

/* A home, "/", or a directory above a home: never to be opened for the sake of one attempt. */
static bool is_too_wide(struct arena *a, const struct plan_inputs *in, struct str path)
{
	struct err ignored = ERR_INIT;
	struct home_match home;

	return path.len <= 1 || homes_match(a, in->host, &in->places, path, &home, &ignored) < 0 ||
	       home.home.len > 0;
}

struct str denial_opens(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
			const struct denial *denial)
{
	struct str opens = denial->opens.len ? denial->opens : denial->subject;

	if (denial->kind != DENIAL_PATH)
		return STR_EMPTY;
	/* As of a protected name in a directory that is writable. */
	if (plan_resolve(plan, opens).access >= denial_access(denial))
		opens = denial->subject;
	if (is_too_wide(a, in, opens) && !changes_names(denial->operation))
		opens = denial->subject;
	return is_too_wide(a, in, opens) ? STR_EMPTY : opens;
}

/* What was tried last, for the next denial in the same directory. */
struct last_way {
	struct arena scratch;
	struct str opens;
	enum access access;
	struct option_change change;
};

static bool is_answered(const struct last_way *last, const struct attempt_needs *needs)
{
	return last->change.option && last->access == needs->access &&
	       str_eq(last->opens, needs->opens) &&
	       plan_resolve(last->change.plan, needs->subject).access >= needs->access;
}

static int word_way(struct arena *a, struct denial *denial, const struct option_change *change,
		    struct err *e)
{
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct str value, way;

	buf_printf(&text, "%s ", change->option);
	shell_add_word(&text, change->value);
	if (buf_check(&text, e) < 0 || arena_copy(a, change->value, &value, e) < 0 ||
	    arena_copy(a, buf_str(&text), &way, e) < 0)
		return err_result(e);
	denial->option = change->option;
	denial->value = value;
	denial->way_out = way;
	return 0;
}

/* The repository is above the workspace, so its .git is no part of that. */
static int word_workspace(struct arena *a, const struct plan *plan, struct denial *denial,
			  struct str repo, struct err *e)
{
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);

	buf_add_text(&text, "use --workspace ");
	shell_add_word(&text, repo);
	if (plan->policy->profile->git == GIT_READ)
		buf_add_text(&text, ", and git = \"commit\" in a profile of your own");
	return buf_check(&text, e) < 0 ? err_result(e)
				       : arena_copy(a, buf_str(&text), &denial->way_out, e);
}

/*
 * No option opens a .git, but an edit of the configuration may. SECURITY: of the edits only
 * git = "commit", which leaves hooks and configuration closed.
 */
static int find_git_way(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
			struct denial *denial, const struct attempt_needs *needs, struct err *e)
{
	scoped_arena scratch = ARENA_INIT(TRIAL_MAX_BYTES);
	struct obeyed git;
	struct change change;
	struct str repo;

	if (needs->access != ACCESS_WRITE)
		return 0;
	if (obeyed_git_dir(&scratch, in->host, in->policy->profile, needs->opens, &git, e) < 0)
		return err_result(e);
	if (!git.path.len)
		return 0;
	if (plan_suggest_repo(&scratch, in, needs, git.path, &repo, e) < 0)
		return err_result(e);
	if (repo.len)
		return word_workspace(a, plan, denial, repo, e);
	if (plan_suggest_path(&scratch, in, plan, needs->opens, needs->access, &change, e) < 0)
		return err_result(e);
	for (size_t i = 0; change.is_possible && i < change.edit_count; i++)
		if (str_is(change.edits[i].key, "git") &&
		    str_is(change.edits[i].value, "\"commit\""))
			return arena_copy(a, change.text, &denial->way_out, e);
	return 0;
}

static int find_way(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
		    struct denial *denial, struct last_way *last, struct err *e)
{
	struct attempt_needs needs = { .subject = denial->subject,
				       .access = denial_access(denial) };

	needs.opens = denial_opens(&last->scratch, in, plan, denial);
	if (!needs.opens.len)
		return 0;
	if (!is_answered(last, &needs)) {
		arena_done(&last->scratch);
		*last = (struct last_way){ .scratch = ARENA_INIT(TRIAL_MAX_BYTES),
					   .opens = needs.opens,
					   .access = needs.access };
		if (plan_suggest_option(&last->scratch, in, plan, &needs, &last->change, e) < 0)
			return err_result(e);
	}
	return last->change.option ? word_way(a, denial, &last->change, e)
				   : find_git_way(a, in, plan, denial, &needs, e);
}

/* `--network off` of this run contradicts the options that open part of the network. */
static bool is_network_option_off(const struct denial *denial)
{
	return denial->kind != DENIAL_PATH && denial->option && denial->origin.file &&
	       strcmp(denial->origin.file, "--network") == 0;
}

static const char without_off[] = ", without --network off";

static int word_without_off(struct arena *a, struct denial *denial, struct err *e)
{
	return arena_printf(a, &denial->way_out, e, "%.*s%s", STR_ALL(denial->way_out),
			    without_off);
}

void outcome_find_ways(struct arena *a, struct outcome *o, const struct plan_inputs *in,
		       const struct plan *plan, size_t max)
{
	struct last_way last = { .scratch = ARENA_INIT(TRIAL_MAX_BYTES) };

	for (; o->ways_count < MIN_OF(max, o->denials.items.count); o->ways_count++) {
		struct denial *denial = &o->denials.items.items[o->ways_count];
		struct err ignored = ERR_INIT; /* then there is no suggestion */

		if (is_network_option_off(denial) && word_without_off(a, denial, &ignored) < 0)
			denial->option = NULL;
		if (denial->kind == DENIAL_PATH && !denial->option &&
		    find_way(a, in, plan, denial, &last, &ignored) < 0)
			last.change.option = NULL;
	}
	arena_done(&last.scratch);
}

/* ---- The list at the end of a run --------------------------------------------------------- */

/* SECURITY: who has just said no is not told how to get it without being asked. */
static bool is_advised(const struct denial *denial)
{
	return denial->option && !denial->is_decided;
}

static bool is_first_with_way(const struct denials *d, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_advised(&d->items.items[i]) &&
		    d->items.items[i].option == d->items.items[at].option &&
		    str_eq(d->items.items[i].way_out, d->items.items[at].way_out))
			return false;
	return true;
}

/* Whether the option of another of them opens a directory above, and so this as well. */
static bool is_within_other(const struct denials *d, size_t at, size_t count)
{
	const struct denial *denial = &d->items.items[at];

	for (size_t i = 0; i < count; i++) {
		const struct denial *other = &d->items.items[i];

		if (is_advised(other) && other->kind == DENIAL_PATH &&
		    denial->kind == DENIAL_PATH && strcmp(other->option, denial->option) == 0 &&
		    path_is_absolute(other->value) && path_is_absolute(denial->value) &&
		    other->value.len < denial->value.len &&
		    path_is_under(denial->value, other->value))
			return true;
	}
	return false;
}

/* touch(1) opens a file, and changes its times if it can't: one refusal in two calls. */
static bool repeats_open(const struct denials *d, size_t at)
{
	const struct denial *denial = &d->items.items[at];

	if (denial->operation != OPERATION_UTIME)
		return false;
	for (size_t i = 0; i < at; i++)
		if (d->items.items[i].operation == OPERATION_OPEN_WRITE &&
		    str_eq(d->items.items[i].subject, denial->subject) &&
		    str_eq(d->items.items[i].program, denial->program))
			return true;
	return false;
}

/* --full-auto stands for --network off, among others. */
static void say_not_asked(const struct session *s)
{
	const char *by = s->in.plan->policy->profile->net.access_origin.file;
	const struct denials *d = &s->outcome.denials;

	if (!s->in.approvals || !s->outcome.network_is_off || !by || strcmp(by, "--network") != 0)
		return;
	for (size_t i = 0; i < d->items.count; i++) {
		if (d->items.items[i].kind != DENIAL_HOST)
			continue;
		session_warn(&s->in,
			     "hosts are not asked about: --full-auto or --network off turns "
			     "the network off");
		return;
	}
}

/* What was granted after it is in the run that follows, which lists what is refused there. */
static bool is_run_again(const struct session *s)
{
	size_t granted;

	(void)session_granted(s, &granted);
	return s->in.asks_after && granted > 0;
}

/* Whether --ask tty would have asked about one of the listed denials. */
static bool could_be_asked(const struct session *s, size_t count)
{
	const struct outcome *o = &s->outcome;

	if (s->in.approvals || s->in.run_id.len || !o->had_terminal || o->status == 0 ||
	    !o->is_sandboxed || strcmp(o->backend->name, "landlock") == 0 ||
	    s->in.plan->policy->profile->allows_userns)
		return false;
	for (size_t i = 0; i < count; i++)
		if (o->denials.items.items[i].kind == DENIAL_PATH &&
		    is_advised(&o->denials.items.items[i]) &&
		    denial_access(&o->denials.items.items[i]) == ACCESS_WRITE)
			return true;
	return false;
}

/* The options of the listed denials, each once, to be pasted. */
static void say_options(const struct session *s, size_t count)
{
	const struct denials *d = &s->outcome.denials;
	scoped_buf line = BUF_INIT(TEXT_MAX_BYTES);
	bool contradicts = false;
	size_t with_option = 0;

	for (size_t i = 0; i < count; i++)
		with_option += is_advised(&d->items.items[i]);
	if (!with_option)
		return;
	buf_printf(&line,
		   "to allow %sthis for one run, add:", with_option < count ? "part of " : "");
	for (size_t i = 0; i < count; i++) {
		const struct denial *denial = &d->items.items[i];

		if (!is_advised(denial) || !is_first_with_way(d, i) || is_within_other(d, i, count))
			continue;
		buf_printf(&line, " %s ", denial->option);
		shell_add_word(&line, denial->value);
		contradicts = contradicts || is_network_option_off(denial);
	}
	if (contradicts)
		buf_add_text(&line, without_off);
	if (line.failed == ERR_OK)
		s->in.warn(s->in.user, buf_str(&line));
	if (could_be_asked(s, count))
		session_warn(&s->in, "or be asked: add --ask tty");
}

/* What `cordon why` is to be asked; "" when it would not know. */
static struct str find_question(const struct session *s, const struct denial *denial)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str opens = denial_opens(&a, s->in.plan_inputs, s->in.plan, denial);

	if (denial->kind == DENIAL_UNIX_SOCKET && !path_is_absolute(denial->subject))
		return STR_EMPTY;
	/* It is the denial's own, or its subject. */
	return opens.len ? opens : denial->subject;
}

/* A file may be asked for where an option would open a whole home. */
static const char *find_negation(const struct session *s, const struct denial *denial)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	bool is_in_home = denial->kind == DENIAL_PATH && changes_names(denial->operation) &&
			  denial->opens.len && is_too_wide(&a, s->in.plan_inputs, denial->opens);

	return is_in_home ? "no option allows just '" : "no option allows '";
}

static void add_advice(struct buf *line, const struct session *s, const struct denial *denial,
		       struct str question)
{
	bool has_way = denial->way_out.len && !s->in.needs_sandbox;

	if (has_way)
		buf_add_text(line, "to allow '");
	else
		buf_add_text(line, s->in.needs_sandbox ? "to see what would allow '"
						       : find_negation(s, denial));
	add_name(line, denial->subject);
	if (has_way) {
		buf_add_text(line, "': ");
		buf_add(line, denial->way_out);
		return;
	}
	buf_add_text(line, s->in.needs_sandbox ? "': cordon why" : "'; to see why: cordon why");
	outcome_add_options(s, question, line);
}

/* By the plan, as the rule of an attempt may be that of a directory above. */
static bool is_kept_for_agent(const struct session *s, const struct denial *denial)
{
	return denial->kind == DENIAL_PATH && denial_access(denial) == ACCESS_WRITE &&
	       rule_keeps_agent(plan_resolve(s->in.plan, denial->subject).rule,
				s->in.plan_inputs->places.home);
}

/* SECURITY: no option is named for these, but why there is none. The first stands for all. */
static void say_kept_for_agent(const struct session *s, size_t count)
{
	scoped_buf line = BUF_INIT(TEXT_MAX_BYTES);

	for (size_t i = 0; i < count; i++) {
		const struct denial *denial = &s->outcome.denials.items.items[i];

		if (!is_kept_for_agent(s, denial))
			continue;
		buf_add_char(&line, '\'');
		add_name(&line, denial->subject);
		buf_printf(&line, "' %s", rule_agent_reason);
		if (line.failed == ERR_OK)
			s->in.warn(s->in.user, buf_str(&line));
		return;
	}
}

/* For what no option allows; the first of them, since one shows what to ask. */
static void say_question(const struct session *s, size_t count)
{
	const struct denials *d = &s->outcome.denials;
	scoped_buf line = BUF_INIT(TEXT_MAX_BYTES);

	for (size_t i = 0; i < count; i++) {
		const struct denial *denial = &d->items.items[i];
		struct str question = find_question(s, denial);

		if ((denial->option && !s->in.needs_sandbox) || !question.len ||
		    denial->is_decided || is_kept_for_agent(s, denial))
			continue;
		add_advice(&line, s, denial, question);
		if (line.failed == ERR_OK)
			s->in.warn(s->in.user, buf_str(&line));
		return;
	}
}

/* What lists all denials. The audit log needs no second run, but has hosts alone. */
static const char *find_namer(const struct session *s)
{
	const struct denials *d = &s->outcome.denials;
	bool are_logged = s->outcome.network_is_managed && !s->in.audit_file.len && !d->unlisted;

	/* The proxy does not see the command's own loopback, so the log lacks those. */
	for (size_t i = 0; i < d->items.count; i++)
		if (d->items.items[i].kind != DENIAL_HOST ||
		    (d->items.items[i].option &&
		     strcmp(d->items.items[i].option, "--host-port") == 0))
			are_logged = false;
	return are_logged ? "'cordon audit --run last --denied' lists them"
			  : "--report FILE lists them";
}

static void say_more(const struct session *s, size_t count)
{
	const struct denials *d = &s->outcome.denials;
	uint64_t more = d->items.count - count + d->unlisted;

	if (more == 0)
		return;
	if (s->in.needs_sandbox)
		session_warn(&s->in, "and %llu more", (unsigned long long)more);
	else
		session_warn(&s->in, "and %llu more (%s)", (unsigned long long)more, find_namer(s));
}

/* What was told at once needs no sentence more. */
static void count_untold(const struct session *s)
{
	const struct denials *d = &s->outcome.denials;
	uint64_t more = d->unlisted;

	for (size_t i = 0; i < d->items.count; i++)
		more += !d->items.items[i].is_told;
	if (more)
		session_warn(&s->in, "%llu more accesses were refused", (unsigned long long)more);
}

static bool has_told(const struct session *s)
{
	const struct denials *d = &s->outcome.denials;

	for (size_t i = 0; i < d->items.count; i++)
		if (d->items.items[i].is_told)
			return true;
	return false;
}

/* The command had the terminal, which is free again: some agents run commands on one of their own. */
static void tell_later(struct session *s)
{
	struct denials *d = &s->outcome.denials;
	size_t count = 0;

	if (s->in.is_quiet || !session_tells_later(s))
		return;
	for (size_t i = 0; i < d->items.count && count < LISTED_MAX; i++) {
		if (repeats_open(d, i)) {
			d->items.items[i].is_told = true;
			continue;
		}
		session_show_advice(s, &d->items.items[i]);
		count++;
	}
	if (count)
		count_untold(s);
}

void outcome_list_denials(struct session *s)
{
	struct outcome *o = &s->outcome;
	size_t count = o->denials.items.count;

	tell_later(s);
	if (session_tells_later(s))
		return;
	if (count > LISTED_MAX)
		count = LISTED_MAX;
	if (s->in.is_quiet || o->denials.total == 0 || (o->status == 0 && !s->in.logs_denials) ||
	    is_run_again(s))
		return;
	if (has_told(s)) {
		count_untold(s);
		return;
	}
	outcome_find_ways(s->a, o, s->in.plan_inputs, s->in.plan, count);
	for (size_t i = 0; i < count; i++) {
		scoped_buf line = BUF_INIT(TEXT_MAX_BYTES);

		if (repeats_open(&o->denials, i))
			continue;
		denial_add_sentence(&line, &o->denials.items.items[i]);
		if (line.failed == ERR_OK)
			s->in.warn(s->in.user, buf_str(&line));
	}
	say_more(s, count);
	say_not_asked(s);
	if (!s->in.needs_sandbox)
		say_options(s, count);
	say_kept_for_agent(s, count);
	say_question(s, count);
}
