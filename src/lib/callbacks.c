/* SPDX-License-Identifier: MIT */
/* What the caller of a run is told while it is prepared and while it goes. */
#include "base/utf8.h"
#include "lib/run.h"

void callbacks_warn(struct callbacks *callbacks, const char *text)
{
	struct err ignored = ERR_INIT; /* told all the same */
	struct str copy;

	if (callbacks->warnings.count < WARNINGS_MAX &&
	    arena_copy(callbacks->a, str_of(text), &copy, &ignored) == 0) {
		struct str *kept = VEC_PUSH(callbacks->a, &callbacks->warnings, &ignored);

		if (kept)
			*kept = copy;
	}
	if (callbacks->on_warning)
		callbacks->on_warning(callbacks->warning_user, text);
}

static void warn(void *user, const char *text)
{
	callbacks_warn(user, text);
}

/*
 * SECURITY: what a session says quotes names that the command chose. This is the
 * way out for it: one line, and none of it speaks to a terminal.
 */
static void session_warns(void *user, struct str text)
{
	scoped_buf line = BUF_INIT(64 << 10);

	utf8_add_shown(&line, text);
	if (line.failed == ERR_OK && line.p)
		warn(user, line.p);
}

static void session_traces(void *user, struct str text)
{
	const struct callbacks *callbacks = user;
	scoped_buf line = BUF_INIT(64 << 10);

	utf8_add_shown(&line, text);
	if (line.failed == ERR_OK && line.p)
		callbacks->run.on_trace(callbacks->run.run_user, line.p);
}

static void session_outputs(void *user, int stream, struct str bytes)
{
	const struct callbacks *callbacks = user;

	callbacks->run.on_output(callbacks->run.run_user, (uint32_t)stream, bytes.p, bytes.len);
}

static enum decision session_decides(void *user, uint64_t id, const struct proxy_record *record)
{
	const struct callbacks *callbacks = user;
	char program[8 * PROXY_PROGRAM_BYTES];
	/* SECURITY: a program names itself, with whatever a terminal would obey. */
	const char *shown = utf8_show(str_of(record->program), program, sizeof(program));
	const struct cordon_host_request request = {
		.size = sizeof(request),
		.id = id,
		.host = record->host,
		.port = record->port,
		.protocol = proxy_protocol_name(record->protocol),
		.method = record->method[0] ? record->method : NULL,
		.program = record->program[0] ? shown : NULL,
		.pid = record->pid > 0 ? (uint64_t)record->pid : 0,
	};

	switch (callbacks->run.decide_host(callbacks->run.run_user, &request)) {
	case CORDON_DECISION_ALLOW:
		return DECISION_ALLOW;
	case CORDON_DECISION_ASK:
		return DECISION_ASK;
	default:
		return DECISION_DENY;
	}
}

static void session_denies(void *user, const struct denial *denial)
{
	struct callbacks *callbacks = user;
	scoped_arena a = ARENA_INIT(DENIAL_MAX_BYTES);
	struct cordon_denial told;
	struct err ignored = ERR_INIT;

	events_tell_denial(&callbacks->events, callbacks, callbacks->run_id, denial);
	if (!callbacks->run.on_denial)
		return;
	/* Without memory it is told by the report, if by anything. */
	if (denial_fill(&a, &callbacks->advice, denial, &told, &ignored) == 0)
		callbacks->run.on_denial(callbacks->run.run_user, &told);
}

/* What is no rule for hosts, and still of use only where there is a network. */
static const char *find_port_option(const struct cordon_run_options *run)
{
	if (run->publish && run->publish[0])
		return "--publish";
	return run->host_ports && run->host_ports[0] ? "--host-port" : NULL;
}

static int tell_progress(void *user, const char *directory)
{
	const struct callbacks *callbacks = user;

	return callbacks->on_progress(callbacks->warning_user, directory);
}

cordon_policy *callbacks_load(struct callbacks *callbacks, struct arena *a, struct asked *asked,
			      bool is_rehearsal, struct err *e)
{
	struct run_needs needs = { .port_option = find_port_option(&asked->run),
				   .keeps_log = !is_rehearsal && !asked->run.audit_file,
				   .asks = ask_is_wanted(&asked->run),
				   .makes = asked->makes,
				   .make_count = asked->make_count };

	*callbacks = (struct callbacks){ .a = a,
					 .on_warning = asked->load.on_warning,
					 .on_progress = asked->load.on_progress,
					 .warning_user = asked->load.user,
					 .run = asked->run,
					 .events = { .fd = -1 } };
	if (asked_add_features(a, asked, e) < 0 ||
	    ask_read_option(a, &asked->run, &callbacks->ask, e) < 0)
		return NULL;
	needs.decider = callbacks->ask.path;
	teller_init(&callbacks->teller, callbacks->on_progress, callbacks->warning_user);
	asked->load.on_warning = warn;
	asked->load.on_progress = callbacks->on_progress ? tell_progress : NULL;
	asked->load.user = callbacks;
	return asked->run.policy ? load_again(asked->run.policy, &asked->load, &needs, e)
				 : load_new(&asked->load, &needs, e);
}

void callbacks_attach(struct callbacks *callbacks, struct session_request *in)
{
	in->user = callbacks;
	callbacks->advice = (struct advice_context){ .plan = in->plan,
						     .plan_inputs = in->plan_inputs,
						     .can_ask = in->approvals != NULL };
	in->progress = &callbacks->teller.progress;
	in->warn = session_warns;
	in->trace = session_traces;
	in->output = session_outputs;
	if (callbacks->run.on_denial || callbacks->events.fd >= 0)
		in->deny = session_denies;
	if (callbacks->run.decide_host)
		in->decide = session_decides;
}
