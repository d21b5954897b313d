/* SPDX-License-Identifier: MIT */
/*
 * P21 and P22: the environment of the command. Values are only ever copied from
 * list to list; nothing here or above it shows one.
 */
#include "base/utf8.h"
#include "base/windows_path.h"
#include "session/session.h"

struct making {
	struct arena *a;
	const struct environment_request *in;
	VEC(const char *) list;
	str_list withheld;
};

/* The value behind it may be long, and is none of this function's business. */
static struct str name_of(const char *entry)
{
	size_t len = 0;

	while (entry[len] != '\0' && entry[len] != '=')
		len++;
	return (struct str){ entry, len };
}

/* SECURITY: whoever compares names goes by this: what is withheld is so in every spelling of it. */
static bool is_name(const struct making *m, struct str name, const char *other)
{
	return variable_is(name, str_of(other), m->in->names_fold);
}

static bool begins(const struct making *m, struct str name, const char *start)
{
	return variable_begins(name, str_of(start), m->in->names_fold);
}

/* SECURITY: who reads these trusts that Cordon wrote them. */
static bool is_mark(const struct making *m, struct str name)
{
	return begins(m, name, "CORDON_SANDBOX") || is_name(m, name, "CORDON_SOCKET") ||
	       begins(m, name, "CODEX_SANDBOX") || begins(m, name, "CODEX_NETWORK_");
}

/* What an outer sandbox says of the network stays true in an inner one. */
static bool is_network_mark(const struct making *m, struct str name)
{
	return is_name(m, name, "CORDON_SANDBOX_NETWORK_DISABLED") ||
	       is_name(m, name, "CODEX_SANDBOX_NETWORK_DISABLED");
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

	for (size_t i = 0; m->in->more && m->in->more[i]; i++) {
		struct str asked = name_of(m->in->more[i]);

		if (variable_is(asked, name, m->in->names_fold))
			found = asked.p[asked.len] == '=' ? 2 : MAX_OF(found, 1);
	}
	return found;
}

static bool is_kept_back(const struct making *m, struct str name)
{
	for (size_t i = 0; m->in->withheld && m->in->withheld[i]; i++)
		if (is_name(m, name, m->in->withheld[i]))
			return true;
	return false;
}

static bool is_set(const struct making *m, struct str name)
{
	for (size_t i = 0; i < m->in->policy->set.count; i++)
		if (variable_is(m->in->policy->set.items[i].name, name, m->in->names_fold))
			return true;
	return m->in->directory && is_name(m, name, "PWD");
}

/* ---- The way to the proxy ------------------------------------------------------------- */

/* The command's own servers. No block of addresses: all others are the proxy's to judge. */
#define NOT_PROXIED "localhost,127.0.0.1,::1"
#define PROXY_HOST  "127.0.0.1"
#define PROXY_USER  "cordon" /* any: the proxy asks for the token alone */

enum form {
	AS_HTTP,  /* http://user:token@host:port */
	AS_SOCKS, /* the same with socks5h */
	AS_PLACE, /* the same without a scheme */
	AS_HOST,
	AS_PORT,
	AS_USER, /* only where there is a token */
	AS_TOKEN,
	AS_EXCEPTIONS,
	AS_TYPE,
	AS_ONE,
	AS_TRUE,
};

/*
 * What programs go by, in the spellings that each looks for. In a network of the command's own the
 * ones that know nothing of them get to the same proxy (network.h), so this is only the shorter way:
 * names are looked up by the proxy, and a refusal comes as a sentence. Elsewhere it is the only one.
 */
static const struct {
	const char *name;
	enum form form;
} proxy_settings[] = {
	{ "HTTP_PROXY", AS_HTTP },
	{ "http_proxy", AS_HTTP },
	{ "HTTPS_PROXY", AS_HTTP },
	{ "https_proxy", AS_HTTP },
	{ "ALL_PROXY", AS_SOCKS },
	{ "all_proxy", AS_SOCKS },
	{ "FTP_PROXY", AS_SOCKS },
	{ "ftp_proxy", AS_SOCKS },
	{ "WS_PROXY", AS_HTTP },
	{ "ws_proxy", AS_HTTP },
	{ "WSS_PROXY", AS_HTTP },
	{ "wss_proxy", AS_HTTP },
	{ "GRPC_PROXY", AS_HTTP },
	{ "grpc_proxy", AS_HTTP },
	{ "RSYNC_PROXY", AS_PLACE },
	{ "NO_PROXY", AS_EXCEPTIONS },
	{ "no_proxy", AS_EXCEPTIONS },
	{ "npm_config_proxy", AS_HTTP },
	{ "npm_config_https_proxy", AS_HTTP },
	{ "npm_config_noproxy", AS_EXCEPTIONS },
	{ "NPM_CONFIG_PROXY", AS_HTTP },
	{ "NPM_CONFIG_HTTPS_PROXY", AS_HTTP },
	{ "NPM_CONFIG_NOPROXY", AS_EXCEPTIONS },
	{ "YARN_HTTP_PROXY", AS_HTTP },
	{ "YARN_HTTPS_PROXY", AS_HTTP },
	{ "PIP_PROXY", AS_HTTP },
	{ "BUNDLE_HTTP_PROXY", AS_HTTP },
	{ "BUNDLE_HTTPS_PROXY", AS_HTTP },
	{ "BUNDLE_NO_PROXY", AS_EXCEPTIONS },
	{ "CARGO_HTTP_PROXY", AS_HTTP },
	{ "DOCKER_HTTP_PROXY", AS_HTTP },
	{ "DOCKER_HTTPS_PROXY", AS_HTTP },
	{ "CLOUDSDK_PROXY_TYPE", AS_TYPE },
	{ "CLOUDSDK_PROXY_ADDRESS", AS_HOST },
	{ "CLOUDSDK_PROXY_PORT", AS_PORT },
	{ "CLOUDSDK_PROXY_USERNAME", AS_USER },
	{ "CLOUDSDK_PROXY_PASSWORD", AS_TOKEN },
	{ "NODE_USE_ENV_PROXY", AS_ONE },
	{ "ELECTRON_GET_USE_PROXY", AS_TRUE },
};

/*
 * For the JVM, which knows no variable but this one; appended to what is there. SECURITY: it prints
 * them all at its start, so no token is among them.
 */
#define JAVA_SETTINGS                                            \
	"-Dhttp.proxyHost=" PROXY_HOST " -Dhttp.proxyPort=%u "   \
	"-Dhttps.proxyHost=" PROXY_HOST " -Dhttps.proxyPort=%u " \
	"-Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]"
static const char java_name[] = "JAVA_TOOL_OPTIONS";

/* An old name, of which npm warns; the caller's may hold a password all the same. */
static const char *const removed[] = { "npm_config_http_proxy", "NPM_CONFIG_HTTP_PROXY" };

static bool is_proxy_setting(const struct making *m, struct str name)
{
	for (size_t i = 0; i < COUNT_OF(removed); i++)
		if (is_name(m, name, removed[i]))
			return true;
	for (size_t i = 0; i < COUNT_OF(proxy_settings); i++)
		if (is_name(m, name, proxy_settings[i].name))
			return true;
	return false;
}

/* The caller's own lead to a proxy outside, or around the one here. */
static bool is_replaced(const struct making *m, struct str name)
{
	return m->in->network_is_managed &&
	       (is_proxy_setting(m, name) || is_name(m, name, java_name));
}

/* SECURITY: what was withheld by name (P21) does not come back as a part of this. */
static struct str find_java(const struct making *m)
{
	struct str found = STR_EMPTY;

	if (!environment_passes(m->in->policy, STR("JAVA_TOOL_OPTIONS"), m->in->names_fold) ||
	    is_kept_back(m, STR("JAVA_TOOL_OPTIONS")))
		return found;
	for (size_t i = 0; m->in->base[i]; i++)
		if (is_name(m, name_of(m->in->base[i]), java_name))
			found = str_of(m->in->base[i] + sizeof(java_name));
	return found;
}

/* What somebody has set for this run is meant so. */
static bool is_said(const struct making *m, struct str name)
{
	return find_more(m, name) == 2 || is_set(m, name);
}

static unsigned proxy_port(const struct making *m)
{
	return m->in->entrance ? m->in->entrance->port : LAUNCH_PROXY_PORT;
}

/* An empty value: the variable is not set. */
static int find_proxy_value(const struct making *m, enum form form, struct str *out, struct err *e)
{
	const char *token = m->in->entrance ? m->in->entrance->token : NULL;
	const char *scheme = form == AS_HTTP ? "http://" : form == AS_SOCKS ? "socks5h://" : "";

	switch (form) {
	case AS_HTTP:
	case AS_SOCKS:
	case AS_PLACE:
		return arena_printf(m->a, out, e, "%s%s%s%s" PROXY_HOST ":%u", scheme,
				    token ? PROXY_USER ":" : "", token ? token : "",
				    token ? "@" : "", proxy_port(m));
	case AS_PORT:
		return arena_printf(m->a, out, e, "%u", proxy_port(m));
	case AS_HOST:
		*out = STR(PROXY_HOST);
		break;
	case AS_USER:
		*out = token ? STR(PROXY_USER) : STR_EMPTY;
		break;
	case AS_TOKEN:
		*out = token ? str_of(token) : STR_EMPTY;
		break;
	case AS_EXCEPTIONS:
		*out = STR(NOT_PROXIED);
		break;
	case AS_TYPE:
		*out = STR("http");
		break;
	case AS_ONE:
		*out = STR("1");
		break;
	case AS_TRUE:
		*out = STR("true");
		break;
	}
	return 0;
}

static int add_proxy_setting(struct making *m, const char *name, enum form form, struct err *e)
{
	struct str value = STR_EMPTY;

	if (is_said(m, str_of(name)))
		return 0;
	if (find_proxy_value(m, form, &value, e) < 0)
		return err_result(e);
	return value.len ? add_pair(m, name, value, e) : 0;
}

static int add_proxy(struct making *m, struct err *e)
{
	struct str java, entry;

	if (!m->in->network_is_managed)
		return 0;
	for (size_t i = 0; i < COUNT_OF(proxy_settings); i++)
		if (add_proxy_setting(m, proxy_settings[i].name, proxy_settings[i].form, e) < 0)
			return err_result(e);
	if (is_said(m, STR("JAVA_TOOL_OPTIONS")))
		return 0;
	java = find_java(m);
	if (arena_printf(m->a, &entry, e, "%s=%.*s%s" JAVA_SETTINGS, java_name, (int)java.len,
			 java.p, java.len ? " " : "", proxy_port(m), proxy_port(m)) < 0)
		return err_result(e);
	return add(m, entry.p, e);
}

/*
 * Without a network: who tries again does so in vain, and for a minute (npm) or ten seconds
 * (pip). What the caller has set is meant so.
 */
static const char *const off_settings[] = {
	"npm_config_fetch_retries=0",
	"PIP_RETRIES=0",
	"CARGO_NET_RETRY=0",
};

/* npm goes by its variables in any case. */
static bool is_same_setting(const struct making *m, struct str a, struct str b)
{
	return variable_is(a, b, m->in->names_fold || str_has_prefix(b, STR("npm_config_")));
}

static bool is_there(const struct making *m, struct str name)
{
	for (size_t i = 0; i < m->list.count; i++)
		if (is_same_setting(m, name_of(m->list.items[i]), name))
			return true;
	return false;
}

/* After all that somebody could have set. */
static int add_off(struct making *m, struct err *e)
{
	for (size_t i = 0; m->in->network_is_off && i < COUNT_OF(off_settings); i++)
		if (!is_there(m, name_of(off_settings[i])) && add(m, off_settings[i], e) < 0)
			return err_result(e);
	return 0;
}

/* `cordon setup` sets it to nothing, and programs written in Rust take that for the working directory. */
static bool is_empty_tmpdir(const struct making *m, struct str name, const char *entry)
{
	return is_name(m, name, "TMPDIR") && !entry[name.len + 1];
}

static int inherit_one(struct making *m, const char *entry, struct err *e)
{
	struct str name = name_of(entry);
	struct str *withheld;
	int more;

	/* Not of the form NAME=value: nobody could ask for it. */
	if (name.len == 0 || entry[name.len] != '=')
		return 0;
	if (is_mark(m, name))
		return is_network_mark(m, name) && !m->in->network_is_off ? add(m, entry, e) : 0;
	if (is_replaced(m, name) || is_empty_tmpdir(m, name, entry))
		return 0;
	more = find_more(m, name);
	if (more == 2 || is_set(m, name))
		return 0;
	if (!is_kept_back(m, name) &&
	    (more == 1 || environment_passes(m->in->policy, name, m->in->names_fold)))
		return add(m, entry, e);
	withheld = VEC_PUSH(m->a, &m->withheld, e);
	if (!withheld)
		return err_result(e);
	return arena_copy(m->a, name, withheld, e);
}

static int add_pwd(struct making *m, struct err *e)
{
	/* No program of Windows asks for it, least of all in Cordon's form. */
	if (!m->in->directory || find_more(m, STR("PWD")) == 2 ||
	    windows_is_path(str_of(m->in->directory)))
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
	for (size_t i = at + 1; m->in->more[i]; i++) {
		struct str later = name_of(m->in->more[i]);

		if (variable_is(later, name, m->in->names_fold) && later.p[later.len] == '=')
			return true;
	}
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
		if (is_mark(m, name))
			return FAIL(e, ERR_ARGUMENT,
				    "'%s' can't be set: Cordon tells the command with it how it is "
				    "sandboxed",
				    utf8_show(name, shown, sizeof(shown)));
		if (m->in->more[i][name.len] != '=' || is_said_later(m, i, name) ||
		    is_kept_back(m, name))
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
	/* Codex has it set on macOS alone. */
	if (strcmp(m->in->backend, "seatbelt") == 0 && add(m, "CODEX_SANDBOX=seatbelt", e) < 0)
		return err_result(e);
	if (m->in->can_ask && add(m, "CORDON_SOCKET=" INSIDE_SOCKET, e) < 0)
		return err_result(e);
	if (m->in->network_is_managed && (add(m, "CORDON_SANDBOX_NETWORK=managed", e) < 0 ||
					  add(m, "CODEX_NETWORK_PROXY_ACTIVE=1", e) < 0))
		return err_result(e);
	/* In a network of its own the command may always listen (P13). */
	if (m->in->network_is_managed && (!m->in->entrance || m->in->may_listen) &&
	    add(m, "CODEX_NETWORK_ALLOW_LOCAL_BINDING=1", e) < 0)
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

/* Of what was inherited the first spelling is the one that programs see; of what was set the last counts. */
static bool is_another_meant(const struct making *m, size_t inherited, size_t at)
{
	struct str name = name_of(m->list.items[at]);

	for (size_t i = 0; i < m->list.count; i++)
		if ((at < inherited ? i < at || i >= inherited : i > at) &&
		    variable_is(name_of(m->list.items[i]), name, true))
			return true;
	return false;
}

/*
 * SECURITY: Windows takes an environment with several spellings of one name, and which of them a program
 * then sees is anybody's guess. Of each name one stays.
 */
static int leave_one_spelling(struct making *m, size_t *inherited, struct err *e)
{
	struct making all = *m;
	size_t kept = 0;

	if (!m->in->names_fold)
		return 0;
	m->list.items = NULL;
	m->list.count = m->list.room = 0;
	for (size_t i = 0; i < all.list.count; i++) {
		if (is_another_meant(&all, *inherited, i))
			continue;
		if (add(m, all.list.items[i], e) < 0)
			return err_result(e);
		kept += i < *inherited;
	}
	*inherited = kept;
	return 0;
}

int environment_make(struct arena *a, const struct environment_request *in,
		     struct child_environment *out, struct err *e)
{
	struct making m = { .a = a, .in = in };
	size_t inherited;

	for (size_t i = 0; in->base[i]; i++)
		if (inherit_one(&m, in->base[i], e) < 0)
			return err_result(e);
	inherited = m.list.count;
	if (add_pwd(&m, e) < 0 || add_proxy(&m, e) < 0 || add_set(&m, e) < 0 ||
	    add_more(&m, e) < 0 || add_off(&m, e) < 0 || add_marks(&m, e) < 0 ||
	    leave_one_spelling(&m, &inherited, e) < 0 || add(&m, NULL, e) < 0)
		return err_result(e);
	out->list = m.list.items;
	out->count = m.list.count - 1;
	out->inherited = inherited;
	out->withheld = m.withheld;
	return 0;
}
