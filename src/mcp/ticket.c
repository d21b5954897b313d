/* SPDX-License-Identifier: MIT */
/* See ticket.h. "c1.NUMBER.EXPIRY.MAC". */
#include "mcp/ticket.h"

static void add_part(struct buf *b, struct str part)
{
	char hex[SHA256_HEX_BYTES];

	/* Of one length each: no part can pass for the begin of the next. */
	sha256_hex(part, hex);
	buf_add_text(b, hex);
}

void ticket_print(const struct ticket_key *key, const struct ticket *ticket,
		  const struct ticket_subject *subject, struct buf *out)
{
	char space[TICKET_BYTES + 5 * SHA256_HEX_BYTES];
	struct buf bound = BUF_OVER(space);
	unsigned char mac[SHA256_BYTES];
	char hex[SHA256_HEX_BYTES];

	buf_printf(out, "c1.%llu.%llu.", (unsigned long long)ticket->number,
		   (unsigned long long)ticket->expires_ms);
	buf_add(&bound, buf_str(out));
	add_part(&bound, subject->tool);
	add_part(&bound, subject->arguments);
	add_part(&bound, subject->policy);
	add_part(&bound, subject->questions);
	sha256_mac(key->bytes, buf_str(&bound), mac);
	sha256_print(mac, hex);
	buf_add_text(out, hex);
}

/* Up to the next dot. */
static bool take_number(struct str *text, uint64_t *out)
{
	size_t end = str_find(*text, '.');
	uint64_t n = 0;

	if (end == 0 || end == text->len || end > 18)
		return false;
	for (size_t i = 0; i < end; i++) {
		if (!ascii_is_digit(text->p[i]))
			return false;
		n = n * 10 + (uint64_t)(text->p[i] - '0');
	}
	*text = str_from(*text, end + 1);
	*out = n;
	return true;
}

bool ticket_parse(struct str text, struct ticket *out)
{
	struct str rest = str_from(text, STR("c1.").len);

	return str_has_prefix(text, STR("c1.")) && text.len < TICKET_BYTES &&
	       take_number(&rest, &out->number) && take_number(&rest, &out->expires_ms) &&
	       rest.len == SHA256_HEX_BYTES - 1;
}

bool ticket_is_ours(const struct ticket_key *key, struct str text, const struct ticket *ticket,
		    const struct ticket_subject *subject)
{
	char space[TICKET_BYTES];
	struct buf made = BUF_OVER(space);
	unsigned char differs = 0;

	ticket_print(key, ticket, subject, &made);
	if (made.failed != ERR_OK || made.len != text.len)
		return false;
	/* SECURITY: the time that it takes must not tell how much of it was right. */
	for (size_t i = 0; i < text.len; i++)
		differs |= (unsigned char)(text.p[i] ^ made.p[i]);
	return differs == 0;
}
