/* SPDX-License-Identifier: MIT */
/* cordon_check_syntax(): whether a file is TOML 1.0, whatever it says. */
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/os.h"
#include "report/report.h"

static void render(struct page *p, const struct json *root)
{
	if (p->is_brief)
		return;
	page_style(p, STYLE_GOOD, "ok");
	page_text(p, ": ");
	page_str(p, value_str(root, "file"));
	page_text(p, " is TOML 1.0\n");
}

static void describe(struct json_writer *w, const void *data)
{
	json_begin_object(w);
	json_bool(w, "ok", true);
	json_text(w, "file", data);
	json_end_object(w);
}

static int read_file(struct arena *shown_in, struct arena *texts, const char *file,
		     struct source *out, struct err *e)
{
	scoped_buf shown = BUF_INIT(64 << 10);
	struct os_seen seen = { .is_there = false };
	struct str name;

	utf8_add_shown(&shown, str_of(file));
	if (buf_check(&shown, e) < 0 || arena_copy(shown_in, buf_str(&shown), &name, e) < 0 ||
	    os_read_file(texts, str_of(file), CONFIG_MAX_BYTES, &out->text, &seen, e) < 0)
		return err_result(e);
	if (!seen.is_there)
		return FAIL_CAUSE(e, CAUSE_CONFIG_NOT_FOUND, "there is no file '%s'", name.p);
	out->file = name.p;
	return 0;
}

static int judge(cordon_report *report, const char *file, struct err *e)
{
	scoped_arena a = ARENA_INIT(POLICY_MAX_BYTES);
	struct source source = { .file = file, .text = STR_EMPTY };
	int r = strcmp(file, "-") == 0 ? inputs_read_stdin(&a, &source, e)
				       : read_file(&report->arena, &a, file, &source, e);

	if (r < 0 || !toml_parse(&a, source.file, source.text, e))
		return err_result(e);
	report->data = source.file;
	report->render = render;
	report->schema = "check-syntax/1";
	report->describe = describe;
	return 0;
}

int cordon_check_syntax(const char *file, cordon_report **report, cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!file || !report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_check_syntax was called with a NULL");
	else
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (judge(r, file, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
