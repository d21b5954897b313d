/* SPDX-License-Identifier: MIT */
/* Errors as the caller of the library gets them. */
#include <errno.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "report/report.h"

struct cordon_error {
	uint32_t code;
	bool is_static;
	char text[1536];  /* more than the inner text, because of the escapes */
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

#define OUT_OF_MEMORY_JSON                                                   \
	"{\"error\": {\"code\": \"nomem\", \"message\": \"out of memory\", " \
	"\"file\": null, \"line\": null, \"column\": null}}\n"

/* For when there is no memory even for an error. Never written to. */
static cordon_error out_of_memory = { .code = CORDON_E_NOMEM,
				      .is_static = true,
				      .text = "out of memory" };

cordon_error *cordon_error_new(uint32_t code, const char *text)
{
	struct err ignored = ERR_INIT;
	cordon_error *error = mem_new(sizeof(*error), &ignored);

	if (!error)
		return &out_of_memory;
	error->code = code;
	error->json = (struct buf)BUF_INIT(64 << 10);
	(void)utf8_show(str_of(text), error->text, sizeof(error->text));
	return error;
}

/* Wherever descriptors, processes or the size of files run out, the way out is the same. */
static struct err with_way_out(const struct err *e)
{
	struct err told = *e;

	if (e->code == ERR_SYS && e->os_error == EMFILE)
		err_wrap_text(&told, "this process may open no more files (raise 'ulimit -n')");
	if (e->code == ERR_SYS && e->os_error == EFBIG)
		err_wrap_text(&told,
			      "this process may not make files of that size (raise 'ulimit -f')");
	/* Of a lookup it means another thing. */
	if (e->code == ERR_SYS && e->os_error == EAGAIN && strstr(e->text, "can't start "))
		err_wrap_text(&told, "no more processes may be started here (raise 'ulimit -u', or "
				     "the pids limit of the container)");
	return told;
}

int error_give(const struct err *e, cordon_error **error)
{
	if (error) {
		struct err told = with_way_out(e);

		*error = cordon_error_new((uint32_t)told.code, told.text);
		if (!(*error)->is_static)
			(*error)->inner = told;
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

static const char *code_name(uint32_t code)
{
	static const char *const texts[] = {
		"ok",	  "nomem",    "syntax",	  "policy",   "limit",	   "sys",
		"weaker", "internal", "argument", "notfound", "cancelled",
	};

	return code < COUNT_OF(texts) ? texts[code] : "internal";
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
	json_key(&w, "error");
	json_begin_object(&w);
	json_text(&w, "code", code_name(error->code));
	json_text(&w, "message",
		  place->bytes ? utf8_show(err_message(&error->inner), message, sizeof(message))
			       : error->text);
	json_origin(&w, &where);
	json_end_object(&w);
	json_end_object(&w);
	if (buf_check(&error->json, &ignored) < 0)
		return OUT_OF_MEMORY_JSON;
	return error->json.p;
}
