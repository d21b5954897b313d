/* SPDX-License-Identifier: MIT */
/* cordon audit: the audit log, for people and for programs. */
#include <string.h>
#include <time.h>

#include "cli/cli.h"

const char about_audit[] =
	"Shows the audit log that runs with a managed network write, or FILE. Each line is one\n"
	"decision, oldest first: which program asked, for what, how many bytes went each way,\n"
	"and which rule decided. --summary prints totals for each host, and of what was asked\n"
	"(--ask); --metrics prints the sums for Prometheus; --follow waits for new entries.\n"
	"With --json each line is an entry as it is in the log.";

enum { FOLLOW_PAUSE_MS = 200, STATUS_NO_RUN = 1 };

/* How long ago; else it is a time, which the library reads. */
static void set_since(struct cordon_audit_options *asked, const char *text)
{
	struct timespec now;
	uint64_t ms;

	if (parse_duration(text, &ms) || clock_gettime(CLOCK_REALTIME, &now) < 0) {
		asked->since = text;
		return;
	}
	uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	asked->since_ms = ms < now_ms ? now_ms - ms : 1;
}

/* A run that is not in the log is an answer of its own. */
static int finish_failed(const struct args *args, cordon_error *error)
{
	bool is_missing = cordon_error_code(error) == CORDON_E_NOTFOUND;
	int status = finish_error(args, error);

	return is_missing ? STATUS_NO_RUN : status;
}

/* All that is there now. Negative: failed; 0: nobody reads any more; else go on. */
static int show_lines(cordon_audit *audit, uint32_t flags, const char *heading,
		      cordon_error **error)
{
	const char *line;
	int r = cordon_audit_next(audit, flags, &line, error);

	if (r < 0 || fputs(heading, stdout) < 0)
		return r < 0 ? r : 0;
	for (; r == 1; r = cordon_audit_next(audit, flags, &line, error))
		if (fputs(line, stdout) < 0)
			return 0;
	if (r < 0)
		return r;
	return fflush(stdout) == 0 ? 1 : 0;
}

static int show_log(const struct args *args, cordon_audit *audit)
{
	const struct timespec pause = { .tv_nsec = FOLLOW_PAUSE_MS * 1000000L };
	uint32_t flags = args_have(args, OPT_JSON) ? CORDON_AUDIT_JSON : 0;
	char heading[512] = "";
	cordon_error *error;
	int r;

	if (has_colour(STREAM_OUTPUT))
		flags |= CORDON_TEXT_COLOUR;
	if (!(flags & CORDON_AUDIT_JSON) && !args_have(args, OPT_QUIET))
		(void)snprintf(heading, sizeof(heading), "%s", cordon_audit_heading(audit, flags));
	r = show_lines(audit, flags, heading, &error);
	while (r == 1 && args_have(args, OPT_FOLLOW)) {
		(void)nanosleep(&pause, NULL);
		r = show_lines(audit, flags, "", &error);
	}
	return r < 0 ? finish_failed(args, error) : finish_output(0);
}

static int show_summary(const struct args *args, cordon_audit *audit)
{
	cordon_report *report;
	cordon_error *error;

	if (cordon_audit_summary(audit, &report, &error) < 0)
		return finish_failed(args, error);
	return finish_report(args, report);
}

static int show_metrics(const struct args *args, cordon_audit *audit)
{
	cordon_error *error;
	const char *text;

	if (cordon_audit_metrics(audit, &text, &error) < 0)
		return finish_failed(args, error);
	(void)fputs(text, stdout);
	return finish_output(0);
}

static int show(const struct args *args, cordon_audit *audit)
{
	if (args_have(args, OPT_METRICS))
		return show_metrics(args, audit);
	return args_have(args, OPT_SUMMARY) ? show_summary(args, audit) : show_log(args, audit);
}

/* Whether two options exclude each other, and says so. */
static bool has_conflict(const struct args *args)
{
	static const struct {
		enum option_id one, other;
	} pairs[] = { { OPT_FOLLOW, OPT_SUMMARY },
		      { OPT_FOLLOW, OPT_METRICS },
		      { OPT_SUMMARY, OPT_METRICS },
		      { OPT_METRICS, OPT_JSON } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char one[32], other[32];

		if (!args_have(args, pairs[i].one) || !args_have(args, pairs[i].other))
			continue;
		(void)snprintf(one, sizeof(one), "--%s", options[pairs[i].one].name);
		(void)snprintf(other, sizeof(other), "--%s", options[pairs[i].other].name);
		complain_conflict(args, one, other);
		return true;
	}
	return false;
}

int cmd_audit(const struct args *args)
{
	struct cordon_audit_options asked = { .size = sizeof(asked), .load = &args->load };
	const char *warning;
	cordon_error *error;
	cordon_audit *audit;
	int status;

	if (has_conflict(args))
		return EXIT_CORDON;
	asked.file = args->operand;
	asked.run = args_text(args, OPT_RUN);
	if (args_have(args, OPT_SINCE))
		set_since(&asked, args_text(args, OPT_SINCE));
	if (args_have(args, OPT_DENIED))
		asked.flags |= CORDON_AUDIT_DENIED;
	if (args_have(args, OPT_FOLLOW))
		asked.flags |= CORDON_AUDIT_FOLLOW;
	if (cordon_audit_open(&asked, &audit, &error) < 0)
		return finish_error(args, error);
	status = show(args, audit);
	warning = cordon_audit_warning(audit);
	if (warning && !args_have(args, OPT_QUIET))
		print_warning(NULL, warning);
	cordon_audit_free(audit);
	return status;
}
