/* SPDX-License-Identifier: MIT */
/* --host-view: an imagined host in place of this one, for all that lib/ reads. */
#include <errno.h>

#include "base/utf8.h"
#include "base/windows_path.h"
#include "lib/lib.h"
#include "os/os.h"

int inputs_find_system(const char *name, enum places_system *out, struct err *e)
{
	static const struct {
		const char *name;
		enum places_system system;
	} words[] = {
		{ "linux", PLACES_LINUX },     { "landlock", PLACES_LINUX },
		{ "macos", PLACES_MACOS },     { "seatbelt", PLACES_MACOS },
		{ "windows", PLACES_WINDOWS },
	};
	char shown[64];

	if (!name)
		name = os_system_name;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (strcmp(words[i].name, name) == 0) {
			*out = words[i].system;
			return 0;
		}
	return FAIL_CAUSE(e, CAUSE_UNKNOWN_PLATFORM,
			  "there is no platform '%s'; the platforms are linux (or landlock), macos "
			  "(or seatbelt) and windows",
			  utf8_show(str_of(name), shown, sizeof(shown)));
}

enum places_system inputs_own_system(void)
{
	enum places_system own = PLACES_LINUX;
	struct err never = ERR_INIT;

	(void)!inputs_find_system(NULL, &own, &never);
	return own;
}

static int read_file(struct inputs *in, const char *name, struct err *e)
{
	struct os_seen seen = { .is_there = false };
	struct str text;
	struct view *view;
	char shown[256];

	if (os_read_file(in->texts, str_of(name), VIEW_MAX_BYTES, &text, &seen, e) < 0)
		return err_result(e);
	utf8_show(str_of(name), shown, sizeof(shown));
	if (!seen.is_there)
		return FAIL_CAUSE(e, CAUSE_HOST_VIEW, "there is no file '%s'", shown);
	view = view_read(in->a, text, e);
	if (!view)
		return err_wrap(e, "%s", shown);
	if (view->system != in->places.system)
		return FAIL_CAUSE(e, CAUSE_HOST_VIEW,
				  "%s describes a host of the platform %s; give --platform %s",
				  shown, view_system_name(view->system),
				  view_system_name(view->system));
	in->view = view;
	in->host = &view->host;
	return 0;
}

int inputs_read_view(struct inputs *in, struct err *e)
{
	const struct cordon_load_options *o = in->options;

	in->host = host_now();
	if (inputs_find_system(o->platform, &in->places.system, e) < 0)
		return err_result(e);
	if (in->run && (o->host_view || in->places.system != inputs_own_system()))
		return FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
				  "a policy for another platform or host can't be used for a run");
	if (o->host_view)
		return read_file(in, o->host_view, e);
	if (in->places.system == PLACES_WINDOWS && inputs_own_system() != PLACES_WINDOWS)
		return FAIL_CAUSE(e, CAUSE_HOST_VIEW,
				  "Cordon can't ask this host for files of Windows; describe one "
				  "with --host-view FILE");
	return 0;
}

int inputs_locate(const struct inputs *in, struct str path, struct located *out, struct err *e)
{
	struct plan_inputs plan = { .places = in->places, .host = in->host };

	return plan_locate(in->a, &plan, path, out, e);
}

int inputs_view_directory(const struct inputs *in, const char *named, struct directory *out,
			  struct err *e)
{
	const struct view *view = in->view;
	struct str path = view->cwd;
	struct located there;
	struct host_file file;
	char shown[256];

	/* A root of the configuration is in Cordon's form already. */
	if (named && view->system == PLACES_WINDOWS && windows_is_path(str_of(named)))
		path = str_of(named);
	else if (named && view_path(in->a, view->system, view->cwd, str_of(named), &path, e) < 0)
		return err_result(e);
	if (inputs_locate(in, path, &there, e) < 0)
		return err_result(e);
	if (there.type != HOST_DIR)
		return FAIL_SYS(e, there.type == HOST_MISSING ? ENOENT : ENOTDIR,
				"can't use the directory %s of the host view",
				utf8_show(path, shown, sizeof(shown)));
	if (view->host.look(view->host.user, there.path, &file, e) < 0)
		return err_result(e);
	*out = (struct directory){ there.path, file.device, file.inode };
	return 0;
}

int inputs_view_file(const struct inputs *in, struct str path, struct str below, struct source *out,
		     struct err *e)
{
	struct located there;
	char shown[256];

	if (inputs_locate(in, path, &there, e) < 0)
		return err_result(e);
	if (there.type == HOST_MISSING && !there.via_link.len && !there.crossed_links)
		return 0;
	utf8_show(path, shown, sizeof(shown));
	if (below.len && !path_is_under(there.path, below))
		return FAIL(e, ERR_POLICY, "%s leads out of its directory", shown);
	if (there.type == HOST_MISSING && !there.via_link.len)
		return 0;
	if (there.type != HOST_FILE)
		return FAIL(e, ERR_POLICY, "%s is no regular file in the host view", shown);
	out->text = view_find(in->view, there.path)->text;
	out->is_present = true;
	return 0;
}
