/* SPDX-License-Identifier: MIT */
/* The events of a run, each one line of JSON. The keys are part of the interface. */
#include "lib/run.h"
#include "report/explain.h"

enum { EVENTS_VERSION = 1, STATUS_CORDON = 125 };

static void begin(struct json_writer *w, const char *event, struct str run)
{
	json_begin_object(w);
	json_int(w, "v", EVENTS_VERSION);
	json_text(w, "event", event);
	json_str(w, "run", run);
}

void event_print_start(struct buf *out, const cordon_result *result)
{
	struct json_writer w = JSON_LINE_INIT(out);
	const struct outcome *o = result_outcome(result);

	begin(&w, "start", o->run_id);
	json_time(&w, "started", o->started);
	json_key(&w, "command");
	json_begin_array(&w);
	for (size_t i = 0; result->argv[i]; i++)
		json_add_str(&w, str_of(result->argv[i]));
	json_end_array(&w);
	json_str(&w, "directory", result->policy->plan_inputs.places.cwd);
	json_str(&w, "workspace", places_workspace(&result->policy->plan_inputs.places));
	json_str(&w, "profile", result->policy->policy->profile->name);
	json_text(&w, "backend", o->backend->name);
	json_bool(&w, "sandboxed", o->is_sandboxed);
	json_end_object(&w);
}

void event_print_denial(struct buf *out, struct str run, const struct denial *denial)
{
	struct json_writer w = JSON_LINE_INIT(out);

	begin(&w, "denial", run);
	denial_print_json(&w, denial);
	json_end_object(&w);
}

static void add_argv(struct json_writer *w, const struct ask *ask)
{
	json_key(w, "argv");
	json_begin_array(w);
	for (size_t i = 0; i < ask->argv_count; i++)
		json_add_str(w, ask->argv[i]);
	json_end_array(w);
}

static void add_offers(struct json_writer *w, const struct ask *ask)
{
	json_key(w, "offers");
	json_begin_array(w);
	for (size_t i = 0; i < ask->offer_count; i++) {
		json_begin_object(w);
		grant_print_json(w, "grant", &ask->offers[i].grant);
		json_key(w, "scopes");
		json_begin_array(w);
		for (int scope = SCOPE_ONCE; scope <= SCOPE_ALWAYS; scope++)
			if (ask->offers[i].scopes & SCOPE_BIT(scope))
				json_add_text(w, grant_scope_name((enum grant_scope)scope));
		json_end_array(w);
		json_end_object(w);
	}
	json_end_array(w);
}

void event_print_request(struct buf *out, struct str run, const struct ask *ask,
			 uint64_t deadline_ms)
{
	struct json_writer w = JSON_LINE_INIT(out);

	begin(&w, "request", run);
	json_number(&w, "id", ask->id);
	json_text(&w, "kind", ask_kind_name(ask->kind));
	json_text(&w, "operation", operation_name(ask->operation));
	json_str(&w, "subject", ask->subject);
	json_str_or_null(&w, "named", ask->named);
	json_str_or_null(&w, "program", ask->program);
	json_int(&w, "pid", ask->pid);
	add_argv(&w, ask);
	json_str_or_null(&w, "cwd", ask->cwd);
	json_key(&w, "rule");
	json_begin_object(&w);
	json_str(&w, "text", ask->rule);
	json_text(&w, "file", ask->origin.file);
	json_int_or_null(&w, "line", ask->origin.line);
	json_end_object(&w);
	json_str_or_null(&w, "reason", ask->reason);
	add_offers(&w, ask);
	json_number(&w, "deadline_ms", deadline_ms);
	json_end_object(&w);
}

void event_print_answer(struct buf *out, struct str run, const struct ask *ask,
			const struct answer *answer)
{
	struct json_writer w = JSON_LINE_INIT(out);
	bool is_minutes = answer->is_allow && answer->scope == SCOPE_MINUTES;

	begin(&w, "answer", run);
	json_number(&w, "id", ask->id);
	json_text(&w, "decision", answer->is_allow ? "allow" : "deny");
	json_text(&w, "scope", answer->is_allow ? grant_scope_name(answer->scope) : NULL);
	json_int_or_null(&w, "minutes", is_minutes ? answer->minutes : 0);
	grant_print_json(&w, "grant", answer->is_allow ? &answer->grant : NULL);
	json_text(&w, "by", answer->by);
	json_str_or_null(&w, "message", answer->message);
	json_end_object(&w);
}

void event_print_end(struct buf *out, const cordon_result *result, const struct err *failure)
{
	struct json_writer w = JSON_LINE_INIT(out);
	const struct outcome *o = result_outcome(result);

	begin(&w, "end", o->run_id);
	json_int(&w, "status", failure ? STATUS_CORDON : o->status);
	json_int_or_null(&w, "signal", failure ? 0 : o->signal);
	json_bool(&w, "timed_out", o->timed_out);
	json_bool(&w, "cancelled", o->was_cancelled);
	json_number(&w, "duration_ms", o->duration_ms);
	json_number(&w, "denial_count", o->denials.total);
	json_text(&w, "cause", failure ? cause_name(failure->cause) : NULL);
	json_end_object(&w);
}
