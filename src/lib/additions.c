/* SPDX-License-Identifier: MIT */
/* What a call adds to the profile in force: --add-read, --add-write, --deny, --network, … */
#include "base/utf8.h"
#include "base/windows_path.h"
#include "lib/lib.h"
#include "os/os.h"

static bool has_dots(struct str path)
{
	size_t at = 0;
	struct str name;

	while (path_next(path, &at, &name))
		if (str_is(name, ".."))
			return true;
	return false;
}

/* "~" and "~/x", which a shell leaves alone in --deny=~/x. */
static int expand_home(const struct inputs *in, const char *path, struct str *out, struct err *e)
{
	const bool is_windows = in->places.system == PLACES_WINDOWS;
	struct str home = in->places.home;

	*out = str_of(path);
	if (path[0] != '~' ||
	    (path[1] != '\0' && path[1] != '/' && (path[1] != '\\' || !is_windows)))
		return 0;
	if (in->places.home.len == 0)
		return FAIL_CAUSE(e, CAUSE_HOME_UNKNOWN, "the home directory is not known");
	if (is_windows && windows_show(in->a, home, &home, e) < 0)
		return err_result(e);
	return arena_printf(in->a, out, e, "%.*s%s", (int)home.len, home.p, path + 1);
}

/*
 * Paths in options are relative to the working directory of the process. A ".." behind a
 * symbolic link can only be resolved on disk, so a path with one must have an existing directory.
 */
static int make_plain(const struct inputs *in, const char *path, struct str *out, struct err *e)
{
	struct str base = STR("/");
	struct str text;

	if (path[0] == '\0')
		return FAIL(e, ERR_ARGUMENT, "the path is empty");
	if (expand_home(in, path, &text, e) < 0)
		return err_result(e);
	if (in->view)
		return view_path(in->a, in->places.system, in->places.cwd, text, out, e);
	/* Windows itself resolves ".." in a path before it looks at the disk. */
	if (in->places.system == PLACES_WINDOWS)
		return os_working_directory(in->a, &base, e) < 0
			       ? err_result(e)
			       : view_path(in->a, PLACES_WINDOWS, base, text, out, e);
	if (has_dots(text))
		return inputs_absolute(in->a, text.p, out, e);
	if (!path_is_absolute(text) && os_working_directory(in->a, &base, e) < 0)
		return err_result(e);
	return path_plain(in->a, base, text, out, e);
}

struct added_paths {
	const char *option;
	const char *const *paths;
	uint64_t count;
	enum access access;
};

typedef VEC(struct fs_entry) entry_list;

static int add_paths(const struct inputs *in, const struct added_paths *added, entry_list *list,
		     struct err *e)
{
	for (size_t i = 0; i < added->count; i++) {
		struct fs_entry entry = { .anchor = FS_ABSOLUTE,
					  .glob = STR_EMPTY,
					  .access = added->access,
					  .origin = { .file = added->option } };
		struct fs_entry *place;
		char shown[256];

		if (make_plain(in, added->paths[i], &entry.path, e) < 0)
			return err_wrap(e, "%s '%s'", added->option,
					utf8_show(str_of(added->paths[i]), shown, sizeof(shown)));
		if (arena_copy(in->a, str_of(added->paths[i]), &entry.key, e) < 0)
			return err_result(e);
		place = VEC_PUSH(in->a, list, e);
		if (!place)
			return err_result(e);
		*place = entry;
	}
	return 0;
}

static int add_network(const char *network, struct additions *out, struct err *e)
{
	char shown[64];

	if (!network)
		return 0;
	out->says_network = true;
	out->network_origin = (struct origin){ .file = "--network" };
	if (strcmp(network, "off") == 0)
		out->network = NET_OFF;
	else if (strcmp(network, "full") == 0)
		out->network = NET_FULL;
	else if (strcmp(network, "managed") == 0)
		out->network = NET_MANAGED;
	else
		return FAIL(e, ERR_ARGUMENT, "--network must be off, managed or full, not '%s'",
			    utf8_show(str_of(network), shown, sizeof(shown)));
	return 0;
}

typedef VEC(struct host_addition) host_list;

static int add_hosts(struct arena *a, const char *const *patterns, uint64_t count, bool is_allow,
		     host_list *list, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		struct host_addition *added = VEC_PUSH(a, list, e);

		if (!added)
			return err_result(e);
		*added = (struct host_addition){ .is_allow = is_allow,
						 .origin = { .file = is_allow ? "--allow-host"
									      : "--deny-host" } };
		if (arena_copy(a, str_of(patterns[i]), &added->pattern, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int add_names(struct arena *a, const struct cordon_load_options *o, struct additions *out,
		     struct err *e)
{
	VEC(struct named) list = { .items = NULL };

	for (size_t i = 0; i < o->unprotect_count; i++) {
		struct named *added = VEC_PUSH(a, &list, e);

		if (!added)
			return err_result(e);
		*added = (struct named){ .origin = { .file = "--unprotect" } };
		if (arena_copy(a, str_of(o->unprotect[i]), &added->name, e) < 0)
			return err_result(e);
	}
	out->unprotect = list.items;
	out->unprotect_count = list.count;
	return 0;
}

typedef VEC(struct socket_addition) socket_list;

static int add_sockets(const struct inputs *in, const char *const *paths, uint64_t count,
		       socket_list *list, struct err *e)
{
	static const char option[] = "--allow-socket";

	for (size_t i = 0; i < count; i++) {
		struct socket_addition *added = VEC_PUSH(in->a, list, e);
		char shown[256];

		if (!added)
			return err_result(e);
		*added = (struct socket_addition){ .origin = { .file = option } };
		if (make_plain(in, paths[i], &added->path, e) < 0)
			return err_wrap(e, "%s '%s'", option,
					utf8_show(str_of(paths[i]), shown, sizeof(shown)));
	}
	return 0;
}

/*
 * Options that open part of the network contradict one that turns it off or opens all of it.
 * ports.c checks that ports are used with a managed network only.
 */
static int check_network(const struct additions *found, struct err *e)
{
	const char *host = found->host_count ? found->hosts[0].origin.file : NULL;
	const char *socket = found->socket_count ? found->sockets[0].origin.file : NULL;
	const char *other = host ? host : socket ? socket : found->port_origin.file;

	if (!found->says_network)
		return 0;
	if (other && found->network == NET_OFF) {
		(void)FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				 "%s and --network off can't be used together", other);
		err_add_line(e, "use --network managed, or leave --network out");
		return err_result(e);
	}
	if (host && found->network == NET_FULL) {
		(void)FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				 "%s and --network full can't be used together", host);
		err_add_line(e, "rules for hosts need a managed network: leave --network out");
		err_add_line(e, "to allow every public host, use --allow-host '*'");
		return err_result(e);
	}
	return 0;
}

int inputs_additions(const struct inputs *in, struct additions *out, struct err *e)
{
	const struct cordon_load_options *o = in->options;
	const struct added_paths all[] = {
		{ "--add-read", o->add_read, o->add_read_count, ACCESS_READ },
		{ "--add-write", o->add_write, o->add_write_count, ACCESS_WRITE },
		{ "--deny", o->deny, o->deny_count, ACCESS_DENY },
	};
	struct additions found = { .entries = NULL };
	entry_list list = { .items = NULL };
	host_list hosts = { .items = NULL };
	socket_list sockets = { .items = NULL };

	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (add_paths(in, &all[i], &list, e) < 0)
			return err_result(e);
	if (add_network(o->network, &found, e) < 0 || add_names(in->a, o, &found, e) < 0 ||
	    add_hosts(in->a, o->allow_hosts, o->allow_host_count, true, &hosts, e) < 0 ||
	    add_hosts(in->a, o->deny_hosts, o->deny_host_count, false, &hosts, e) < 0 ||
	    add_sockets(in, o->allow_sockets, o->allow_socket_count, &sockets, e) < 0)
		return err_result(e);
	found.entries = list.items;
	found.entry_count = list.count;
	found.hosts = hosts.items;
	found.host_count = hosts.count;
	found.sockets = sockets.items;
	found.socket_count = sockets.count;
	found.port_origin = (struct origin){ .file = in->run ? in->run->port_option : NULL };
	found.ask_origin = (struct origin){ .file = in->run && in->run->asks ? "--ask" : NULL };
	if (check_network(&found, e) < 0)
		return err_result(e);
	*out = found;
	return 0;
}
