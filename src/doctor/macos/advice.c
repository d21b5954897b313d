/* SPDX-License-Identifier: MIT */
/* What to do about each problem that was found on macOS. Pure: decides by causes and facts alone. */
#include "doctor/native.h"

static int advise_around(struct arena *a, struct diagnosis *d, struct err *e)
{
	const struct os_outer_sandbox *around = d->host.around;
	struct str what;

	if (arena_printf(a, &what, e,
			 "this process runs inside %s (%s), where no other sandbox can be made",
			 around->name, around->mark) < 0)
		return err_result(e);
	return advice_add(a, d, "sandbox_around", true, what.p, around->way_out, e);
}

static int advise_tool(struct arena *a, struct diagnosis *d, struct err *e)
{
	return advice_add(a, d, "sandbox_exec", true, d->host.sandbox_exec.p,
			  "it is part of macOS and never changed by hand: with System Integrity "
			  "Protection on it "
			  "can't be; turn that on (csrutil enable, in Recovery), and install macOS "
			  "again if it "
			  "stays so",
			  e);
}

static int advise_preview(struct arena *a, struct diagnosis *d, struct err *e)
{
	return advice_add(
		a, d, "preview", true,
		"running commands on macOS is a preview: nobody has run its tests on a Mac yet",
		"to try it all the same, set features.macos_preview = true in "
		"~/.config/cordon/config.toml; scripts/qa-macos tries the rest",
		e);
}

/* The usual policy needs what no profile gives. */
static int advise_missing(struct arena *a, struct diagnosis *d, struct err *e)
{
	const struct examined *x = advice_find(d, "seatbelt");
	guarantee_set missing = x ? d->usual.needed & ~x->backend->gives(NULL) : 0;
	scoped_buf names = BUF_INIT(1024);
	struct str what, fix;

	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (missing & GUARANTEE_BIT(g))
			buf_printf(&names, "%s\"%s\"", names.len ? ", " : "",
				   guarantee_name((enum guarantee)g));
	if (!names.len || d->usual.is_enforced)
		return 0;
	if (buf_check(&names, e) < 0 ||
	    arena_printf(a, &what, e,
			 "the profile '%.*s' needs what a profile of macOS can't hold: %.*s",
			 STR_ARG(d->usual.profile), (int)names.len, names.p) < 0 ||
	    arena_printf(
		    a, &fix, e,
		    "if you can do without, accept each by its name: accept_missing = [%.*s] in "
		    "~/.config/cordon/config.toml; cordon explain says what they are",
		    (int)names.len, names.p) < 0)
		return err_result(e);
	return advice_add(a, d, "accept_missing", true, what.p, fix.p, e);
}

static int advise_integrity(struct arena *a, struct diagnosis *d, struct err *e)
{
	if (d->host.integrity_protection != 0)
		return 0;
	return advice_add(a, d, "integrity_protection", false,
			  "System Integrity Protection is off, at least in part: root could change "
			  "sandbox-exec",
			  "csrutil enable, in Recovery", e);
}

int doctor_advise(struct arena *a, struct diagnosis *d, struct err *e)
{
	const struct examined *x = advice_find(d, "seatbelt");
	bool is_needed = !d->usual.is_enforced;

	if (d->host.is_nested)
		return advice_add(
			a, d, "nested", true, "this process already runs in a Cordon sandbox",
			"run cordon outside of it; commands that run in here are confined already",
			e);
	if (d->host.around)
		return advise_around(a, d, e);
	if (d->host.sandbox_exec.len)
		return advise_tool(a, d, e);
	if ((advice_has_few_files(d) ? advice_on_files(a, d, is_needed, e)
				     : advice_on_trying(a, d, e)) < 0)
		return err_result(e);
	if (!d->host.has_preview && advise_preview(a, d, e) < 0)
		return err_result(e);
	if (x && x->works && advise_missing(a, d, e) < 0)
		return err_result(e);
	return advise_integrity(a, d, e) < 0 ? err_result(e) : advice_on_git(a, d, e);
}
