/* SPDX-License-Identifier: MIT */
/* cordon_init(): puts the starter configuration in its place. */
#include <errno.h>

#include "backend/backend.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/os.h"
#include "report/report.h"

struct written {
	struct str path;
	bool is_default; /* where it is found without --config-file */
};

static void print_text(struct page *p, const void *data)
{
	const struct written *written = data;

	if (p->is_brief)
		return;
	page_style(p, STYLE_GOOD, "wrote");
	page_text(p, " ");
	page_str(p, written->path);
	page_text(p, "\n\nnext, in a project's directory:\n");
	if (written->is_default) {
		page_text(p, "  cordon check       is it valid?\n"
			     "  cordon explain     what does it allow here?\n"
			     "  cordon why ~/.ssh  what about one path or host, and why?\n");
		return;
	}
	page_text(p, "  cordon check ");
	page_word(p, written->path);
	page_text(p, "\n  cordon explain --config-file ");
	page_word(p, written->path);
	page_line(p);
}

static void print_json(struct json_writer *w, const void *data)
{
	const struct written *written = data;

	json_begin_object(w);
	json_str(w, "written", written->path);
	json_end_object(w);
}

/*
 * Where the first backend does not hold what every run needs, the line that accepts it, for the user to take
 * out of the comment: before the tables, as it is a key of the top.
 */
static void add_accepted(struct buf *out)
{
	const guarantee_set rarely = GUARANTEE_BIT(G_LIMITS) | GUARANTEE_BIT(G_NET_MANAGED);
	guarantee_set lacks = 0;
	bool is_first = true;

	for (int g = 0; g < GUARANTEE_COUNT && inputs_own_system() != PLACES_LINUX && backends[0];
	     g++)
		lacks |= GUARANTEE_BIT(g) & ~backends[0]->gives(NULL) & ~rarely;
	if (!lacks)
		return;
	buf_printf(out,
		   "# The backend %s does not hold these, which every profile needs (cordon "
		   "explain):\n"
		   "# accept_missing = [",
		   backends[0]->name);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (lacks & GUARANTEE_BIT(g)) {
			buf_printf(out, "%s\"%s\"", is_first ? "" : ", ",
				   guarantee_name((enum guarantee)g));
			is_first = false;
		}
	buf_add_text(out, "]\n\n");
}

int config_write(struct str path, struct str text, bool replaces, struct err *e)
{
	char shown[512];
	struct os_file file;

	if (replaces) {
		if (os_look(path, &file, e) < 0)
			return err_result(e);
		if (file.type == OS_LINK)
			return FAIL(e, ERR_ARGUMENT,
				    "'%s' is a link, which --force would replace; name the file "
				    "that it leads to",
				    utf8_show(path, shown, sizeof(shown)));
	}
	if (os_create_file(path, text, replaces, e) == 0)
		return 0;
	if (e->code == ERR_SYS && e->os_error == EEXIST)
		return FAIL(e, ERR_ARGUMENT, "'%s' exists already; --force replaces it",
			    utf8_show(path, shown, sizeof(shown)));
	return err_result(e);
}

static int write_starter(cordon_report *report, const struct cordon_load_options *options,
			 const char *file, bool replaces, struct err *e)
{
	struct inputs in = { .a = &report->arena, .texts = &report->arena, .options = options };
	struct written *written = ARENA_NEW(&report->arena, struct written, e);
	scoped_buf text = BUF_INIT(CONFIG_MAX_BYTES);

	add_accepted(&text);
	buf_add_text(&text, starter_config);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	if (!written || (!file && inputs_find(&in, e) < 0) ||
	    (file && arena_copy(&report->arena, str_of(file), &written->path, e) < 0))
		return err_result(e);
	if (!file) {
		written->path = in.default_user_file;
		written->is_default = true;
	}
	if (!written->path.len)
		return FAIL(e, ERR_ARGUMENT,
			    "can't find your configuration: $HOME is not set; name a FILE");
	if (config_write(written->path, buf_str(&text), replaces, e) < 0)
		return err_result(e);
	report->data = written;
	report->print_text = print_text;
	report->schema = "init/1";
	report->describe = print_json;
	return 0;
}

int cordon_init(const struct cordon_load_options *options, const char *file, uint32_t flags,
		cordon_report **report, cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_load_options own;
	cordon_report *r = NULL;

	if (!report || (flags & ~(uint32_t)CORDON_INIT_REPLACE)) {
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_init: report is NULL, or a flag is not known");
		return error_give(&e, error);
	}
	if (options_read(options, &own, &e) < 0 || !(r = report_new(&e)))
		return error_give(&e, error);
	if (write_starter(r, &own, file, (flags & CORDON_INIT_REPLACE) != 0, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
