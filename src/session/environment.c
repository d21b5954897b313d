/* SPDX-License-Identifier: MIT */
/*
 * P21 and P22: the environment of the command. Values are only ever copied from
 * list to list; nothing here or above it shows one.
 */
#include "base/utf8.h"
#include "session/session.h"

struct making {
	struct arena *a;
	const struct environment_request *in;
	VEC(const char *) list;
	str_list withheld;
};

static struct str name_of(const char *entry)
{
	struct str whole = str_of(entry);

	return str_first(whole, str_find(whole, '='));
}

/* SECURITY: who reads these trusts that Cordon wrote them. */
static bool is_mark(struct str name)
{
	return str_has_prefix(name, STR("CORDON_SANDBOX")) ||
	       str_has_prefix(name, STR("CODEX_SANDBOX"));
}

/* What an outer sandbox says of the network stays true in an inner one. */
static bool is_network_mark(struct str name)
{
	return str_is(name, "CORDON_SANDBOX_NETWORK_DISABLED") ||
	       str_is(name, "CODEX_SANDBOX_NETWORK_DISABLED");
}

static int add(struct making *m, const char *entry, struct err *e)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	const char **place = VEC_PUSH(m->a, &m->list, e);

	if (!place)
		return err_result(e);
	*place = entry;
	return 0;
}

static int add_pair(struct making *m, const char *name, struct str value, struct err *e)
{
	struct str entry;

	if (arena_printf(m->a, &entry, e, "%s=%.*s", name, (int)value.len, value.p) < 0)
		return err_result(e);
	return add(m, entry.p, e);
}

/* Whether the call says something of `name`: 0 no, 1 passes it on, 2 sets it. */
static int find_more(const struct making *m, struct str name)
{
	int found = 0;

	for (size_t i = 0; m->in->more && m->in->more[i]; i++)
		if (str_eq(name_of(m->in->more[i]), name))
			found = m->in->more[i][name.len] == '=' ? 2 : MAX_OF(found, 1);
	return found;
}

static bool is_set(const struct making *m, struct str name)
{
	for (size_t i = 0; i < m->in->policy->set.count; i++)
		if (str_eq(m->in->policy->set.items[i].name, name))
			return true;
	return m->in->directory && str_is(name, "PWD");
}

static int inherit_one(struct making *m, const char *entry, struct err *e)
{
	struct str name = name_of(entry);
	struct str *withheld;
	int more;

	/* Not of the form NAME=value: nobody could ask for it. */
	if (name.len == 0 || entry[name.len] != '=')
		return 0;
	if (is_mark(name))
		return is_network_mark(name) && !m->in->network_is_off ? add(m, entry, e) : 0;
	more = find_more(m, name);
	if (more == 2 || is_set(m, name))
		return 0;
	if (more == 1 || environment_passes(m->in->policy, name))
		return add(m, entry, e);
	withheld = VEC_PUSH(m->a, &m->withheld, e);
	if (!withheld)
		return err_result(e);
	return arena_copy(m->a, name, withheld, e);
}

static int add_pwd(struct making *m, struct err *e)
{
	if (!m->in->directory || find_more(m, STR("PWD")) == 2)
		return 0;
	return add_pair(m, "PWD", str_of(m->in->directory), e);
}

static int add_set(struct making *m, struct err *e)
{
	for (size_t i = 0; i < m->in->policy->set.count; i++) {
		const struct env_value *set = &m->in->policy->set.items[i];
		struct str entry;

		if (find_more(m, set->name) == 2)
			continue;
		if (arena_printf(m->a, &entry, e, "%.*s=%.*s", (int)set->name.len, set->name.p,
				 (int)set->value.len, set->value.p) < 0 ||
		    add(m, entry.p, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* Of several for one name the last counts. */
static bool is_said_later(const struct making *m, size_t at, struct str name)
{
	for (size_t i = at + 1; m->in->more[i]; i++)
		if (str_eq(name_of(m->in->more[i]), name) && m->in->more[i][name.len] == '=')
			return true;
	return false;
}

static int add_more(struct making *m, struct err *e)
{
	for (size_t i = 0; m->in->more && m->in->more[i]; i++) {
		struct str name = name_of(m->in->more[i]);
		char shown[128];

		if (name.len == 0)
			return FAIL(e, ERR_ARGUMENT,
				    "'%s' names no variable; write NAME=value or NAME",
				    utf8_show(str_of(m->in->more[i]), shown, sizeof(shown)));
		if (is_mark(name))
			return FAIL(e, ERR_ARGUMENT,
				    "'%s' can't be set: Cordon tells the command with it how it is "
				    "sandboxed",
				    utf8_show(name, shown, sizeof(shown)));
		if (m->in->more[i][name.len] != '=' || is_said_later(m, i, name))
			continue;
		if (add(m, m->in->more[i], e) < 0)
			return err_result(e);
	}
	return 0;
}

static int add_marks(struct making *m, struct err *e)
{
	scoped_buf lost = BUF_INIT(1024);

	if (add_pair(m, "CORDON_SANDBOX", str_of(m->in->backend), e) < 0)
		return err_result(e);
	if (m->in->network_is_off && (add(m, "CORDON_SANDBOX_NETWORK_DISABLED=1", e) < 0 ||
				      add(m, "CODEX_SANDBOX_NETWORK_DISABLED=1", e) < 0))
		return err_result(e);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (m->in->lost & GUARANTEE_BIT(g))
			buf_printf(&lost, "%s%s", lost.len ? "," : "",
				   guarantee_name((enum guarantee)g));
	if (buf_check(&lost, e) < 0)
		return err_result(e);
	return lost.len ? add_pair(m, "CORDON_SANDBOX_LOST", buf_str(&lost), e) : 0;
}

int environment_make(struct arena *a, const struct environment_request *in,
		     struct child_environment *out, struct err *e)
{
	struct making m = { .a = a, .in = in };

	for (size_t i = 0; in->base[i]; i++)
		if (inherit_one(&m, in->base[i], e) < 0)
			return err_result(e);
	if (add_pwd(&m, e) < 0 || add_set(&m, e) < 0 || add_more(&m, e) < 0 ||
	    add_marks(&m, e) < 0 || add(&m, NULL, e) < 0)
		return err_result(e);
	out->list = m.list.items;
	out->count = m.list.count - 1;
	out->withheld = m.withheld;
	return 0;
}
