/* SPDX-License-Identifier: MIT */
/* cordon_import(): reads the files of another tool, and gives or writes a policy that means the same. */
#include "import/import.h"

#include <errno.h>

#include "base/path.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/os.h"
#include "report/report.h"

enum { FILE_MAX_BYTES = 4 << 20, FILE_MAX_COUNT = 64 };

struct made {
	const char *agent;
	struct imported imported;
	struct str output; /* "": the text is the report */
	struct import_file *files;
	size_t count;
};

static void print_text(struct page *p, const void *data)
{
	const struct made *made = data;

	if (!made->output.len) {
		buf_add(p->out, made->imported.text);
		return;
	}
	if (p->is_brief)
		return;
	page_style(p, STYLE_GOOD, "wrote");
	page_text(p, " ");
	page_str(p, made->output);
	page_text(p, "\n\nnext, in a project's directory:\n  cordon check ");
	page_word(p, made->output);
	page_text(p, "\n  cordon explain --config-file ");
	page_word(p, made->output);
	page_line(p);
}

static void print_note(struct json_writer *w, const struct import_note *note)
{
	json_begin_object(w);
	json_key(w, "file");
	if (note->origin.file)
		json_add_text(w, note->origin.file);
	else
		json_add_null(w);
	json_key(w, "line");
	json_add_int(w, note->origin.line);
	json_key(w, "text");
	json_add_str(w, note->text);
	json_end_object(w);
}

static void print_json(struct json_writer *w, const void *data)
{
	const struct made *made = data;
	const struct imported *im = &made->imported;

	json_begin_object(w);
	json_text(w, "agent", made->agent);
	json_key(w, "files");
	json_begin_array(w);
	for (size_t i = 0; i < made->count; i++)
		json_add_str(w, made->files[i].path);
	json_end_array(w);
	json_str(w, "profile", im->profile);
	json_key(w, "directory");
	if (im->directory.len)
		json_add_str(w, im->directory);
	else
		json_add_null(w);
	json_str(w, "text", im->text);
	json_key(w, "written");
	if (made->output.len)
		json_add_str(w, made->output);
	else
		json_add_null(w);
	json_key(w, "notes");
	json_begin_array(w);
	for (size_t i = 0; i < im->notes.count; i++)
		print_note(w, &im->notes.items[i]);
	json_end_array(w);
	json_end_object(w);
}

/* Where the nearest that exists leads, and the rest below it. */
static int look(void *user, struct arena *a, struct str path, struct import_place *out,
		struct err *e)
{
	struct str above = path, copy, real;
	char found[PATH_MAX_BYTES];
	struct os_file file = { .type = OS_DIR };

	(void)user;
	for (;;) {
		if (arena_copy(a, above, &copy, e) < 0)
			return err_result(e);
		if (os_real_path(copy.p, found))
			break;
		if (str_is(above, "/")) {
			out->real = path;
			out->is_file = false;
			return 0;
		}
		above = path_parent(above);
	}
	if (arena_copy(a, str_of(found), &real, e) < 0 ||
	    path_join(a, real, path_below(path, above), &out->real, e) < 0)
		return err_result(e);
	out->is_file = false;
	if (str_eq(above, path)) {
		if (os_look(real, &file, e) < 0)
			return err_result(e);
		out->is_file = file.type == OS_FILE || file.type == OS_OTHER;
	}
	return 0;
}

static int show_name(struct arena *a, const char *name, const char **out, struct err *e)
{
	scoped_buf shown = BUF_INIT(64 << 10);
	struct str copy;

	utf8_add_shown(&shown, str_of(name));
	if (buf_check(&shown, e) < 0 || arena_copy(a, buf_str(&shown), &copy, e) < 0)
		return err_result(e);
	*out = copy.p;
	return 0;
}

static int read_file(struct arena *a, struct str directory, const char *name,
		     struct import_file *out, struct err *e)
{
	struct os_seen seen = { .is_there = false };

	if (show_name(a, name, &out->name, e) < 0 ||
	    path_plain(a, directory, str_of(name), &out->path, e) < 0 ||
	    os_read_file(a, out->path, FILE_MAX_BYTES, &out->text, &seen, e) < 0)
		return err_result(e);
	if (!seen.is_there)
		return FAIL(e, ERR_NOTFOUND, "%s does not exist", out->name);
	return 0;
}

static int read_files(struct arena *a, struct str directory, const char *const *given,
		      struct made *made, struct err *e)
{
	size_t count = 0;

	while (given && given[count])
		count++;
	if (!count || count > FILE_MAX_COUNT)
		return FAIL(e, ERR_ARGUMENT, "name the files to import: 1 to %d", FILE_MAX_COUNT);
	made->files = arena_array(a, count, sizeof(*made->files), e);
	if (!made->files)
		return err_result(e);
	made->count = count;
	for (size_t i = 0; i < count; i++)
		if (read_file(a, directory, given[i], &made->files[i], e) < 0)
			return err_result(e);
	return 0;
}

/* What is given is valid, or a bug of the translation. */
static int check(const struct imported *im, struct err *e)
{
	scoped_arena a = ARENA_INIT(POLICY_MAX_BYTES);
	struct config_inputs in = {
		.user = { .file = "the imported policy", .text = im->text, .is_present = true }
	};
	const struct selection selection = { .fallback = ":read-only" };
	const struct config *config = config_load(&a, &in, e);
	const struct profile_doc *doc = config ? config_select(&a, config, &selection, e) : NULL;

	if (doc && policy_compile(&a, config, doc, NULL, 0, NULL, e))
		return 0;
	return err_wrap(e, "this can't be imported");
}

static void warn(const struct cordon_load_options *load, const struct imported *im)
{
	for (size_t i = 0; load->on_warning && i < im->notes.count; i++) {
		const struct import_note *note = &im->notes.items[i];
		scoped_buf text = BUF_INIT(16 << 10);

		if (note->origin.file)
			buf_printf(&text, "%s:%u: ", note->origin.file,
				   (unsigned)note->origin.line);
		utf8_add_shown(&text, note->text);
		load->on_warning(load->user, text.p ? text.p : "");
	}
}

/* The directory of the user's own configuration is made, as 'cordon init' does. */
static int write_output(struct arena *a, const char *output, const struct inputs *in, bool replaces,
			struct made *made, struct err *e)
{
	char shown[512];
	struct str above;
	struct os_file file;

	if (path_plain(a, in->directory.path, str_of(output), &made->output, e) < 0)
		return err_result(e);
	above = path_parent(made->output);
	if (os_look(above, &file, e) < 0)
		return err_result(e);
	if (file.type == OS_MISSING && !str_eq(made->output, in->default_user_file))
		return FAIL(e, ERR_ARGUMENT, "the directory '%s' does not exist; create it first",
			    utf8_show(above, shown, sizeof(shown)));
	return config_write(made->output, made->imported.text, replaces, e);
}

static int make(cordon_report *report, const struct cordon_import_options *options,
		const struct cordon_load_options *load, struct err *e)
{
	struct arena *a = &report->arena;
	struct inputs in = { .a = a, .texts = a, .options = load };
	struct made *made = ARENA_NEW(a, struct made, e);
	struct import_host host = { .look = look };
	enum import_format format;
	char shown[64];

	if (!made)
		return err_result(e);
	if (!options->agent || !import_format_find(str_of(options->agent), &format))
		return FAIL(e, ERR_ARGUMENT,
			    "'%s' can't be imported; use claude, codex, gemini, opencode or srt",
			    utf8_show(str_of(options->agent ? options->agent : ""), shown,
				      sizeof(shown)));
	made->agent = import_format_name(format);
	if (inputs_find(&in, e) < 0)
		return err_result(e);
	host.home = in.places.home;
	host.temporary = in.places.tmpdir;
	host.directory = in.directory.path;
	if (read_files(a, host.directory, options->files, made, e) < 0 ||
	    import_translate(a, format, made->files, made->count, &host, &made->imported, e) < 0 ||
	    check(&made->imported, e) < 0)
		return err_result(e);
	if (options->output &&
	    write_output(a, options->output, &in, (options->flags & CORDON_IMPORT_REPLACE) != 0,
			 made, e) < 0)
		return err_result(e);
	warn(load, &made->imported);
	report->data = made;
	report->print_text = print_text;
	report->schema = "import/1";
	report->describe = print_json;
	return 0;
}

int cordon_import(const struct cordon_import_options *options, cordon_report **report,
		  cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_import_options own;
	struct cordon_load_options load;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_import: report is NULL");
	else if (options_read_import(options, &own, &e) == 0 &&
		 options_read(own.load, &load, &e) == 0) {
		if (own.flags & ~(uint64_t)CORDON_IMPORT_REPLACE)
			(void)FAIL(&e, ERR_ARGUMENT, "cordon_import: a flag is not known");
		else
			r = report_new(&e);
	}
	if (!r)
		return error_give(&e, error);
	if (make(r, &own, &load, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
