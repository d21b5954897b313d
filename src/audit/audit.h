/* SPDX-License-Identifier: MIT */
/*
 * The audit log: JSON lines, one for each decision of a run, in the state directory, which
 * no sandbox may write to (P25).
 *
 *	write.c		lines, rotation; several runs may write at once
 *	record.c	a decision of the proxy as a line
 *	read.c		lines back to records, for `cordon audit`
 *
 * What comes from inside (hosts, methods, program names) is escaped: no entry can be
 * forged, and no terminal be spoken to.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "proxy/channel.h"

struct audit;

enum { AUDIT_FILE_BYTES = 8 << 20, AUDIT_FILES_KEPT = 5 };

/*
 * Opens the log at `path` ("": the default below `state_directory`), making what is
 * missing for its owner alone. `run` is the name of the run in each line; "" makes one.
 * ERR_SYS: a log that can't be written is a failure, not a warning.
 */
int audit_open(struct arena *a, struct str path, struct str state_directory, struct str run,
	       struct audit **out, struct err *e) MUST_CHECK NONNULL;

/* One decision of the proxy. ERR_SYS when it could not be written. */
int audit_add(struct audit *audit, const struct proxy_record *record, struct err *e)
	MUST_CHECK NONNULL;

/* The name of the run, for the report. */
struct str audit_run(const struct audit *audit) NONNULL;
void audit_close(struct audit *audit);
