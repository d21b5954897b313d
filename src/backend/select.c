/* SPDX-License-Identifier: MIT */
/* P16: the first backend that gives all that a plan needs, or why there is none. */
#include "backend/backend.h"
#include "base/utf8.h"

enum {
	REFUSAL_MAX_BYTES = 16 << 10,
	EXPLAINED_MAX = 3, /* guarantees of which it is said why they are needed */
};

/* Names of other versions: no typos. */
static bool is_planned(struct str name)
{
	static const char *const planned[] = { "native",   "bwrap",	"landlock",
					       "seatbelt", "win_token", "win_elevated" };

	for (size_t i = 0; i < COUNT_OF(planned); i++)
		if (str_is(name, planned[i]))
			return true;
	return false;
}

/* What helps besides accepting the loss. */
static const char *way_out(enum guarantee g)
{
	switch (g) {
	case G_NET_MANAGED:
		return "it comes with a later version; until then use --network off or full";
	case G_DENY_FUTURE:
		return "globs = \"default\" does with less";
	case G_LIMITS:
		return "remove the limits on memory and processes";
	case G_IPC:
		return "isolation.ipc = false in the profile drops it";
	case G_PROC:
		return "isolation.proc = false in the profile drops it";
	case G_FS_WRITE:
	case G_FS_READ:
	case G_FS_CARVE:
	case G_FS_REOPEN:
	case G_PROTECT_MISSING:
	case G_NET_OFF:
	case G_KERNEL:
	case G_TREE_DEATH:
	case GUARANTEE_COUNT:
		break;
	}
	return NULL;
}

static void say_need(struct buf *out, const struct plan *plan, enum guarantee g)
{
	const struct need *need = NULL;

	for (size_t i = 0; i < plan->needs.count && !need; i++)
		if (plan->needs.items[i].guarantee == g)
			need = &plan->needs.items[i];
	buf_add_text(out, guarantee_name(g));
	if (!need)
		return;
	buf_add_text(out, " (needed because ");
	utf8_add_shown(out, str_first(need->because, 120));
	if (need->rule && need->rule->origin.file)
		buf_printf(out, ", %s:%u", need->rule->origin.file,
			   (unsigned)need->rule->origin.line);
	buf_add_text(out, ")");
}

static int count(guarantee_set set)
{
	int n = 0;

	for (; set; set &= set - 1)
		n++;
	return n;
}

/* Who was tried and why each fell short; gives what the best of them leaves open. */
static guarantee_set say_tried(struct buf *out, const struct plan *plan, const names *order,
			       guarantee_set accepted)
{
	guarantee_set missing = 0;

	for (size_t i = 0; i < order->count; i++) {
		struct str name = order->items[i].name;
		const struct backend *b = backend_find(name);
		guarantee_set lacks = b ? plan->needs_set & ~b->gives & ~accepted : 0;
		bool is_first = true;

		if (b && !b->gives)
			continue; /* no sandbox */
		buf_add_text(out, i ? "; " : "; tried ");
		utf8_add_shown(out, str_first(name, 64));
		if (!b) {
			buf_add_text(out, ": not in this version");
			continue;
		}
		if (!missing || count(lacks) < count(missing))
			missing = lacks;
		for (int g = 0; g < GUARANTEE_COUNT; g++) {
			if (!(lacks & GUARANTEE_BIT(g)))
				continue;
			buf_printf(out, "%s %s: %s", is_first ? ":" : ",",
				   guarantee_name((enum guarantee)g),
				   b->why_not((enum guarantee)g));
			is_first = false;
		}
	}
	return missing;
}

static void say_way_out(struct buf *out, guarantee_set missing)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if ((missing & GUARANTEE_BIT(g)) && way_out((enum guarantee)g))
			buf_printf(out, "; %s: %s", guarantee_name((enum guarantee)g),
				   way_out((enum guarantee)g));
	if (!missing)
		return;
	buf_add_text(out, "; to run with less: ");
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (missing & GUARANTEE_BIT(g))
			buf_printf(out, "--accept-missing %s ", guarantee_name((enum guarantee)g));
}

static int refuse(const struct plan *plan, const names *order, guarantee_set accepted,
		  struct err *e)
{
	scoped_buf tried = BUF_INIT(REFUSAL_MAX_BYTES);
	scoped_buf text = BUF_INIT(REFUSAL_MAX_BYTES);
	guarantee_set missing = say_tried(&tried, plan, order, accepted);
	int said = 0;

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (!(missing & GUARANTEE_BIT(g)))
			continue;
		buf_add_text(&text, said ? ", " : "");
		if (said++ < EXPLAINED_MAX)
			say_need(&text, plan, (enum guarantee)g);
		else
			buf_add_text(&text, guarantee_name((enum guarantee)g));
	}
	if (!missing)
		buf_add_text(&text, "any of it: there is no backend for it");
	buf_add(&text, buf_str(&tried));
	say_way_out(&text, missing);
	if (buf_check(&tried, e) < 0 || buf_check(&text, e) < 0)
		return err_result(e);
	while (text.len && text.p[text.len - 1] == ' ')
		text.p[--text.len] = '\0';
	return FAIL(e, ERR_WEAKER, "the policy can't be enforced here: nothing gives %s", text.p);
}

static int find_forced(const char *name, const struct backend **out, struct err *e)
{
	char shown[64];

	*out = backend_find(str_of(name));
	if (*out)
		return 0;
	(void)utf8_show(str_of(name), shown, sizeof(shown));
	if (is_planned(str_of(name)))
		return FAIL(e, ERR_WEAKER, "the backend '%s' is not in this version", shown);
	return FAIL(e, ERR_ARGUMENT, "there is no backend '%s'; there are native and none", shown);
}

int backend_select(const struct plan *plan, const names *order, const char *forced,
		   guarantee_set accepted, const struct backend **out, guarantee_set *lost,
		   struct err *e)
{
	const struct backend *b = NULL;
	struct named only = { .name = STR_EMPTY };
	names one = { .items = &only, .count = 1 };

	if (forced) {
		if (find_forced(forced, &b, e) < 0)
			return err_result(e);
		only.name = str_of(forced);
		order = &one;
	}
	for (size_t i = 0; i < order->count; i++) {
		guarantee_set lacks;

		b = backend_find(order->items[i].name);
		/* One that gives nothing is no sandbox, whatever a list says. */
		if (!b || !b->gives)
			continue;
		lacks = plan->needs_set & ~b->gives;
		if (lacks & ~accepted)
			continue;
		*out = b;
		*lost = lacks;
		return 0;
	}
	return refuse(plan, order, accepted, e);
}
