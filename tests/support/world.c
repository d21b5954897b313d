/* SPDX-License-Identifier: MIT */
/* See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

enum { WORLD_MAX_BYTES = 128 << 20 };

void world_init(struct world *w, const char *host, const char *cwd)
{
	*w = (struct world){
		.a = ARENA_INIT(WORLD_MAX_BYTES),
		.e = ERR_INIT,
		.cwd = cwd,
		.home = "/home/me",
		.tmpdir = "",
	};
	fake_host_init(&w->host, host);
}

void world_done(struct world *w)
{
	fake_host_done(&w->host);
	arena_done(&w->a);
}

static struct source source_of(const char *file, const char *text)
{
	return (struct source){
		.file = file,
		.text = str_of(text ? text : ""),
		.is_present = text != NULL,
	};
}

/* The user's text, with the project's digest behind it where that is trusted. */
static const char *user_text(struct world *w)
{
	char digest[SHA256_HEX_BYTES];
	struct str text;

	if (!w->trusts_project || !w->project)
		return w->user;
	sha256_hex(str_of(w->project), digest);
	if (arena_printf(&w->a, &text, &w->e, "%s\n[trust]\n'%s' = 'sha256:%s'\n",
			 w->user ? w->user : "", w->cwd, digest) < 0)
		return NULL;
	return text.p;
}

static bool find_roots(struct world *w, const struct profile_doc *doc)
{
	const struct root *roots;
	size_t count;

	w->in.places = (struct places){
		.cwd = str_of(w->cwd),
		.home = str_of(w->home),
		.tmpdir = str_of(w->tmpdir),
		.roots = w->roots,
		.root_count = 1,
	};
	w->roots[0] = str_of(w->cwd);
	if (profile_doc_roots(&w->a, doc, &roots, &count, &w->e) < 0)
		return false;
	for (size_t i = 0; i < count && i + 1 < WORLD_ROOTS; i++)
		if (places_root(&w->a, &w->in.places, &roots[i],
				&w->roots[w->in.places.root_count++], &w->e) < 0)
			return false;
	return true;
}

bool world_policy(struct world *w)
{
	struct config_inputs in = {
		.system = source_of("system.toml", w->system),
		.requirements = source_of("requirements.toml", w->requirements),
	};
	struct selection selection = { .profile = w->profile, .fallback = ":read-only" };
	const struct config *config;
	const struct profile_doc *doc;
	struct additions more;

	arena_done(&w->a);
	err_clear(&w->e);
	w->policy = NULL;
	w->plan = NULL;
	in.user = source_of("user.toml", user_text(w));
	config = config_load(&w->a, &in, &w->e);
	doc = config ? config_select(&w->a, config, &selection, &w->e) : NULL;
	if (!doc || !find_roots(w, doc))
		return false;
	w->projects[0] = (struct project){
		.dir = str_of(w->cwd),
		.source = source_of("project.toml", w->project),
	};
	more = (struct additions){ .entries = w->extra, .entry_count = w->extra_count };
	w->policy = policy_compile(&w->a, config, doc, w->projects, 1, &more, &w->e);
	if (w->policy && w->grants &&
	    policy_grant(&w->a, w->policy, w->grants, (struct origin){ .file = "granted" }, &w->e) <
		    0)
		w->policy = NULL;
	return w->policy != NULL;
}

bool world_plan(struct world *w)
{
	if (!world_policy(w))
		return false;
	w->in.policy = w->policy;
	w->in.own = w->own;
	w->in.own_count = w->own_count;
	w->in.has_decider = w->has_decider;
	w->in.host = &w->host.host;
	w->plan = plan_build(&w->a, &w->in, &w->e);
	return w->plan != NULL;
}

enum access world_access(const struct world *w, const char *path)
{
	return plan_resolve(w->plan, str_of(path)).access;
}

struct net_verdict world_host(struct world *w, const char *host)
{
	struct hostname name;
	uint16_t port;

	if (hostname_parse_port(&w->a, str_of(host), &name, &port, &w->e) < 0) {
		fprintf(stderr, "world: %s: %s\n", host, w->e.text);
		exit(99);
	}
	return net_resolve(w->plan->net, &name, port);
}
