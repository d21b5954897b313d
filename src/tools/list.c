/* SPDX-License-Identifier: MIT */
/* The tool list_files. */
#include "base/utf8.h"
#include "tools/walk.h"

enum {
	LIST_TIMEOUT_MS = 30000,
	/* Of one answer, before it is escaped; the rest is counted. */
	ENTRIES_MAX_BYTES = 5 << 20,
	TEXT_MAX_BYTES = 512 << 10,
};

struct list {
	struct call *call;
	uint64_t count;
	bool is_cut, is_text_cut;
};

static const char *type_name(enum file_type type)
{
	switch (type) {
	case FILE_REGULAR:
		return "file";
	case FILE_DIRECTORY:
		return "directory";
	case FILE_LINK:
		return "link";
	case FILE_MISSING:
	case FILE_OTHER:
	default:
		return "other";
	}
}

static void add_text(struct list *l, const struct walk_entry *entry)
{
	struct buf *text = &l->call->text;

	if (text->len + entry->below.len > TEXT_MAX_BYTES) {
		l->is_text_cut = true;
		return;
	}
	/* A newline in a name would look like another file. */
	utf8_add_shown(text, entry->below);
	buf_add_text(text, entry->type == FILE_DIRECTORY ? "/\n" : "\n");
}

static int add_entry(void *user, const struct walk_entry *entry, struct err *e)
{
	struct list *l = user;
	struct json_writer *w = &l->call->json;

	(void)e;
	l->count++;
	l->is_cut |= l->call->structured.len > ENTRIES_MAX_BYTES;
	if (l->is_cut)
		return 0;
	json_begin_object(w);
	json_key(w, "path");
	walk_add_str(w, entry->below);
	json_key(w, "type");
	json_add_text(w, type_name(entry->type));
	if (entry->is_ignored) {
		json_key(w, "ignored");
		json_add_bool(w, true);
	}
	json_end_object(w);
	add_text(l, entry);
	return 0;
}

static void end_list(const struct list *l, const struct tree_walk *walk, bool is_late)
{
	static const struct str late = STR_INIT("it took too long; the rest is left out");
	struct call *call = l->call;
	struct json_writer *w = &call->json;

	json_end_array(w);
	json_key(w, "count");
	json_add_int(w, (int64_t)l->count);
	json_key(w, "truncated");
	json_add_bool(w, l->is_cut || is_late);
	json_key(w, "hidden");
	json_add_int(w, (int64_t)walk->ignored);
	if (l->is_text_cut || l->is_cut)
		buf_printf(&call->text,
			   "[cut: there are %llu entries; list a directory below, or "
			   "give a depth]\n",
			   (unsigned long long)l->count);
	if (!l->count)
		buf_add_text(&call->text, "[no files]\n");
	if (walk->ignored)
		buf_printf(&call->text, "[%llu left out, because git ignores them]\n",
			   (unsigned long long)walk->ignored);
	walk_add_notes(walk, &late, is_late);
}

int tool_list_files(struct call *call, struct err *e)
{
	scoped_opened start = OPENED_NONE;
	struct str path = STR(".");
	struct list list = { .call = call };
	struct patience patience;
	struct tree_walk walk = {
		.call = call, .patience = &patience, .each = add_entry, .user = &list
	};
	int64_t depth = 0;
	int status;

	if (call_get_str(call, "path", &path) < 0 ||
	    call_get_int(call, "depth", 1, INT32_MAX, &depth) < 0 ||
	    call_get_bool(call, "ignored", &walk.has_ignored) < 0 ||
	    open_path(call, path, OPEN_LIST, &start, e) < 0)
		return call_result(call, e);
	walk.max_depth = (size_t)depth;
	patience_begin(&patience, call, LIST_TIMEOUT_MS);
	json_key(&call->json, "path");
	walk_add_str(&call->json, start.path);
	json_key(&call->json, "entries");
	json_begin_array(&call->json);
	status = walk_tree(&walk, &start, e);
	if (status < 0 && !patience.is_over)
		return walk_failed(call, e);
	end_list(&list, &walk, status < 0);
	if (status == 0)
		return 0;
	err_clear(e);
	(void)call_refuse(call, REFUSAL_TIMEOUT, "listing took longer than %d s",
			  LIST_TIMEOUT_MS / 1000);
	call->refusal.keeps_members = true;
	return CALL_REFUSED;
}
