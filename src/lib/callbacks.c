/* SPDX-License-Identifier: MIT */
/* What the caller of a run is told while it is prepared and while it goes. */
#include "base/utf8.h"
#include "lib/run.h"

/* `text` is fit to be shown. */
static void warn(void *user, const char *text)
{
	struct voice *voice = user;
	struct err ignored = ERR_INIT; /* told all the same */
	struct str copy;

	if (voice->warnings.count < WARNINGS_MAX &&
	    arena_copy(voice->a, str_of(text), &copy, &ignored) == 0) {
		struct str *kept = VEC_PUSH(voice->a, &voice->warnings, &ignored);

		if (kept)
			*kept = copy;
	}
	if (voice->on_warning)
		voice->on_warning(voice->warning_user, text);
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
	const struct voice *voice = user;
	scoped_buf line = BUF_INIT(64 << 10);

	utf8_add_shown(&line, text);
	if (line.failed == ERR_OK && line.p)
		voice->run.on_trace(voice->run.run_user, line.p);
}

static void session_outputs(void *user, int stream, struct str bytes)
{
	const struct voice *voice = user;

	voice->run.on_output(voice->run.run_user, (uint32_t)stream, bytes.p, bytes.len);
}

static enum decision session_decides(void *user, uint64_t id, const struct proxy_record *record)
{
	const struct voice *voice = user;
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

	switch (voice->run.decide_host(voice->run.run_user, &request)) {
	case CORDON_DECISION_ALLOW:
		return DECISION_ALLOW;
	case CORDON_DECISION_ASK:
		return DECISION_ASK;
	default:
		return DECISION_DENY;
	}
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
	const struct voice *voice = user;

	return voice->on_progress(voice->warning_user, directory);
}

cordon_policy *voice_load(struct voice *voice, struct arena *a, struct asked *asked,
			  bool is_rehearsal, struct err *e)
{
	const struct run_needs needs = { .port_option = find_port_option(&asked->run),
					 .keeps_log = !is_rehearsal && !asked->run.audit_file };

	*voice = (struct voice){ .a = a,
				 .on_warning = asked->load.on_warning,
				 .on_progress = asked->load.on_progress,
				 .warning_user = asked->load.user,
				 .run = asked->run };
	if (asked_add_features(a, asked, e) < 0)
		return NULL;
	teller_init(&voice->teller, voice->on_progress, voice->warning_user);
	asked->load.on_warning = warn;
	asked->load.on_progress = voice->on_progress ? tell_progress : NULL;
	asked->load.user = voice;
	return asked->run.policy ? load_again(asked->run.policy, &asked->load, &needs, e)
				 : load_new(&asked->load, &needs, e);
}

void voice_attach(struct voice *voice, struct session_request *in)
{
	in->user = voice;
	in->progress = &voice->teller.progress;
	in->warn = session_warns;
	in->trace = session_traces;
	in->output = session_outputs;
	if (voice->run.decide_host)
		in->decide = session_decides;
}
