/* SPDX-License-Identifier: MIT */
/* How rules of the plan are worded; `why` and `explain` speak alike. */
#pragma once

#include "lib/lib.h"
#include "plan/words.h"
#include "report/report.h"

/* "entry", "glob", "grant", "protected", … */
const char *rule_kind_name(enum rule_kind kind);

/* Whether both come from one entry, as the many paths of :secrets do. */
bool rule_is_alike(const struct rule *a, const struct rule *b) NONNULL;

/* Why the rule holds and where it is written, without its access and label. */
void page_rule_reason(struct page *p, const struct rule *rule);

void json_rule(struct json_writer *w, const struct plan *plan, const struct rule *rule);

/* "warnings": [..], "notes": [..] */
void json_notes(struct json_writer *w, const struct cordon_policy *policy, bool warnings);

const char *host_type_name(enum host_type type);
