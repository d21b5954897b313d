/* SPDX-License-Identifier: MIT */
/* Additional permissions (P18): what was asked for met with what was granted. */
#include "../support/policy_text.h"
#include "test.h"

/* "r:/a w:/b h:*.x.y n": read /a, write /b, the host *.x.y, the network. */
static struct permissions parse(struct arena *a, const char *text)
{
	struct permissions p = { 0 };
	struct err e = ERR_INIT;

	while (*text) {
		size_t len = strcspn(text, " ");
		struct str item = { text, len };

		if (text[0] == 'n') {
			p.network = true;
		} else if (text[0] == 'h') {
			struct domain *host = VEC_PUSH(a, &p.hosts, &e);

			if (!host || domain_parse(a, str_from(item, 2), host, &e) < 0)
				abort();
		} else {
			struct permission *path = VEC_PUSH(a, &p.paths, &e);

			if (!path)
				abort();
			path->path = str_from(item, 2);
			path->access = text[0] == 'w' ? ACCESS_WRITE : ACCESS_READ;
		}
		text += len + (text[len] == ' ');
	}
	return p;
}

static void print(struct buf *b, const struct permissions *p)
{
	for (size_t i = 0; i < p->paths.count; i++)
		buf_printf(b, "%s%s:%.*s", b->len ? " " : "",
			   p->paths.items[i].access == ACCESS_WRITE ? "w" : "r",
			   STR_ARG(p->paths.items[i].path));
	for (size_t i = 0; i < p->hosts.count; i++)
		buf_printf(b, "%sh:%.*s", b->len ? " " : "", STR_ARG(p->hosts.items[i].text));
	if (p->network)
		buf_add_text(b, b->len ? " n" : "n");
}

static bool meets(const char *requested, const char *granted, const char *want)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	scoped_buf b = BUF_INIT(1 << 16);
	struct permissions r = parse(&a, requested);
	struct permissions g = parse(&a, granted);
	struct permissions both;
	struct err e = ERR_INIT;

	if (permissions_intersect(&a, &r, &g, &both, &e) < 0) {
		printf("#   %s\n", e.text);
		return false;
	}
	print(&b, &both);
	if (str_is(buf_str(&b), want))
		return true;
	printf("#   %s with %s: got '%s', want '%s'\n", requested, granted, buf_str(&b).p, want);
	return false;
}

TEST(paths_meet_in_the_narrower_and_lesser)
{
	CHECK(meets("w:/a", "w:/a", "w:/a"));
	CHECK(meets("w:/a", "r:/a", "r:/a"));
	CHECK(meets("r:/a", "w:/a", "r:/a"));
	CHECK(meets("w:/a/b", "w:/a", "w:/a/b"));
	CHECK(meets("w:/a", "r:/a/b", "r:/a/b"));
	CHECK(meets("w:/a", "w:/ab", ""));
	CHECK(meets("w:/", "r:/x w:/y", "r:/x w:/y"));
	CHECK(meets("", "w:/", ""));
	CHECK(meets("r:/a", "", ""));
}

TEST(what_a_wider_item_gives_is_not_repeated)
{
	CHECK(meets("w:/a r:/a/b", "w:/", "w:/a"));
	CHECK(meets("r:/a w:/a/b", "w:/", "r:/a w:/a/b"));
	CHECK(meets("r:/a w:/a", "w:/", "w:/a"));
	CHECK(meets("w:/a r:/a/b", "r:/ w:/a/b/c", "r:/a w:/a/b/c"));
	CHECK(meets("w:/a w:/a-b w:/a/b", "w:/", "w:/a w:/a-b"));
}

TEST(hosts_meet_in_the_narrower)
{
	CHECK(meets("h:x.y", "h:x.y", "h:x.y"));
	CHECK(meets("h:x.y", "h:*.y", "h:x.y"));
	CHECK(meets("h:*.y", "h:x.y", "h:x.y"));
	CHECK(meets("h:x.y", "h:*.x.y", ""));
	CHECK(meets("h:x.y", "h:**.x.y", "h:x.y"));
	CHECK(meets("h:*.x.y", "h:**.x.y", "h:*.x.y"));
	CHECK(meets("h:**.b.x.y", "h:*.x.y", "h:**.b.x.y"));
	CHECK(meets("h:**.x.y", "h:**.b.x.y", "h:**.b.x.y"));
	CHECK(meets("h:ax.y", "h:*.x.y", ""));
	CHECK(meets("h:*", "h:x.y", "h:x.y"));
	CHECK(meets("h:8.8.8.8", "h:*", "h:8.8.8.8"));
	CHECK(meets("h:10.1.0.0/16", "h:10.0.0.0/8", "h:10.1.0.0/16"));
	CHECK(meets("h:10.0.0.0/8", "h:11.0.0.0/8", ""));
	CHECK(meets("h:x.y", "h:10.0.0.0/8", ""));
}

TEST(a_wildcard_never_grants_a_private_address)
{
	CHECK(meets("h:10.0.0.1", "h:*", ""));
	CHECK(meets("h:10.0.0.0/8", "h:*", ""));
	CHECK(meets("h:*", "h:127.0.0.1", ""));
}

TEST(ports_meet_too)
{
	CHECK(meets("h:x.y", "h:x.y:443", "h:x.y:443"));
	CHECK(meets("h:x.y:80", "h:x.y:443", ""));
	CHECK(meets("h:x.y:1-100", "h:*.y:80-200", "h:x.y:80-100"));
	CHECK(meets("h:10.0.0.0/8", "h:10.1.0.0/16:80", "h:10.1.0.0/16:80"));
	CHECK(meets("h:10.1.2.3:80", "h:10.0.0.0/8", "h:10.1.2.3:80"));
	CHECK(meets("h:10.1.2.3", "h:10.0.0.0/8:80", "h:10.1.2.3:80"));
	CHECK(meets("h:fd00::1", "h:[fd00::/8]:80", "h:[fd00::1]:80"));
	CHECK(meets("h:*", "h:*:443", "h:*:443"));
}

TEST(the_whole_network_covers_every_host)
{
	CHECK(meets("n", "n", "n"));
	CHECK(meets("n", "", ""));
	CHECK(meets("n", "h:x.y", "h:x.y"));
	CHECK(meets("h:x.y", "n", "h:x.y"));
}

TEST(grants_are_added_to_the_policy)
{
	scoped_outcome o = compile_texts(&(struct texts){ .profile = ":workspace" });
	struct origin who = { .file = "approved", .line = 1, .column = 1 };
	struct permissions p = parse(&o.a, "r:/a w:/b h:x.y n");
	struct policy *policy;

	REQUIRE(o.policy);
	policy = ARENA_NEW(&o.a, struct policy, &o.e);
	REQUIRE(policy);
	*policy = *o.policy;
	REQUIRE(policy_grant(&o.a, policy, &p, who, &o.e) == 0);
	REQUIRE(policy->grants.count == 2 && policy->net_grants.count == 2);
	CHECK_INT(policy->grants.items[1].access, ACCESS_WRITE);
	CHECK_STR(policy->grants.items[1].origin.file, "approved");
	CHECK(policy->net_grants.items[0].is_allow);
	CHECK_INT(policy->net_grants.items[1].domain.kind, DOMAIN_ANY);
	CHECK_INT(policy->layers.items[0].fs.count, 4);
}

TEST(a_bad_grant_adds_nothing)
{
	scoped_outcome o = compile_texts(&(struct texts){ 0 });
	struct permissions p = parse(&o.a, "r:/a w:b");
	struct policy policy;

	REQUIRE(o.policy);
	policy = *o.policy;
	CHECK_INT(policy_grant(&o.a, &policy, &p, (struct origin){ 0 }, &o.e), -ERR_ARGUMENT);
	CHECK_INT(policy.grants.count, 0);
}

TEST(sockets_meet_where_both_name_them)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str one[] = { STR("/run/x"), STR("/run/y") }, two[] = { STR("/run/y"), STR("/run") };
	struct permissions r = { .sockets = { one, 2, 2 } }, g = { .sockets = { two, 2, 2 } };
	struct permissions both;
	struct err e = ERR_INIT;

	REQUIRE(permissions_intersect(&a, &r, &g, &both, &e) == 0);
	REQUIRE(both.sockets.count == 1);
	CHECK(str_is(both.sockets.items[0], "/run/y"));
}
