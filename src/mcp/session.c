/* SPDX-License-Identifier: MIT */
/* Eras and versions: who the client is, what it can do, and which words it understands. */
#include <stdio.h>

#include "base/utf8.h"
#include "mcp/server.h"

#define META_PREFIX "io.modelcontextprotocol/"

static const char instructions[] =
	"Files and commands of the user's projects. Everything that these tools do stays within a "
	"policy that the user has chosen. What is refused says so in structuredContent.error, with "
	"the rule; trying another way around it does not help. The resource cordon://policy says "
	"what is allowed.";

const char *mcp_version_name(enum mcp_version version)
{
	static const char *const names[] = {
#define MCP_VERSION_NAME(id, name) name,
		MCP_VERSIONS(MCP_VERSION_NAME)
#undef MCP_VERSION_NAME
	};

	return version == MCP_NONE || version >= MCP_VERSION_END ? "" : names[version - 1];
}

static enum mcp_version find_version(struct str name)
{
	for (int v = MCP_NONE + 1; v < MCP_VERSION_END; v++)
		if (str_is(name, mcp_version_name((enum mcp_version)v)))
			return (enum mcp_version)v;
	return MCP_NONE;
}

enum mcp_level mcp_level_find(const struct json *name)
{
	static const char *const names[] = {
#define MCP_LEVEL_NAME(level) #level,
		MCP_LEVELS(MCP_LEVEL_NAME)
#undef MCP_LEVEL_NAME
	};

	if (!name || name->type != JSON_STRING)
		return MCP_LEVEL_OFF;
	for (int i = 0; i < MCP_LEVEL_OFF; i++)
		if (str_is(name->string, names[i]))
			return (enum mcp_level)i;
	return MCP_LEVEL_OFF;
}

/* ---- Who the client is ------------------------------------------------------------------------ */

/* "client NAME", for the audit log. */
static void read_name(const struct json *info, char by[MCP_BY_BYTES])
{
	const struct json *name = rpc_param(info, "name");
	char shown[MCP_BY_BYTES - 8];
	bool is_name = name && name->type == JSON_STRING && name->string.len;

	(void)snprintf(by, MCP_BY_BYTES, "client %s",
		       is_name ? utf8_show(name->string, shown, sizeof(shown)) : "without a name");
}

static bool is_object(const struct json *value)
{
	return value && value->type == JSON_OBJECT;
}

/* Whether a form can be shown: an empty object means so too. */
static bool can_elicit(const struct json *capabilities)
{
	const struct json *elicitation = rpc_param(capabilities, "elicitation");

	return is_object(elicitation) &&
	       (json_find(elicitation, "form") || !json_find(elicitation, "url"));
}

static void add_info(struct json_writer *w, bool has_title)
{
	json_begin_object(w);
	json_key(w, "name");
	json_add_text(w, "cordon");
	if (has_title) {
		json_key(w, "title");
		json_add_text(w, "Cordon");
	}
	json_key(w, "version");
	json_add_text(w, CORDON_VERSION);
	json_end_object(w);
}

static void add_capabilities(struct json_writer *w)
{
	static const char *const names[] = { "tools", "resources", "logging" };

	json_key(w, "capabilities");
	json_begin_object(w);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		json_key(w, names[i]);
		json_begin_object(w);
		json_end_object(w);
	}
	json_key(w, "experimental");
	json_begin_object(w);
	json_key(w, MCP_SANDBOX_STATE);
	json_begin_object(w);
	json_end_object(w);
	json_end_object(w);
	json_end_object(w);
	json_key(w, "instructions");
	json_add_text(w, instructions);
}

/* ---- The era that begins with initialize --------------------------------------------------------- */

void mcp_session_initialize(struct request *rq)
{
	struct mcp *m = rq->m;
	const struct json *params = rq->message->params;
	const struct json *version = rpc_param(params, "protocolVersion");
	const struct json *capabilities = rpc_param(params, "capabilities");
	const struct json *info = rpc_param(params, "clientInfo");
	struct reply r;

	if (!version || version->type != JSON_STRING ||
	    (capabilities && !is_object(capabilities)) || (info && !is_object(info))) {
		mcp_refuse(m, &rq->to, RPC_PARAMS,
			   "'protocolVersion' is a string, 'capabilities' and 'clientInfo' are "
			   "objects");
		return;
	}
	if (m->version != MCP_NONE || rq->to.batch) {
		mcp_refuse(m, &rq->to, RPC_INVALID, "the session is initialized already");
		return;
	}
	m->version = find_version(version->string);
	if (m->version == MCP_NONE || m->version > MCP_2025_11_25)
		m->version = MCP_2025_11_25;
	m->elicits = m->version >= MCP_2025_06_18 && can_elicit(capabilities);
	m->has_roots = is_object(rpc_param(capabilities, "roots"));
	read_name(info, m->by);
	rq->to.version = m->version;
	mcp_reply_begin(&r, &rq->to);
	json_key(&r.w, "protocolVersion");
	json_add_text(&r.w, mcp_version_name(m->version));
	json_key(&r.w, "serverInfo");
	add_info(&r.w, m->version >= MCP_2025_06_18);
	add_capabilities(&r.w);
	(void)mcp_reply_end(m, &r, &rq->to);
}

void mcp_session_begin(struct mcp *m)
{
	if (m->version == MCP_NONE || m->is_ready)
		return;
	m->is_ready = true;
	if (m->has_roots)
		mcp_roots_ask(m);
}

/* ---- The era in which each request says it --------------------------------------------------------- */

void mcp_session_discover(struct request *rq)
{
	struct reply r;

	rq->to.version = MCP_2026_07_28;
	mcp_reply_begin(&r, &rq->to);
	json_key(&r.w, "resultType");
	json_add_text(&r.w, "complete");
	json_key(&r.w, "supportedVersions");
	json_begin_array(&r.w);
	for (int v = MCP_VERSION_END - 1; v > MCP_NONE; v--)
		json_add_text(&r.w, mcp_version_name((enum mcp_version)v));
	json_end_array(&r.w);
	add_capabilities(&r.w);
	json_key(&r.w, "ttlMs");
	json_add_int(&r.w, 0);
	json_key(&r.w, "cacheScope");
	json_add_text(&r.w, "private");
	json_key(&r.w, "_meta");
	json_begin_object(&r.w);
	json_key(&r.w, META_PREFIX "serverInfo");
	add_info(&r.w, true);
	json_end_object(&r.w);
	(void)mcp_reply_end(rq->m, &r, &rq->to);
}

static void refuse_version(struct request *rq, struct str asked)
{
	scoped_buf line = BUF_INIT(RPC_MAX_ANSWER);
	struct json_writer w = JSON_LINE_INIT(&line);
	char shown[80];

	rpc_begin(&w, &rq->to.id);
	json_key(&w, "error");
	json_begin_object(&w);
	json_key(&w, "code");
	json_add_int(&w, RPC_VERSION);
	json_key(&w, "message");
	json_add_text(&w, "this version of the protocol is not supported");
	json_key(&w, "data");
	json_begin_object(&w);
	json_key(&w, "supported");
	json_begin_array(&w);
	json_add_text(&w, mcp_version_name(MCP_2026_07_28));
	json_end_array(&w);
	json_key(&w, "requested");
	json_add_text(&w, utf8_show(asked, shown, sizeof(shown)));
	json_end_object(&w);
	json_end_object(&w);
	json_end_object(&w);
	if (line.failed == ERR_OK)
		rq->m->host.send(rq->m->host.user, buf_str(&line));
}

/* The request brings its own version: nothing of a session counts for it. */
static bool find_modern(struct request *rq, const struct json *version)
{
	const struct json *capabilities = json_find(rq->meta, META_PREFIX "clientCapabilities");
	const struct json *info = json_find(rq->meta, META_PREFIX "clientInfo");

	rq->to.version = MCP_2026_07_28;
	if (rq->to.batch) {
		mcp_refuse(rq->m, &rq->to, RPC_INVALID,
			   "batches belong to revision 2025-03-26 alone");
		return false;
	}
	if (version->type != JSON_STRING || !is_object(capabilities) ||
	    (info && !is_object(info))) {
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS,
			   "'_meta' needs '" META_PREFIX
			   "protocolVersion', a string, and '" META_PREFIX
			   "clientCapabilities', an object");
		return false;
	}
	if (find_version(version->string) != MCP_2026_07_28) {
		refuse_version(rq, version->string);
		return false;
	}
	rq->elicits = can_elicit(capabilities);
	rq->level = mcp_level_find(json_find(rq->meta, META_PREFIX "logLevel"));
	read_name(info, rq->by);
	return true;
}

bool mcp_session_find(struct request *rq)
{
	struct mcp *m = rq->m;
	const struct json *meta = rpc_param(rq->message->params, "_meta");
	const struct json *version;

	if (meta && meta->type != JSON_OBJECT) {
		mcp_refuse(m, &rq->to, RPC_PARAMS, "'_meta' is no object");
		return false;
	}
	rq->meta = meta;
	version = rpc_param(meta, META_PREFIX "protocolVersion");
	if (version)
		return find_modern(rq, version);
	rq->elicits = m->elicits;
	rq->level = m->level;
	(void)snprintf(rq->by, sizeof(rq->by), "%s", m->by);
	if (m->version != MCP_NONE || str_is(rq->message->method, "initialize") ||
	    str_is(rq->message->method, "ping") || str_is(rq->message->method, "server/discover"))
		return true;
	mcp_refuse(m, &rq->to, RPC_INVALID,
		   "the session is not initialized: send 'initialize', or _meta as of 2026-07-28");
	return false;
}
