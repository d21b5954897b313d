/* SPDX-License-Identifier: MIT */
/* See requests.h. */
#include "session/requests.h"

#include "approve/offers.h"
#include "audit/audit.h"
#include "audit/refused.h"
#include "base/hostname.h"
#include "base/json.h"
#include "base/path.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "os/os.h"
#include "plan/words.h"
#include "session/run.h"

enum {
	ANSWER_MAX_BYTES = 32 << 10,
	TRIAL_MAX_BYTES = 256 << 20,
	/* Each means plans to be made, in the loop that supervises: the rest gets no suggestion. */
	SUGGESTIONS_MAX = 32,
	/* To find out what can be offered means the same; the rest is denied. */
	ASKED_PER_MINUTE = 300,
	MINUTE_MS = 60 * 1000,
	SHOWN_BYTES = 512,
	REFUSED_AT_ONCE = 16, /* lines of one answer */
};

/* What would allow it. */
struct suggestion_found {
	const char *option; /* NULL: nothing, or it was not looked for */
	struct str value;
};

/* A request, as it is judged. */
struct judged_request {
	struct session *s;
	const struct inside_request *in;
	struct arena *a;
	bool is_allowed;      /* by the policy as it is */
	const char *why;      /* not; for people */
	struct origin origin; /* where that is written */
	struct hostname host; /* of CONNECT */
	uint16_t port;
	struct suggestion_found suggestion;
};

/* ---- The answer ------------------------------------------------------------------------------ */

static void send_answer(struct session *s, uint64_t id, struct buf *text)
{
	static const char failed[] =
		"{\"type\": \"error\", \"message\": \"there is no memory left\"}";

	supervisor_answer_request(s->supervisor, id,
				  text->failed == ERR_OK ? buf_str(text) : str_of(failed), false);
}

static void begin_answer(struct json_writer *w, const char *type)
{
	json_begin_object(w);
	json_key(w, "type");
	json_add_text(w, type);
}

static void add_member(struct json_writer *w, const char *name, const char *text)
{
	json_key(w, name);
	if (text)
		json_add_text(w, text);
	else
		json_add_null(w);
}

/* As in the report of a run. */
static void add_suggestions(struct json_writer *w, const struct suggestion_found *found)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);

	json_key(w, "suggestions");
	json_begin_array(w);
	if (found->option) {
		buf_printf(&text, "%s ", found->option);
		shell_add_word(&text, found->value);
		json_begin_object(w);
		add_member(w, "scope", "run");
		json_key(w, "argv");
		json_begin_array(w);
		json_add_text(w, found->option);
		json_add_str(w, found->value);
		json_end_array(w);
		json_key(w, "edits");
		json_begin_array(w);
		json_end_array(w);
		json_key(w, "text");
		json_add_str(w, buf_str(&text));
		json_end_object(w);
	}
	json_end_array(w);
}

static void refuse_message(struct session *s, const struct inside_request *request, const char *why)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	begin_answer(&w, "error");
	add_member(&w, "message", why);
	json_end_object(&w);
	if (request->taken)
		supervisor_close_taken(request->taken);
	send_answer(s, request->id, &text);
}

/* ---- What is asked for ------------------------------------------------------------------------ */

/* Of a path, the part that is there: an entry for what is missing would open nothing. */
static struct str find_there(const struct host *host, struct str path)
{
	struct host_file file = { .type = HOST_MISSING };
	struct err ignored = ERR_INIT;

	while (path.len > 1 && host->look(host->user, path, &file, &ignored) == 0 &&
	       file.type == HOST_MISSING)
		path = path_parent(path);
	return path;
}

static void find_path_option(struct judged_request *j)
{
	struct session *s = j->s;
	struct attempt_needs needs = { .subject = j->in->subject, .access = ACCESS_WRITE };
	struct option_change change = { .option = NULL };
	struct err ignored = ERR_INIT; /* then there is no suggestion */

	if (s->requests.suggested++ >= SUGGESTIONS_MAX)
		return;
	needs.opens = find_there(s->in.host, j->in->subject);
	if (plan_suggest_option(j->a, s->in.plan_inputs, s->in.plan, &needs, &change, &ignored) ==
	    0)
		j->suggestion = (struct suggestion_found){ change.option, change.value };
}

static void judge_path(struct judged_request *j)
{
	struct verdict verdict = plan_resolve(live_plan(j->s), j->in->subject);
	scoped_buf words = BUF_INIT(ANSWER_MAX_BYTES);
	struct str copy;
	struct err ignored = ERR_INIT;

	j->is_allowed = verdict.access == ACCESS_WRITE;
	if (j->is_allowed)
		return;
	j->why = "the policy does not allow it";
	j->origin = verdict.rule->origin;
	rule_add_words(&words, verdict.rule);
	if (words.failed == ERR_OK && arena_copy(j->a, buf_str(&words), &copy, &ignored) == 0)
		j->why = copy.p;
}

/* Whether an option can change it: the requirements and projects are not the caller's. */
static bool is_open(const struct net_verdict *verdict)
{
	return verdict->layer == 0 &&
	       (verdict->reason == NET_REASON_UNMATCHED || verdict->reason == NET_REASON_OFF);
}

static const char *why_not(const struct net_verdict *verdict)
{
	switch (verdict->reason) {
	case NET_REASON_OFF:
		return "the network is off";
	case NET_REASON_RULE:
		return "a rule denies it";
	case NET_REASON_PRIVATE:
		return "it is an address of a private network";
	case NET_REASON_UNMATCHED:
		return "no rule allows it";
	case NET_REASON_FULL:
	case NET_REASON_UNSANDBOXED:
		break;
	}
	return "the policy does not allow it";
}

static void judge_verdict(struct judged_request *j, const struct net_verdict *verdict,
			  const char *option, struct str value)
{
	j->is_allowed = verdict->decision == DECISION_ALLOW;
	if (j->is_allowed)
		return;
	j->why = why_not(verdict);
	j->origin = verdict->origin;
	if (is_open(verdict))
		j->suggestion = (struct suggestion_found){ option, value };
}

/* False: it is no host. */
static bool judge_host(struct judged_request *j)
{
	struct net_verdict verdict;
	struct err ignored = ERR_INIT;

	if (hostname_parse_port(j->a, j->in->subject, &j->host, &j->port, &ignored) < 0)
		return false;
	verdict = net_resolve(live_plan(j->s)->net, &j->host, j->port);
	judge_verdict(j, &verdict, "--allow-host", j->in->subject);
	return true;
}

static void judge_socket(struct judged_request *j)
{
	struct net_verdict verdict =
		net_resolve_socket(j->s->in.plan->net, j->in->subject, j->s->in.plan->places.home);

	judge_verdict(j, &verdict, "--allow-socket", j->in->subject);
}

static void answer_judged(const struct judged_request *j)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);
	char shown[SHOWN_BYTES];

	begin_answer(&w, "answer");
	json_key(&w, "granted");
	json_add_bool(&w, j->is_allowed);
	add_member(&w, "by", j->is_allowed ? "policy" : "nobody");
	add_member(&w, "scope", NULL);
	add_member(&w, "message", j->why);
	add_suggestions(&w, &j->suggestion);
	json_end_object(&w);
	session_trace(&j->s->in, "asked for '%s': %s",
		      utf8_show(j->in->subject, shown, sizeof(shown)),
		      j->is_allowed ? "it is allowed" : "denied");
	send_answer(j->s, j->in->id, &text);
}

/* ---- Asking (P18) ------------------------------------------------------------------------------ */

static struct requested *find_asked(struct session *s, uint64_t id)
{
	for (size_t i = 0; i < REQUESTS_MAX; i++)
		if (s->requests.asked[i].id == id)
			return &s->requests.asked[i];
	return NULL;
}

static void add_grant(struct json_writer *w, const struct grant *grant)
{
	json_key(w, "grant");
	json_begin_object(w);
	add_member(w, "kind", ask_kind_name(grant->kind));
	json_key(w, grant->kind == ASK_CONNECT ? "host" : "path");
	json_add_str(w, grant->subject);
	if (grant->kind == ASK_WRITE) {
		json_key(w, "dir");
		json_add_bool(w, grant->is_dir);
	}
	json_end_object(w);
}

static void answer_asked(struct session *s, uint64_t id, const struct answer *answer)
{
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	begin_answer(&w, "answer");
	json_key(&w, "granted");
	json_add_bool(&w, answer->is_allow);
	add_member(&w, "by", answer->by);
	add_member(&w, "scope", answer->is_allow ? grant_scope_name(answer->scope) : NULL);
	if (answer->is_allow)
		add_grant(&w, &answer->grant);
	json_key(&w, "message");
	if (answer->message.len)
		json_add_str(&w, answer->message);
	else
		json_add_null(&w);
	add_suggestions(&w, &(struct suggestion_found){ .option = NULL });
	json_end_object(&w);
	send_answer(s, id, &text);
}

static void told(struct session *s, const struct asker *asker, const struct answer *answer)
{
	struct requested *asked = find_asked(s, asker->call);

	if (!asked)
		return;
	*asked = (struct requested){ .id = 0 };
	answer_asked(s, asker->call, answer);
}

static int find_path_offers(const struct judged_request *j, struct ask *ask, struct err *e)
{
	const struct plan_inputs *in = live_inputs(j->s);
	struct attempt_needs needs = { .subject = j->in->subject,
				       .opens = find_there(in->host, j->in->subject),
				       .access = ACCESS_WRITE };
	struct host_file file;

	if (!supervisor_can_open(j->s->supervisor))
		return 0;
	if (in->host->look(in->host->user, needs.subject, &file, e) < 0)
		return err_result(e);
	/* Of a file its directory is offered, too, for programs that replace it. */
	if (file.type != HOST_FILE)
		ask->operation = OPERATION_CREATE;
	return offers_for_path(j->a, in, live_plan(j->s), &needs, ask->operation, false, ask, e);
}

static int find_offers(const struct judged_request *j, struct ask *ask, struct err *e)
{
	struct session *s = j->s;

	if (ask->kind == ASK_WRITE)
		return find_path_offers(j, ask, e);
	if (ask->kind == ASK_UNIX_SOCKET)
		return offers_for_socket(j->a, live_inputs(s), live_plan(s), j->in->subject, false,
					 ask, e);
	return s->network.is_wanted
		       ? offers_for_host(j->a, live_inputs(s), &j->host, j->port, false, ask, e)
		       : 0;
}

/* SECURITY: the command must not keep the supervisor busy with questions. */
static bool may_ask(struct requests *r)
{
	uint64_t now = loop_now();

	if (now - r->minute_began_ms >= MINUTE_MS) {
		r->minute_began_ms = now;
		r->asked_this_minute = 0;
	}
	return r->asked_this_minute++ < ASKED_PER_MINUTE;
}

/* Nobody is asked for protected metadata (P9), wherever it lies; then that is the answer. */
static void name_obeyed(struct judged_request *j)
{
	struct obeyed obeyed;
	struct str text;
	struct err ignored = ERR_INIT; /* then the rule is named */

	if (j->s->approvals.is_on &&
	    offers_find_obeyed(j->a, live_inputs(j->s), j->in->subject, &obeyed, &ignored) == 0 &&
	    obeyed.path.len &&
	    arena_printf(j->a, &text, &ignored, "%s: %.*s", obeyed.why, STR_ARG(obeyed.path)) == 0)
		j->why = text.p;
}

/* False: nobody can be asked about it. */
static bool ask_about(const struct judged_request *j)
{
	static const enum ask_kind kinds[] = { [INSIDE_WRITE] = ASK_WRITE,
					       [INSIDE_CONNECT] = ASK_CONNECT,
					       [INSIDE_UNIX_SOCKET] = ASK_UNIX_SOCKET };
	static const enum operation operations[] = { [INSIDE_WRITE] = OPERATION_OPEN_WRITE,
						     [INSIDE_CONNECT] = OPERATION_CONNECT,
						     [INSIDE_UNIX_SOCKET] =
							     OPERATION_UNIX_CONNECT };
	const struct inside_request *in = j->in;
	const struct asker asker = { .told = told, .call = in->id };
	struct requested *asked = find_asked(j->s, 0);
	struct ask ask = { .kind = kinds[in->kind],
			   .operation = operations[in->kind],
			   .subject = in->subject,
			   .named = in->named,
			   .program = in->program,
			   .pid = in->pid,
			   .argv = in->argv,
			   .argv_count = in->argv_count,
			   .cwd = in->cwd,
			   .rule = str_of(j->why),
			   .origin = j->origin,
			   .reason = in->reason };
	struct err e = ERR_INIT;
	uint64_t id = 0;

	if (!asked || !j->s->approvals.is_on || !may_ask(&j->s->requests))
		return false;
	/* What can't be found out is not asked about. */
	if (find_offers(j, &ask, &e) < 0)
		session_trace(&j->s->in, "nobody is asked: %s", e.text);
	if (!ask.offer_count)
		return false;
	asked->id = in->id;
	if (!approvals_ask(j->s, &ask, &asker, &id)) {
		asked->id = 0;
		return false;
	}
	if (asked->id == in->id)
		asked->ask = id;
	return true;
}

/* ---- Which run this is ------------------------------------------------------------------------- */

static bool find_run_id(struct session *s)
{
	struct err ignored = ERR_INIT;

	return s->outcome.run_id.len || audit_new_run(s->a, &s->outcome.run_id, &ignored) == 0;
}

static void say_hello(struct session *s, uint64_t id)
{
	scoped_arena a = ARENA_INIT(64 << 20);
	struct err ignored = ERR_INIT; /* then it is that of no policy */
	struct str digest = STR_EMPTY;
	scoped_buf text = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	(void)!plan_digest(&a, s->in.plan, &digest, &ignored);
	begin_answer(&w, "hello");
	json_key(&w, "v");
	json_add_int(&w, 1);
	json_key(&w, "run");
	json_add_str(&w, s->outcome.run_id);
	json_key(&w, "profile");
	json_add_str(&w, s->in.plan->policy->profile->name);
	add_member(&w, "backend", s->outcome.backend->name);
	json_key(&w, "shell");
	json_add_bool(&w, s->in.needs_sandbox);
	json_key(&w, "policy");
	json_add_str(&w, digest);
	json_end_object(&w);
	send_answer(s, id, &text);
}

/* ---- What was refused ------------------------------------------------------------------------- */

static void add_own_refusals(struct session *s, struct json_writer *w)
{
	const struct denials *d = &s->outcome.denials;
	const struct advice_context in = { .plan = live_plan(s),
					   .plan_inputs = live_inputs(s),
					   .can_ask = s->in.approvals != NULL };

	approval_log_name_deciders(s);
	for (size_t i = 0; i < REFUSED_AT_ONCE && s->requests.refused_given < d->items.count; i++) {
		scoped_buf line = BUF_INIT(ANSWER_MAX_BYTES);

		denial_add_advice(&line, &in, &d->items.items[s->requests.refused_given++]);
		json_add_str(w, buf_str(&line));
	}
}

/*
 * What was refused to this run; and in cordon-sh to the earlier ones of whoever started it, such as an agent
 * whose hooks run in cordon-sh as well.
 */
static int add_refusals(struct session *s, struct json_writer *w, struct err *e)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	char starter[OS_STARTER_BYTES];
	struct str lines, line;

	add_own_refusals(s, w);
	if (!s->in.needs_sandbox || !s->in.state_directory.len || !os_find_starter(starter))
		return 0;
	/* SECURITY: a command can ask as well, and may not take away what is kept for a hook outside. */
	if (refused_show(&a, s->in.state_directory, str_of(starter), &lines, e) < 0)
		return err_result(e);
	while (str_next_line(&lines, &line))
		if (line.len)
			json_add_str(w, line);
	return 0;
}

static void say_refused(struct session *s, const struct inside_request *request)
{
	scoped_buf text = BUF_INIT(2 * ANSWER_MAX_BYTES - 1);
	struct json_writer w = JSON_LINE_INIT(&text);
	struct err e = ERR_INIT;

	begin_answer(&w, "refused");
	json_key(&w, "lines");
	json_begin_array(&w);
	if (add_refusals(s, &w, &e) < 0) {
		refuse_message(s, request, e.text);
		return;
	}
	json_end_array(&w);
	json_end_object(&w);
	send_answer(s, request->id, &text);
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Of a kind that asks for something. */
static void judge(struct session *s, const struct inside_request *request)
{
	scoped_arena a = ARENA_INIT(TRIAL_MAX_BYTES);
	struct judged_request j = { .s = s, .in = request, .a = &a };

	if (request->kind == INSIDE_WRITE)
		judge_path(&j);
	else if (request->kind == INSIDE_UNIX_SOCKET)
		judge_socket(&j);
	else if (!judge_host(&j)) {
		refuse_message(s, request, "what is asked for is no host name");
		return;
	}
	if (!j.is_allowed && ask_about(&j))
		return;
	if (!j.is_allowed && request->kind == INSIDE_WRITE) {
		name_obeyed(&j);
		find_path_option(&j);
	}
	answer_judged(&j);
}

void requests_take(void *user, const struct inside_request *request)
{
	struct session *s = user;

	if (request->kind == INSIDE_SIGNAL)
		escalations_take(s, request);
	else if (!find_run_id(s))
		refuse_message(s, request, "there is no memory left");
	else if (request->run.len && !str_eq(request->run, s->outcome.run_id))
		refuse_message(s, request, "this is another run");
	else if (request->kind == INSIDE_ESCALATE)
		escalations_take(s, request);
	else if (request->kind == INSIDE_REFUSED)
		say_refused(s, request);
	else if (request->kind == INSIDE_HELLO)
		say_hello(s, request->id);
	else
		judge(s, request);
}

void requests_leave(void *user, uint64_t id)
{
	struct session *s = user;
	struct requested *asked = find_asked(s, id);
	uint64_t ask = asked ? asked->ask : 0;

	if (escalations_leave(s, id) || !asked)
		return;
	*asked = (struct requested){ .id = 0 };
	approvals_withdraw(s, ask);
}
