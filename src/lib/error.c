/* SPDX-License-Identifier: MIT */
/* Errors as the caller of the library gets them. */
#include "base/mem.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "report/report.h"

struct cordon_error {
	uint32_t code;
	enum cause cause;
	bool is_static;
	char text[3072];  /* more than the inner text, because of the escapes */
	struct err inner; /* says which part of it is a place; nothing of the caller's own */
	struct buf json;
};

_Static_assert((int)CORDON_OK == (int)ERR_OK && (int)CORDON_E_NOMEM == (int)ERR_NOMEM &&
		       (int)CORDON_E_SYNTAX == (int)ERR_SYNTAX &&
		       (int)CORDON_E_POLICY == (int)ERR_POLICY &&
		       (int)CORDON_E_LIMIT == (int)ERR_LIMIT && (int)CORDON_E_SYS == (int)ERR_SYS &&
		       (int)CORDON_E_WEAKER == (int)ERR_WEAKER &&
		       (int)CORDON_E_INTERNAL == (int)ERR_INTERNAL &&
		       (int)CORDON_E_ARGUMENT == (int)ERR_ARGUMENT &&
		       (int)CORDON_E_NOTFOUND == (int)ERR_NOTFOUND &&
		       (int)CORDON_E_CANCELLED == (int)ERR_CANCELLED,
	       "the codes are handed on as they are");

#define OUT_OF_MEMORY_JSON                                                                  \
	"{\"schema\": \"error/1\", \"version\": \"" CORDON_VERSION                          \
	"\", \"error\": {\"code\": \"nomem\", \"cause\": \"out_of_memory\", "               \
	"\"message\": \"out of memory\", \"details\": [], \"file\": null, \"line\": null, " \
	"\"column\": null}}\n"

/* For when there is no memory even for an error. Never written to. */
static cordon_error out_of_memory = {
	.code = CORDON_E_NOMEM, .cause = CAUSE_NOMEM, .is_static = true, .text = "out of memory"
};

cordon_error *cordon_error_new(uint32_t code, const char *text)
{
	struct err ignored = ERR_INIT;
	cordon_error *error = mem_new(sizeof(*error), &ignored);

	if (!error)
		return &out_of_memory;
	error->code = code;
	error->cause = cause_of_code((enum err_code)code);
	error->json = (struct buf)BUF_INIT(64 << 10);
	(void)utf8_show(str_of(text), error->text, sizeof(error->text));
	return error;
}

cordon_error *cordon_error_new_cause(const char *name, const char *text)
{
	enum cause cause = CAUSE_OK;
	cordon_error *error;

	while (cause < CAUSE_COUNT && strcmp(cause_name(cause), name) != 0)
		cause++;
	if (cause == CAUSE_COUNT)
		cause = CAUSE_INTERNAL;
	error = cordon_error_new((uint32_t)cause_code(cause), text);
	if (!error->is_static)
		error->cause = cause;
	return error;
}

/* Where descriptors, processes or the size of files run out, the remedy is the same everywhere. */
static const char *find_remedy(enum cause cause)
{
	if (cause == CAUSE_OPEN_FILES)
		return "raise the limit on open files ('ulimit -n')";
	if (cause == CAUSE_FILE_SIZE)
		return "raise the limit on file sizes ('ulimit -f')";
	if (cause == CAUSE_PROCESS_LIMIT)
		return "raise the limit on processes ('ulimit -u', or the pids limit of the "
		       "container)";
	return NULL;
}

int error_give(const struct err *e, cordon_error **error)
{
	if (error) {
		const char *remedy = find_remedy(e->cause);
		struct err told = *e;

		if (remedy)
			err_add_line(&told, "%s", remedy);
		*error = cordon_error_new((uint32_t)told.code, "");
		if (!(*error)->is_static) {
			(*error)->cause = told.cause;
			(*error)->inner = told;
			(void)err_print(&told, (*error)->text, sizeof((*error)->text));
		}
	}
	return err_result(e);
}

void cordon_error_free(cordon_error *error)
{
	if (!error || error->is_static)
		return;
	buf_done(&error->json);
	mem_free(error);
}

uint32_t cordon_error_code(const cordon_error *error)
{
	return error->code;
}

const char *cordon_error_text(const cordon_error *error)
{
	return error->text;
}

const char *cordon_error_cause(const cordon_error *error)
{
	return cause_name(error->cause);
}

/* The headline without its place, or a line below it. */
static const char *show_line(const cordon_error *error, size_t number, char *out, size_t size)
{
	struct str line = err_line(&error->inner, number);

	if (error->inner.code == ERR_OK)
		return error->text;
	return utf8_show(number ? line : str_from(line, error->inner.place.bytes), out, size);
}

const char *cordon_error_json(cordon_error *error)
{
	struct json_writer w = JSON_WRITER_INIT(&error->json);
	struct err ignored = ERR_INIT;
	const struct err_place *place = &error->inner.place;
	struct origin where = { .line = place->line, .column = place->column };
	char message[sizeof(error->text)];
	char file[sizeof(error->text)];

	if (error->is_static)
		return OUT_OF_MEMORY_JSON;
	if (place->bytes)
		where.file = utf8_show(err_file(&error->inner), file, sizeof(file));
	buf_clear(&error->json);
	json_begin_object(&w);
	json_text(&w, "schema", "error/1");
	json_text(&w, "version", CORDON_VERSION);
	json_key(&w, "error");
	json_begin_object(&w);
	json_text(&w, "code", err_code_name((enum err_code)error->code));
	json_text(&w, "cause", cause_name(error->cause));
	json_text(&w, "message", show_line(error, 0, message, sizeof(message)));
	json_key(&w, "details");
	json_begin_array(&w);
	for (size_t i = 1; i <= error->inner.line_count; i++)
		json_add_text(&w, show_line(error, i, message, sizeof(message)));
	json_end_array(&w);
	json_origin(&w, &where);
	json_end_object(&w);
	json_end_object(&w);
	if (buf_check(&error->json, &ignored) < 0)
		return OUT_OF_MEMORY_JSON;
	return error->json.p;
}
