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
