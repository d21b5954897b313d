/* SPDX-License-Identifier: MIT */
/* Rules of the plan in words. All messages and reports name a rule the same way. */
#pragma once

#include "base/buf.h"
#include "plan/plan.h"

/* The name of a rule: its key as it is written, or what is protected. */
struct str rule_label(const struct rule *rule) NONNULL;

/* Why a rule that nobody wrote exists; "" for an entry. */
struct str rule_reason(const struct rule *rule) NONNULL;

/*
 * Whether the profile of an agent keeps from commands by it what the agent obeys (policy/agent.h), which nothing suggests
 * to open. `home` as in struct places.
 */
bool rule_keeps_agent(const struct rule *rule, struct str home) NONNULL;

/* Follows the path. */
extern const char rule_agent_reason[];

/* What it says, in a few words: "":root" = "read"", "".vscode" is protected". Escaped. */
void rule_add_words(struct buf *out, const struct rule *rule) NONNULL;
