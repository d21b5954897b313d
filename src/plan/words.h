/* SPDX-License-Identifier: MIT */
/* Rules of the plan in words. All messages and reports name a rule the same way. */
#pragma once

#include "base/buf.h"
#include "plan/plan.h"

/* The name of a rule: its key as it is written, or what is protected. */
struct str rule_label(const struct rule *rule) NONNULL;

/* Why a rule that nobody wrote exists; "" for an entry. */
struct str rule_reason(const struct rule *rule) NONNULL;

/* What it says, in a few words: "":root" = "read"", "".vscode" is protected". Escaped. */
void rule_add_words(struct buf *out, const struct rule *rule) NONNULL;
