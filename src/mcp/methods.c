/* SPDX-License-Identifier: MIT */
/* The methods that are answered at once. */
#include "mcp/server.h"

#include "base/utf8.h"

/* Tools and resources are always the same; what a resource says is not. */
enum { LIST_FRESH_MS = 3600 * 1000, READ_FRESH_MS = 0 };

static bool is_modern(const struct request *rq)
{
	return rq->to.version >= MCP_2026_07_28;
}

/* The begin of a result that may be cached. */
static void begin_cacheable(struct reply *r, const struct request *rq, int64_t fresh_ms)
{
	mcp_reply_begin(r, &rq->to);
	if (!is_modern(rq))
		return;
	json_key(&r->w, "resultType");
	json_add_text(&r->w, "complete");
	json_key(&r->w, "ttlMs");
	json_add_int(&r->w, fresh_ms);
	json_key(&r->w, "cacheScope");
	json_add_text(&r->w, "private");
}

static void end(const struct request *rq, struct reply *r)
{
	if (!mcp_reply_end(rq->m, r, &rq->to))
		mcp_refuse(rq->m, &rq->to, RPC_INTERNAL, "the answer would be longer than 10 MiB");
}

/* Nothing here has more than one page, so no cursor was ever given. */
static bool refuses_cursor(const struct request *rq)
{
	if (!rpc_param(rq->message->params, "cursor"))
		return false;
	mcp_refuse(rq->m, &rq->to, RPC_PARAMS, "there is no such cursor");
	return true;
}

/* ---- Tools ------------------------------------------------------------------------------------- */

static void add_hint(struct json_writer *w, const char *name, bool value)
{
	json_key(w, name);
	json_add_bool(w, value);
}

static void add_tool(struct json_writer *w, const struct tool *tool, enum mcp_version version)
{
	json_begin_object(w);
	json_key(w, "name");
	json_add_text(w, tool->name);
	json_key(w, "description");
	json_add_text(w, tool->description);
	json_key(w, "inputSchema");
	json_add_raw(w, str_of(tool->input_schema));
	if (version >= MCP_2025_06_18 && tool->output_schema) {
		json_key(w, "outputSchema");
		json_add_raw(w, str_of(tool->output_schema));
	}
	if (version >= MCP_2025_03_26) {
		json_key(w, "annotations");
		json_begin_object(w);
		add_hint(w, "readOnlyHint", tool->is_read_only);
		add_hint(w, "destructiveHint", tool->is_destructive);
		add_hint(w, "idempotentHint", tool->is_idempotent);
		json_end_object(w);
	}
	json_end_object(w);
}

static void list_tools(struct request *rq)
{
	struct reply r;

	if (refuses_cursor(rq))
		return;
	begin_cacheable(&r, rq, LIST_FRESH_MS);
	json_key(&r.w, "tools");
	json_begin_array(&r.w);
	for (size_t i = 0; i < TOOL_COUNT; i++)
		add_tool(&r.w, &tools[i], rq->to.version);
	if (rq->m->host.approves)
		add_tool(&r.w, &tools[TOOL_APPROVE], rq->to.version);
	json_end_array(&r.w);
	end(rq, &r);
}

/* ---- Resources --------------------------------------------------------------------------------- */

static const struct resource {
	const char *uri, *name, *description;
	size_t print; /* which function of the host makes it */
} resources[] = {
	{ "cordon://policy", "policy",
	  "What is allowed: profile, projects, grants, counters, and how to change it by hand", 0 },
	{ "cordon://denials", "denials", "What was refused in this session, and by which rule", 1 },
};

static void list_resources(struct request *rq)
{
	struct reply r;

	if (refuses_cursor(rq))
		return;
	begin_cacheable(&r, rq, LIST_FRESH_MS);
	json_key(&r.w, "resources");
	json_begin_array(&r.w);
	for (size_t i = 0; i < COUNT_OF(resources); i++) {
		json_begin_object(&r.w);
		json_key(&r.w, "uri");
		json_add_text(&r.w, resources[i].uri);
		json_key(&r.w, "name");
		json_add_text(&r.w, resources[i].name);
		json_key(&r.w, "description");
		json_add_text(&r.w, resources[i].description);
		json_key(&r.w, "mimeType");
		json_add_text(&r.w, "application/json");
		json_end_object(&r.w);
	}
	json_end_array(&r.w);
	end(rq, &r);
}

static void list_templates(struct request *rq)
{
	struct reply r;

	if (refuses_cursor(rq))
		return;
	begin_cacheable(&r, rq, LIST_FRESH_MS);
	json_key(&r.w, "resourceTemplates");
	json_begin_array(&r.w);
	json_end_array(&r.w);
	end(rq, &r);
}

static const struct resource *find_resource(struct str uri)
{
	for (size_t i = 0; i < COUNT_OF(resources); i++)
		if (str_is(uri, resources[i].uri))
			return &resources[i];
	return NULL;
}

static void read_resource(struct request *rq)
{
	scoped_buf text = BUF_INIT(RPC_MAX_ANSWER);
	const struct json *uri = rpc_param(rq->message->params, "uri");
	const struct mcp_host *host = &rq->m->host;
	const struct resource *resource;
	struct err e = ERR_INIT;
	struct reply r;
	char shown[80];

	if (!uri || uri->type != JSON_STRING) {
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS, "'uri' is no string");
		return;
	}
	resource = find_resource(uri->string);
	if (!resource) {
		mcp_refuse(rq->m, &rq->to, is_modern(rq) ? RPC_PARAMS : RPC_NO_RESOURCE,
			   "there is no resource '%s'",
			   utf8_show(uri->string, shown, sizeof(shown)));
		return;
	}
	(resource->print ? host->print_denials : host->print_policy)(host->user, &text);
	if (buf_check(&text, &e) < 0) {
		mcp_refuse(rq->m, &rq->to, RPC_INTERNAL, "%s", e.text);
		return;
	}
	begin_cacheable(&r, rq, READ_FRESH_MS);
	json_key(&r.w, "contents");
	json_begin_array(&r.w);
	json_begin_object(&r.w);
	json_key(&r.w, "uri");
	json_add_text(&r.w, resource->uri);
	json_key(&r.w, "mimeType");
	json_add_text(&r.w, "application/json");
	json_key(&r.w, "text");
	rpc_add_text(&r.w, buf_str(&text));
	json_end_object(&r.w);
	json_end_array(&r.w);
	end(rq, &r);
}

/* ---- The rest ---------------------------------------------------------------------------------- */

static void answer_nothing(struct request *rq)
{
	struct reply r;

	mcp_reply_begin(&r, &rq->to);
	if (is_modern(rq)) {
		json_key(&r.w, "resultType");
		json_add_text(&r.w, "complete");
	}
	end(rq, &r);
}

static void set_level(struct request *rq)
{
	enum mcp_level level = mcp_level_find(rpc_param(rq->message->params, "level"));

	if (level == MCP_LEVEL_OFF) {
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS, "'level' is none, such as \"warning\"");
		return;
	}
	rq->m->level = level;
	answer_nothing(rq);
}

/* Which eras have a method. */
enum { OLD = 1, NEW = 2, BOTH = OLD | NEW };

static const struct method {
	const char *name;
	void (*answer)(struct request *rq);
	unsigned eras;
} methods[] = {
	{ "tools/call", mcp_call_begin, BOTH },
	{ "tools/list", list_tools, BOTH },
	{ "ping", answer_nothing, OLD },
	{ "resources/read", read_resource, BOTH },
	{ "resources/list", list_resources, BOTH },
	{ "resources/templates/list", list_templates, BOTH },
	{ "logging/setLevel", set_level, OLD },
	{ "initialize", mcp_session_initialize, OLD },
	{ "server/discover", mcp_session_discover, BOTH },
};

void mcp_methods_dispatch(struct request *rq)
{
	struct str name = rq->message->method;
	char shown[80];

	if (str_is(name, MCP_SANDBOX_STATE "/update"))
		rq->m->has_told_state = true;
	for (size_t i = 0; i < COUNT_OF(methods); i++) {
		if (str_is(name, methods[i].name) &&
		    methods[i].eras & (is_modern(rq) ? NEW : OLD)) {
			methods[i].answer(rq);
			return;
		}
	}
	mcp_refuse(rq->m, &rq->to, RPC_NO_METHOD, "there is no method '%s'",
		   utf8_show(name, shown, sizeof(shown)));
}

/* ---- What is told without being asked -------------------------------------------------------------- */

/* Whether anybody wants it: a session, or a request of the other era that says so. */
static bool wants_warnings(const struct mcp *m)
{
	if (m->is_ready && m->level <= MCP_LEVEL_warning)
		return true;
	for (const struct mcp_call *c = m->calls; c; c = c->next)
		if (c->to.version >= MCP_2026_07_28 && !c->is_parked &&
		    c->level <= MCP_LEVEL_warning)
			return true;
	return false;
}

void mcp_tell(struct mcp *m, const char *text)
{
	struct reply r;

	if (!wants_warnings(m))
		return;
	mcp_notice_begin(&r, "notifications/message");
	json_key(&r.w, "level");
	json_add_text(&r.w, "warning");
	json_key(&r.w, "logger");
	json_add_text(&r.w, "cordon");
	json_key(&r.w, "data");
	rpc_add_text(&r.w, str_of(text));
	mcp_notice_end(m, &r);
}
