/* SPDX-License-Identifier: MIT */
/* What `cordon setup` writes so that an agent calls `cordon hook`, as each agent reads it. Pure. */
#pragma once

#include "agents/agents.h"

/* An extension of Gemini CLI: the file that names it, and its hooks. */
void hooks_write_gemini_name(struct buf *out, const struct agent_places *places) NONNULL;
void hooks_write_gemini(struct buf *out, const struct agent_places *places) NONNULL;
/* An extension of Qwen Code, which has its hooks in the same file. */
void hooks_write_qwen(struct buf *out, const struct agent_places *places) NONNULL;
/* A plugin of opencode, which has no hooks. */
void hooks_write_opencode(struct buf *out, const struct agent_places *places) NONNULL;
