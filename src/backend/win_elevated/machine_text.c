/* SPDX-License-Identifier: MIT */
/* See machine.h. Passwords, what is in the files, and rules and filters as text. */
#include "backend/win_elevated/machine.h"
#include "base/json.h"

const char *const machine_account_names[ACCOUNT_COUNT] = {
	[ACCOUNT_OFFLINE] = "CordonOffline", [ACCOUNT_ONLINE] = "CordonOnline"
};
const char machine_group_name[] = "CordonCommands";
const char machine_comment[] = "Made by Cordon, for commands in its sandbox";
const char machine_rule_group[] = "Cordon";

static const char *const secret_keys[ACCOUNT_COUNT] = {
	[ACCOUNT_OFFLINE] = "offline", [ACCOUNT_ONLINE] = "online"
};

/* ---- Passwords ----------------------------------------------------------------------------------- */

/*
 * 40 characters of 64 are 240 random bits. The four behind them are there for rules about what a password has to
 * consist of.
 */
int machine_make_password(const struct machine *m, char out[MACHINE_PASSWORD_BYTES], struct err *e)
{
	static const char letters[64] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	static const char behind[] = "Aa1-";
	enum { RANDOM_CHARACTERS = 40 };
	unsigned char bytes[RANDOM_CHARACTERS];

	_Static_assert(RANDOM_CHARACTERS + sizeof(behind) <= MACHINE_PASSWORD_BYTES, "it fits");
	if (m->draw(m->state, bytes, sizeof(bytes), e) < 0)
		return err_result(e);
	for (size_t i = 0; i < RANDOM_CHARACTERS; i++)
		out[i] = letters[bytes[i] % 64];
	memcpy(out + RANDOM_CHARACTERS, behind, sizeof(behind));
	return 0;
}

/* ---- The files ------------------------------------------------------------------------------------ */

int machine_print_mark(struct arena *a, uint16_t open_port, const char *owner, struct str *out,
		       struct err *e)
{
	scoped_buf text = BUF_INIT(MACHINE_FILE_MAX_BYTES);
	struct json_writer w = JSON_WRITER_INIT(&text);

	json_begin_object(&w);
	json_key(&w, "version");
	json_add_int(&w, 1);
	json_key(&w, "open_port");
	json_add_int(&w, open_port);
	json_key(&w, "owner");
	json_add_text(&w, owner);
	json_end_object(&w);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

static bool is_version_1(const struct json *root)
{
	const struct json *version = root ? json_find(root, "version") : NULL;

	return version && version->type == JSON_INT && version->integer == 1;
}

bool machine_parse_mark(struct arena *a, struct str text, uint16_t *open_port, struct str *owner)
{
	struct err ignored = ERR_INIT;
	const struct json *root = json_parse(a, text, &ignored);
	const struct json *port, *who;

	if (!is_version_1(root))
		return false;
	port = json_find(root, "open_port");
	who = json_find(root, "owner");
	if (!port || port->type != JSON_INT || port->integer < 0 || port->integer > UINT16_MAX ||
	    !who || who->type != JSON_STRING)
		return false;
	*open_port = (uint16_t)port->integer;
	*owner = who->string;
	return true;
}

int machine_print_secrets(struct arena *a, const struct machine_secret secrets[ACCOUNT_COUNT],
			  struct str *out, struct err *e)
{
	char room[1024];
	struct buf text = BUF_OVER(room);
	struct json_writer w = JSON_LINE_INIT(&text);
	int r;

	json_begin_object(&w);
	json_key(&w, "version");
	json_add_int(&w, 1);
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		json_key(&w, secret_keys[i]);
		json_begin_object(&w);
		json_key(&w, "sid");
		json_add_text(&w, secrets[i].sid);
		json_key(&w, "password");
		json_add_text(&w, secrets[i].password);
		json_end_object(&w);
	}
	json_end_object(&w);
	r = buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
	machine_wipe(room, sizeof(room));
	return r;
}

static bool copy_member(const struct json *object, const char *name, char *out, size_t room)
{
	const struct json *value = json_find(object, name);

	if (!value || value->type != JSON_STRING || !value->string.len || value->string.len >= room)
		return false;
	memcpy(out, value->string.p, value->string.len);
	out[value->string.len] = '\0';
	return true;
}

int machine_parse_secrets(struct arena *a, struct str text,
			  struct machine_secret out[ACCOUNT_COUNT], struct err *e)
{
	struct err ignored = ERR_INIT;
	const struct json *root = json_parse(a, text, &ignored);

	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		const struct json *one = is_version_1(root) ? json_find(root, secret_keys[i])
							    : NULL;

		if (!one || !copy_member(one, "sid", out[i].sid, sizeof(out[i].sid)) ||
		    !copy_member(one, "password", out[i].password, sizeof(out[i].password)))
			return FAIL_CAUSE(e, CAUSE_NOT_SET_UP,
					  "the file with the accounts' passwords is not valid");
	}
	return 0;
}

void machine_wipe(void *memory, size_t bytes)
{
	volatile unsigned char *at = memory;

	while (bytes-- > 0)
		*at++ = 0;
}

/* ---- Rules and filters ---------------------------------------------------------------------------- */

/* Owner and group, because a check of access refuses a descriptor without. CC is FWP_ACTRL_MATCH_FILTER. */
int machine_find_users(struct arena *a, const char *sid, struct machine_users *out, struct err *e)
{
	struct str network;

	if (windows_network_sid(a, &network, e) < 0)
		return err_result(e);
	return arena_printf(a, &out->sddl, e, "O:SYG:SYD:(A;;CC;;;%s)(A;;CC;;;%.*s)", sid,
			    STR_ALL(network));
}

static void add_ports(struct buf *b, const struct windows_block *block)
{
	buf_add_text(b, " ports=");
	if (block->port)
		buf_printf(b, "%u", block->port);
	else if (!block->port_count)
		buf_add_text(b, "any");
	for (size_t i = 0; i < block->port_count; i++) {
		buf_add_text(b, i ? "," : "");
		buf_add(b, block->ports[i]);
	}
}

int machine_rule_text(struct arena *a, const struct windows_block *rule,
		      const struct machine_users *users, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(64 << 10);
	struct str remote = STR("any");

	if (rule->remote_count &&
	    windows_merge_addresses(a, rule->remote, rule->remote_count, &remote, e) < 0)
		return err_result(e);
	buf_printf(&text, "protocol=%s family=%d", rule->protocol, rule->family);
	add_ports(&text, rule);
	buf_add_text(&text, " remote=");
	buf_add(&text, remote);
	buf_add_text(&text, " users=");
	buf_add(&text, users->sddl);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

int machine_filter_text(struct arena *a, const struct windows_block *filter,
			const struct machine_users *users, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(4 << 10);

	buf_printf(&text, "layer=%s family=%d protocol=%s", filter->layer, filter->family,
		   filter->protocol);
	add_ports(&text, filter);
	buf_add_text(&text, " users=");
	buf_add(&text, users->sddl);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

/* The part of a list that is of one family. */
static int keep_family(struct arena *a, const struct windows_block *rule, int family,
		       struct windows_block *out, struct err *e)
{
	struct str *items = arena_array(a, rule->remote_count + 1, sizeof(*items), e);
	size_t count = 0;

	if (!items)
		return err_result(e);
	for (size_t i = 0; i < rule->remote_count; i++)
		if ((str_find(rule->remote[i], ':') < rule->remote[i].len) == (family == 6))
			items[count++] = rule->remote[i];
	*out = *rule;
	out->family = family;
	out->remote = items;
	out->remote_count = count;
	return arena_printf(a, &out->name, e, "%.*s_v%d", STR_ALL(rule->name), family);
}

/* A rule of the firewall is about one protocol, and ICMP is another one in each family. */
int machine_list_blocks(struct arena *a, uint16_t open_port, struct machine_blocks *out,
			struct err *e)
{
	struct windows_lowering all = { .backend = "win_elevated" };

	if (windows_list_blocks(a, open_port, &all, e) < 0)
		return err_result(e);
	*out = (struct machine_blocks){ .filters = all.wfp.items, .filter_count = all.wfp.count };
	out->rules = arena_array(a, 2 * all.firewall.count, sizeof(*out->rules), e);
	if (!out->rules)
		return err_result(e);
	for (size_t i = 0; i < all.firewall.count; i++) {
		const struct windows_block *rule = &all.firewall.items[i];

		if (strcmp(rule->protocol, "icmp") != 0) {
			out->rules[out->rule_count++] = *rule;
			continue;
		}
		for (int family = 4; family <= 6; family += 2)
			if (keep_family(a, rule, family, &out->rules[out->rule_count++], e) < 0)
				return err_result(e);
	}
	return 0;
}
