/* SPDX-License-Identifier: MIT */
/*
 * Calls that bring a ceiling: what codex says of its own sandbox (policy/sandbox_state.h). Each project has,
 * beside its own policy, the same with that layer more, and so a worker of its own. SECURITY: a ceiling
 * only narrows, and a call whose ceiling can't be held is refused.
 */
#include "base/mem.h"
#include "policy/sandbox_state.h"
#include "tools/box.h"

enum { CEILING_KEPT = 4, CEILING_MAX_BYTES = 1 << 20, CEILING_TREE_BYTES = 16 << 20 };

int ceiling_keep(struct toolbox_call *call, const struct json *state, struct err *e)
{
	scoped_buf text = BUF_INIT(CEILING_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	if (!state)
		return 0;
	json_add_value(&w, state);
	return buf_check(&text, e) < 0
		       ? err_result(e)
		       : arena_copy(&call->arena, buf_str(&text), &call->ceiling, e);
}

static bool is_idle(const struct tool_project *p)
{
	for (const struct toolbox_call *c = p->box->calls; c; c = c->next)
		if (c->project == p)
			return false;
	return true;
}

/* Those that were not used last make room. */
static int make_room(struct tool_project *p, struct err *e)
{
	struct tool_project **at = &p->limited, **oldest = NULL;
	size_t count = 0;

	for (; *at; at = &(*at)->next, count++)
		if (is_idle(*at))
			oldest = at;
	if (count < CEILING_KEPT)
		return 0;
	if (!oldest)
		return FAIL(e, ERR_LIMIT,
			    "calls with %d other profiles are running: try again later",
			    CEILING_KEPT);
	at = oldest;
	p = *at;
	*at = p->next;
	box_free_project(p);
	return 0;
}

/* Its strings are the project's, which outlives it. */
static void inherit(struct tool_project *made, const struct tool_project *p)
{
	made->path = p->path;
	made->device = p->device;
	made->inode = p->inode;
	made->is_read_only = p->is_read_only;
	made->asked = p->asked;
	/* SECURITY: neither a guarantee that was done without, nor the sandbox, may be missing. */
	made->asked.run.sandbox = "require";
	made->asked.run.load = &made->asked.load;
}

static int load_limited(struct tool_project *made, const struct tool_project *p, struct err *e)
{
	const struct cordon_load_options quiet = { .size = sizeof(quiet) };
	const struct run_needs needs = { .asks = true, .ceiling = &made->layer };

	inherit(made, p);
	made->policy = load_again(p->policy, &quiet, &needs, e);
	made->asked.run.policy = made->policy;
	return made->policy ? 0 : err_result(e);
}

static struct tool_project *make(struct tool_project *p, struct str state, bool *is_open,
				 struct err *e)
{
	struct tool_project *made = mem_new(sizeof(*made), e);
	const struct json *parsed;
	bool takes_away;

	if (!made)
		return NULL;
	*made = (struct tool_project){ .box = p->box, .arena = ARENA_INIT(CEILING_TREE_BYTES) };
	parsed = json_parse(&made->arena, state, e);
	if (!parsed || sandbox_state_read(&made->arena, parsed, &made->layer, &takes_away, e) < 0 ||
	    arena_copy(&made->arena, state, &made->ceiling, e) < 0) {
		box_free_project(made);
		return NULL;
	}
	*is_open = !takes_away;
	if (takes_away && load_limited(made, p, e) == 0)
		return made;
	box_free_project(made);
	return NULL;
}

/* The one that was used last is the first. */
static struct tool_project *find(struct tool_project *p, struct str state)
{
	for (struct tool_project **at = &p->limited; *at; at = &(*at)->next) {
		struct tool_project *found = *at;

		if (!str_eq(found->ceiling, state) || found->is_read_only != p->is_read_only)
			continue;
		*at = found->next;
		found->next = p->limited;
		p->limited = found;
		return found;
	}
	return NULL;
}

struct tool_project *ceiling_project(struct toolbox_call *call, struct tool_project *p,
				     struct err *e)
{
	struct tool_project *found;
	bool is_open = false;

	if (!call->ceiling.len)
		return p;
	found = find(p, call->ceiling);
	if (found)
		return found;
	if (make_room(p, e) < 0)
		return NULL;
	found = make(p, call->ceiling, &is_open, e);
	if (!found)
		return is_open ? p : NULL;
	found->next = p->limited;
	p->limited = found;
	return found;
}
