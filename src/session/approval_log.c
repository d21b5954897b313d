/* SPDX-License-Identifier: MIT */
/* What is said about approvals: the log (P25), the outcome, the caller. */
#include "audit/audit.h"
#include "base/utf8.h"
#include "session/run.h"

enum { SAID_BYTES = 512, MESSAGES_MAX = 8 };

int approval_log_open(struct session *s, struct err *e)
{
	struct str path;

	s->outcome.approvals.was_asking = true;
	s->outcome.approvals.deadline_ms = approvals_most_extension(s);
	s->outcome.approvals.session = s->in.approvals->session;
	if (audit_approvals_path(s->a, s->in.state_directory, &path, e) < 0 ||
	    (!s->outcome.run_id.len && audit_new_run(s->a, &s->outcome.run_id, e) < 0) ||
	    audit_open(s->a, path, s->in.state_directory, s->outcome.run_id, &s->approvals.log, e) <
		    0)
		return err_wrap(e, "--ask");
	return 0;
}

void approval_log_close(struct session *s)
{
	if (s->approvals.log)
		audit_close(s->approvals.log);
	s->approvals.log = NULL;
}

static struct audit_approvals whose(const struct session *s)
{
	return (struct audit_approvals){ .run = s->outcome.run_id,
					 .session = s->in.approvals->session };
}

/* ---- The outcome -------------------------------------------------------------------------- */

static bool is_equal(const struct approval *a, const struct ask *ask, const struct answer *answer)
{
	if (a->kind != ask->kind || a->operation != ask->operation ||
	    a->is_allow != answer->is_allow || strcmp(a->by, answer->by) != 0 ||
	    !str_eq(a->subject, ask->subject))
		return false;
	return !a->is_allow ||
	       (a->scope == answer->scope && str_eq(a->grant.subject, answer->grant.subject));
}

static int fill(struct arena *a, const struct ask *ask, const struct answer *answer,
		struct approval *out, struct err *e)
{
	struct approval x = { .kind = ask->kind,
			      .operation = ask->operation,
			      .is_allow = answer->is_allow,
			      .scope = answer->scope,
			      .minutes = answer->minutes,
			      .grant = answer->grant,
			      .by = answer->by,
			      .is_unusable = answer->is_unusable,
			      .count = 1 };

	if (arena_copy(a, ask->subject, &x.subject, e) < 0 ||
	    arena_copy(a, ask->program, &x.program, e) < 0 ||
	    arena_copy(a, answer->message, &x.message, e) < 0 ||
	    arena_copy(a, answer->is_allow ? answer->grant.subject : STR_EMPTY, &x.grant.subject,
		       e) < 0)
		return err_result(e);
	*out = x;
	return 0;
}

/* Memory that runs out only loses detail. */
static void keep(struct session *s, const struct ask *ask, const struct answer *answer)
{
	struct approval_sums *sums = &s->outcome.approvals;
	struct err ignored = ERR_INIT;
	struct approval *added, filled;

	for (size_t i = 0; i < sums->answers.count; i++)
		if (is_equal(&sums->answers.items[i], ask, answer)) {
			sums->answers.items[i].count++;
			return;
		}
	if (sums->answers.count == APPROVALS_MAX ||
	    fill(s->a, ask, answer, &filled, &ignored) < 0 ||
	    !(added = VEC_PUSH(s->a, &sums->answers, &ignored))) {
		sums->unlisted++;
		return;
	}
	*added = filled;
}

static bool is_other_program(const char *by)
{
	return strcmp(by, "cmd") == 0 || strcmp(by, "fd") == 0 || strcmp(by, "socket") == 0;
}

/* ---- Who denied it ------------------------------------------------------------------------ */

static const char *word_rule(struct session *s, const struct approval *x)
{
	struct str words = x->message, text;
	struct err ignored = ERR_INIT;
	char shown[SAID_BYTES];

	if (arena_printf(s->a, &text, &ignored, "denied by %s",
			 utf8_show(words, shown, sizeof(shown))) < 0)
		return "denied by a rule of [[approve]]";
	return text.p;
}

static const char *word_deadline(struct session *s)
{
	uint64_t ms = s->outcome.approvals.deadline_ms;
	struct err ignored = ERR_INIT;
	struct str text;

	if (arena_printf(s->a, &text, &ignored,
			 ms % 1000 ? "not answered in %llu ms" : "not answered in %llus",
			 (unsigned long long)(ms % 1000 ? ms : ms / 1000)) < 0)
		return "not answered in time";
	return text.p;
}

/* A client of `cordon mcp`, say: it has given its name. */
static const char *word_other(struct session *s, const struct approval *x)
{
	struct err ignored = ERR_INIT;
	struct str text;
	char shown[SAID_BYTES];

	if (arena_printf(s->a, &text, &ignored, "denied by %s",
			 utf8_show(str_of(x->by), shown, sizeof(shown))) < 0)
		return "denied";
	return text.p;
}

static const char *word_decider(struct session *s, const struct approval *x, bool *is_decided)
{
	static const struct {
		const char *by, *words;
		bool is_decided;
	} known[] = {
		{ "tty", "denied by you", true },
		{ "cache", "denied before", true },
		{ "callback", "denied by the program that started this", true },
		{ "limit", "too much was asked", false },
		{ "nobody", "nobody could be asked", false },
	};

	for (size_t i = 0; i < COUNT_OF(known); i++) {
		if (strcmp(x->by, known[i].by) != 0)
			continue;
		*is_decided = known[i].is_decided;
		return known[i].words;
	}
	*is_decided = strcmp(x->by, "deadline") != 0 &&
		      !(is_other_program(x->by) && x->is_unusable);
	if (!*is_decided)
		return is_other_program(x->by) ? "the decider gave no usable answer"
					       : word_deadline(s);
	if (strcmp(x->by, "rule") == 0)
		return word_rule(s, x);
	return is_other_program(x->by) ? "denied by the decider" : word_other(s, x);
}

static bool is_about(const struct approval *x, const struct denial *denial)
{
	enum ask_kind kind = denial->kind == DENIAL_HOST	  ? ASK_CONNECT
			     : denial->kind == DENIAL_UNIX_SOCKET ? ASK_UNIX_SOCKET
								  : ASK_WRITE;

	return !x->is_allow && x->kind == kind && x->operation == denial->operation &&
	       str_eq(x->subject, denial->subject);
}

/* The first that said no: afterwards it is remembered. */
void approval_log_name_deciders(struct session *s)
{
	const struct approval_sums *sums = &s->outcome.approvals;
	struct denials *d = &s->outcome.denials;

	for (size_t i = 0; i < d->items.count; i++) {
		struct denial *denial = &d->items.items[i];

		for (size_t k = 0; k < sums->answers.count && !denial->denied_by; k++)
			if (is_about(&sums->answers.items[k], denial)) {
				denial->denied_by = sums->answers.items[k].by;
				denial->denied_how = word_decider(s, &sums->answers.items[k],
								  &denial->is_decided);
			}
	}
}

/* ---- Telling ---------------------------------------------------------------------------------- */

static void trace(const struct session *s, const struct ask *ask, const struct answer *answer)
{
	char subject[512], granted[512];

	if (answer->is_allow)
		session_trace(&s->in, "%s: '%s' is granted (%s) for '%s', by %s",
			      ask_kind_name(ask->kind),
			      utf8_show(answer->grant.subject, granted, sizeof(granted)),
			      grant_scope_name(answer->scope),
			      utf8_show(ask->subject, subject, sizeof(subject)), answer->by);
	else
		session_trace(&s->in, "%s: '%s' is not granted, by %s", ask_kind_name(ask->kind),
			      utf8_show(ask->subject, subject, sizeof(subject)), answer->by);
}

/*
 * What the decider says to a deny. It may say something else each time: a bounded number is told,
 * and the log has all of them.
 */
static void tell_message(struct session *s, const struct answer *answer)
{
	struct approvals *a = &s->approvals;
	char shown[SAID_BYTES];
	struct err ignored = ERR_INIT;

	if (s->in.is_quiet || answer->is_allow || answer->is_unusable || !answer->message.len ||
	    !is_other_program(answer->by) || str_eq(answer->message, a->told_message) ||
	    a->told_messages == MESSAGES_MAX)
		return;
	a->told_messages++;
	if (arena_copy(s->a, answer->message, &a->told_message, &ignored) < 0)
		a->told_message = STR_EMPTY;
	session_warn(&s->in, "denied by the decider: %s",
		     utf8_show(answer->message, shown, sizeof(shown)));
}

/* A program that decides is asked anew each time: how it fails is told once. */
void approval_log_tell_unusable(struct session *s, const char *why)
{
	struct approvals *a = &s->approvals;
	char shown[SAID_BYTES];

	if (a->has_told_unusable || s->in.is_quiet || !s->in.approvals->program.len)
		return;
	a->has_told_unusable = true;
	session_warn(&s->in, "the decider '%s' gave no usable answer (%s); denied",
		     utf8_show(s->in.approvals->program, shown, sizeof(shown)), why);
}

/* Who answers over a socket may do better with its next line, so those are counted. */
void approval_log_tell_unheard(const struct session *s)
{
	const struct broker_counts *counts = &s->outcome.approvals.counts;
	unsigned long long lines = counts->wrong + counts->late;
	const char *by = s->approvals.decider.by;

	if (lines == 0 || s->in.is_quiet || s->in.approvals->program.len || !by ||
	    !is_other_program(by))
		return;
	session_warn(&s->in, "%llu %s from the decider changed nothing; see '%s'", lines,
		     lines == 1 ? "line" : "lines",
		     s->approvals.log ? audit_path(s->approvals.log).p : "--events");
}

int approval_log_answer(struct session *s, const struct ask *ask, const struct answer *answer,
			struct err *e)
{
	const struct audit_approvals of = whose(s);

	if (s->approvals.log && audit_add_answer(s->approvals.log, &of, ask, answer, e) < 0)
		return err_wrap(e, "the log of approvals");
	keep(s, ask, answer);
	trace(s, ask, answer);
	tell_message(s, answer);
	if (s->in.approvals->tell_answer)
		s->in.approvals->tell_answer(s->in.user, ask, answer);
	return 0;
}

int approval_log_rejected(struct session *s, uint64_t id, const char *why, struct err *e)
{
	const struct audit_approvals of = whose(s);

	if (s->approvals.log && audit_add_rejected(s->approvals.log, &of, id, why, e) < 0)
		return err_wrap(e, "the log of approvals");
	return 0;
}

int approval_log_end(struct session *s, struct err *e)
{
	const struct outcome *o = &s->outcome;
	const struct broker_counts *counts = &o->approvals.counts;
	const struct audit_approvals of = whose(s);
	struct audit_run_sums sums = { .requests = counts->requests,
				       .allowed = counts->allowed,
				       .denied = counts->denied,
				       .cache_hits = counts->cache_hits,
				       .cache_misses = counts->cache_misses,
				       .limited = counts->limited,
				       .late = counts->late,
				       .wrong = counts->wrong,
				       .held_ms = counts->held_ms,
				       .status = (uint64_t)o->status };
	uint64_t *const by_kind[] = { [DENIAL_UNIX_SOCKET] = &sums.denials_unix_socket,
				      [DENIAL_HOST] = &sums.denials_host,
				      [DENIAL_PATH] = &sums.denials_path };

	for (size_t i = 0; i < o->denials.items.count; i++)
		*by_kind[o->denials.items.items[i].kind] += o->denials.items.items[i].count;
	if (audit_add_run(s->approvals.log, &of, &sums, e) < 0)
		return err_wrap(e, "the log of approvals");
	return 0;
}
