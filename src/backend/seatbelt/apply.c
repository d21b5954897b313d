/* SPDX-License-Identifier: MIT */
/* Runs a command in a profile, with the system's own sandbox-exec. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/macos/macos.h"
#include "backend/seatbelt/seatbelt.h"
#include "os/os.h"
#include "plan/net.h"

static const char tool[] = SEATBELT_TOOL;

static guarantee_set gives(const struct plan *plan)
{
	(void)plan;
	return seatbelt_gives();
}

/* ---- What has to be as it should ------------------------------------------------------------------------ */

int seatbelt_check_tool(struct err *e)
{
	return macos_check_tool(tool, "the seatbelt backend", e);
}

static int check_outside(struct err *e)
{
	if (!os_is_filtered())
		return 0;
	(void)FAIL_CAUSE(
		e, CAUSE_INSIDE_SANDBOX,
		"the seatbelt backend can't run: this process is in a sandbox already, and "
		"sandbox-exec does not nest");
	err_add_line(e, "run cordon outside of it");
	return err_result(e);
}

static int check_preview(const struct plan *plan, struct err *e)
{
	if (settings_have_feature(&plan->policy->settings, "macos_preview"))
		return 0;
	(void)FAIL_CAUSE(
		e, CAUSE_PREVIEW,
		"the seatbelt backend is a preview: nobody has run its tests on a Mac yet");
	err_add_line(e, "to try it all the same, set features.macos_preview = true in "
			"~/.config/cordon/config.toml");
	return err_result(e);
}

/* Without a run there is no port yet; the usual one stands for it. */
static uint16_t proxy_port(const struct launch *in)
{
	return in->network ? in->network->proxy_port : LAUNCH_PROXY_PORT;
}

/* SECURITY: a profile that opens a port nobody listens at would open it to whoever comes next. */
static int check_network(const struct launch *in, struct err *e)
{
	if (net_mode(in->plan->net) == NET_MANAGED && !in->network)
		return FAIL(e, ERR_INTERNAL, "a managed network without a proxy");
	return 0;
}

static int lower(struct arena *a, const struct launch *in, struct seatbelt *out, struct err *e)
{
	if (seatbelt_lower(a, in->plan, proxy_port(in), out, e) < 0)
		return err_result(e);
	if (out->is_refused)
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
				  "the seatbelt backend can't express this policy (%s): %.*s",
				  guarantee_name(out->refused), STR_ARG(out->reason));
	return 0;
}

/* ---- The command line ---------------------------------------------------------------------------------------- */

/* What sandbox-exec is to execute: it would look through PATH by itself, with the words of the command. */
static const char *find_program(const struct launch *in, int *os_error)
{
	struct stat st;

	*os_error = ENOENT;

	for (size_t i = 0; in->programs[i]; i++) {
		bool is_there = stat(in->programs[i], &st) == 0;

		if (is_there && S_ISREG(st.st_mode) && access(in->programs[i], X_OK) == 0)
			return in->programs[i];
		if (is_there || errno == EACCES)
			*os_error = EACCES;
	}
	return NULL;
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	struct seatbelt s;

	if (lower(a, in, &s, e) < 0)
		return err_result(e);
	buf_printf(out, "start %s, which applies this profile and executes the command:\n", tool);
	buf_add(out, s.profile);
	for (size_t i = 0; i < s.params.count; i++) {
		buf_printf(out, "-D%s=", s.params.items[i]->name.p);
		buf_add(out, s.params.items[i]->value);
		buf_add_char(out, '\n');
	}
	return buf_check(out, e);
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	static const char *const programs[] = { tool, NULL };
	static const char *const nothing[] = { NULL };
	struct start start = { .launch = in, .is_sandboxed = true, .programs = programs };
	const char *program;
	struct seatbelt s;

	if (check_preview(in->plan, e) < 0 || seatbelt_check_tool(e) < 0 || check_outside(e) < 0 ||
	    check_network(in, e) < 0 || lower(a, in, &s, e) < 0)
		return err_result(e);
	program = find_program(in, &start.os_error);
	/* SECURITY: nothing is tried then; the supervisor tells why, as for any command. */
	if (!program)
		start.programs = nothing;
	else if (seatbelt_make_argv(a, in, &s, program, &start.argv, e) < 0)
		return err_result(e);
	return macos_start(&start, out, e);
}

const struct backend backend_seatbelt = { .name = "seatbelt",
					  .gives = gives,
					  .why_not = seatbelt_why,
					  .describe = describe,
					  .launch = launch,
					  .shares_network = true };
