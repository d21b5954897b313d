/* SPDX-License-Identifier: MIT */
/* See inside.h. It is what backend/mounts/lower.c does with such paths, in words. */
#include "report/inside.h"

#include "backend/devices.h"
#include "base/path.h"

/* Whether a line about this place or below it decided, and not one about all around it. */
static bool is_named(const struct verdict *v, struct str place)
{
	return path_is_under(v->rule->path, place);
}

static bool is_named_below(const struct verdict *v, struct str place)
{
	return is_named(v, place) && !str_eq(v->rule->path, place);
}

/* Whether something from `place` on above `path` is denied: nothing is opened again below it. */
static bool is_closed(const struct plan *plan, struct str place, struct str path)
{
	for (size_t n = place.len; n < path.len; n++) {
		struct verdict above;

		if (path.p[n] != '/')
			continue;
		above = plan_resolve(plan, str_first(path, n));
		if (above.access == ACCESS_DENY && is_named(&above, place))
			return true;
	}
	return false;
}

static int say(struct arena *a, struct inside *out, struct err *e, struct str place,
	       const char *text)
{
	return arena_printf(a, &out->text, e,
			    "inside, %.*s %s (with the landlock backend it is the host's)",
			    STR_ARG(place), text);
}

/* In the /dev of every run, and to be used like the host's. */
static bool is_usual_device(struct str path)
{
	static const char *const usual[] = { HOST_DEVICES,  "/dev/ptmx",  "/dev/pts",
					     "/dev/shm",    "/dev/fd",	  "/dev/stdin",
					     "/dev/stdout", "/dev/stderr" };

	for (size_t i = 0; i < COUNT_OF(usual); i++)
		if (path_is_under(path, str_of(usual[i])))
			return true;
	return false;
}

static int find_device(struct arena *a, struct str path, const struct verdict *v,
		       struct inside *out, struct err *e)
{
	const struct str dev = STR("/dev");

	if (v->access == ACCESS_WRITE && is_named_below(v, dev))
		return 0;
	/* A read-only mount does not keep anyone from writing to a device, so there is none. */
	out->ignores[ACCESS_READ] = true;
	out->ignores[ACCESS_WRITE] = str_eq(path, dev) || is_usual_device(path);
	if (is_usual_device(path))
		return say(a, out, e, path, "is the sandbox's own, and can be used");
	return say(a, out, e, dev,
		   "is a small one of the sandbox's own; another device is in it only by a write "
		   "entry that names it");
}

/* A fresh one is always there; /sys is the host's, where the root is shown. */
static int find_kernel(struct arena *a, const struct plan *plan, struct str place,
		       struct inside *out, struct err *e)
{
	out->ignores[ACCESS_READ] = true;
	out->ignores[ACCESS_WRITE] = true;
	if (str_is(place, "/proc"))
		return say(a, out, e, place,
			   "is the sandbox's own: it shows the processes of the run, and its "
			   "switches, such as those in /proc/sys, are read-only");
	if (plan_resolve(plan, STR("/")).access == ACCESS_DENY)
		return say(a, out, e, place, "is not there, whatever an entry says");
	return say(a, out, e, place, "can be read and not written, whatever an entry says");
}

/* A private one shows of the host's what an entry names, and the workspace. */
static bool is_shown(const struct plan *plan, struct str path, const struct verdict *v,
		     struct str place)
{
	if (is_named_below(v, place))
		return true;
	for (size_t i = 0; i < plan->places.root_count; i++) {
		struct str root = plan->places.roots[i];

		if (path_is_under(root, place) && path_is_under(path, root))
			return true;
	}
	return false;
}

static int find_tmp(struct arena *a, const struct plan *plan, struct str path,
		    const struct verdict *v, struct inside *out, struct err *e)
{
	for (size_t i = 0; i < PLACES_TMP_COUNT; i++) {
		struct str tmp = places_tmp(&plan->places, i);

		if (!tmp.len || !path_is_under(path, tmp) || is_shown(plan, path, v, tmp))
			continue;
		for (size_t k = 0; k < COUNT_OF(out->ignores); k++)
			out->ignores[k] = str_eq(path, tmp);
		return arena_printf(
			a, &out->text, e,
			"inside, %.*s is empty and writable, and gone after the run; of "
			"the host's it has what an entry names (tmp = \"private\")",
			STR_ARG(tmp));
	}
	return 0;
}

/* What a command meets where something keeps a missing name (P11), by what that is. */
static const char *placeholder_text(enum placeholder_kind kind)
{
	switch (kind) {
	case PLACEHOLDER_DIR:
		return "an empty placeholder directory keeps it from being made: "
		       "mkdir fails with \"File exists\", to write a file of that name with \"Is a "
		       "directory\"";
	case PLACEHOLDER_FILE:
		return "a placeholder file keeps it from being made: mkdir fails with "
		       "\"File exists\", to write it with \"Read-only file system\" or "
		       "\"Permission "
		       "denied\"";
	case PLACEHOLDER_SOCKET:
		break;
	}
	return "a placeholder socket keeps it from being made: to write a file of that "
	       "name fails with \"Permission denied\" or \"No such device or address\", mkdir with "
	       "\"File exists\"";
}

/* The errors that a mount gives in place of "Read-only file system". */
static int find_mount(struct arena *a, const struct plan *plan, struct str path, struct inside *out,
		      struct err *e)
{
	for (size_t i = 0; i < plan->placeholders.count; i++)
		if (str_eq(plan->placeholders.items[i].path, path))
			return arena_printf(
				a, &out->text,
				e, "inside, %s, to remove or rename it with \"Device or resource busy\"",
				placeholder_text(plan->placeholders.items[i].kind));
	for (size_t i = 0; i < plan->pins.count; i++)
		if (str_eq(plan->pins.items[i].path, path))
			return arena_printf(a, &out->text, e,
					    "inside, it can't be renamed or removed, \"Device or "
					    "resource busy\", "
					    "because of %.*s below it",
					    STR_ARG(plan->pins.items[i].because));
	return 0;
}

int inside_find(struct arena *a, const struct plan *plan, struct str path, const struct verdict *v,
		struct inside *out, struct err *e)
{
	const struct str places[] = { STR("/proc"), STR("/sys"), STR("/dev") };

	*out = (struct inside){ .text = STR_EMPTY };
	/* What follows is said of Linux. */
	if (plan->is_unsandboxed || plan->places.system != PLACES_LINUX)
		return 0;
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct str place = places[i];

		if (!path_is_under(path, place))
			continue;
		if (v->access == ACCESS_DENY && is_named(v, place)) {
			/* It is masked as everywhere. The line itself may be changed. */
			out->ignores[ACCESS_READ] = !str_eq(v->rule->path, path);
			out->ignores[ACCESS_WRITE] = true;
			return 0;
		}
		if (is_closed(plan, place, path)) {
			out->ignores[ACCESS_READ] = true;
			out->ignores[ACCESS_WRITE] = true;
			return say(
				a, out, e, path,
				"is denied like what is above it: nothing is opened again there");
		}
		return str_is(place, "/dev") ? find_device(a, path, v, out, e)
					     : find_kernel(a, plan, place, out, e);
	}
	if (plan->policy->profile->tmp_is_private && find_tmp(a, plan, path, v, out, e) < 0)
		return err_result(e);
	return out->text.len ? 0 : find_mount(a, plan, path, out, e);
}
