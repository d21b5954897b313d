/* SPDX-License-Identifier: MIT */
/* There are no logs on Windows in this version: who needs one is refused, and nothing else has anything to do. */
#include "audit/audit.h"

static int refuse(struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
			  "logs (audit, approvals) are not built for Windows in this version");
}

int audit_open(struct arena *a, struct str path, struct str state_directory, struct str run,
	       struct audit **out, struct err *e)
{
	(void)a;
	(void)path;
	(void)state_directory;
	(void)run;
	(void)out;
	return refuse(e);
}

int audit_add(struct audit *audit, const struct proxy_record *record, struct err *e)
{
	(void)audit;
	(void)record;
	return refuse(e);
}

int audit_add_line(struct audit *audit, struct str line, struct err *e)
{
	(void)audit;
	(void)line;
	return refuse(e);
}

struct str audit_run(const struct audit *audit)
{
	(void)audit;
	return STR_EMPTY;
}

struct str audit_path(const struct audit *audit)
{
	(void)audit;
	return STR_EMPTY;
}

void audit_close(struct audit *audit)
{
	(void)audit;
}

int audit_reader_open(struct arena *a, struct str path, struct audit_reader **out, struct err *e)
{
	(void)a;
	(void)path;
	(void)out;
	return refuse(e);
}

int audit_reader_next(struct audit_reader *r, struct str *line, struct err *e)
{
	(void)r;
	(void)line;
	return refuse(e);
}

struct str audit_reader_file(struct audit_reader *r)
{
	(void)r;
	return STR_EMPTY;
}

uint64_t audit_reader_line(const struct audit_reader *r)
{
	(void)r;
	return 0;
}

void audit_reader_close(struct audit_reader *r)
{
	(void)r;
}
