/* SPDX-License-Identifier: MIT */
/*
 * The client's roots. They become projects if the policy allows it; a client that has none, or lists
 * none, takes nothing away.
 */
#include "mcp/server.h"
#include "mcp/uri.h"

enum { MAX_ROOTS = 64, ROOTS_BYTES = 1 << 20 };

void mcp_roots_ask(struct mcp *m)
{
	struct reply r;

	m->roots_request = mcp_ask_begin(m, &r, "roots/list");
	mcp_ask_end(m, &r);
}

static void take_root(struct mcp *m, const struct json *root)
{
	scoped_arena a = ARENA_INIT(ROOTS_BYTES);
	const struct json *uri = rpc_param(root, "uri");
	struct err e = ERR_INIT;
	struct str path, copy;
	char shown[sizeof(e.text)];

	if (!uri || uri->type != JSON_STRING)
		m->host.log(m->host.user, "the client announced a root without an address");
	else if (uri_file_path(&a, uri->string, &path, &e) < 0 ||
		 arena_copy(&a, path, &copy, &e) < 0)
		m->host.log(m->host.user, err_print(&e, shown, sizeof(shown)));
	else
		m->host.add_root(m->host.user, copy.p);
}

void mcp_roots_take(struct mcp *m, const struct json *result)
{
	const struct json *roots = rpc_param(result, "roots");

	m->roots_request = 0;
	if (!roots || roots->type != JSON_ARRAY)
		return;
	for (size_t i = 0; i < roots->array.count && i < MAX_ROOTS; i++)
		take_root(m, &roots->array.items[i]);
}
