/* SPDX-License-Identifier: MIT */
/*
 * The first byte chooses: an answer to a question for "a.b", a question, a hosts file or a
 * resolv.conf. What is read as a question is answered, and the answer can be read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/dns/message.h"
#include "proxy/dns/name_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static void check_answer(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = { DNS_A, DNS_AAAA };
	uint16_t id = 0;
	struct dns_answer answer;

	if (size >= 2)
		id = (uint16_t)(data[0] << 8 | data[1]);
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		if (!dns_read_answer(data, size, id, STR("a.b"), types[i], &answer))
			continue;
		demand(answer.count <= DNS_MAX_ADDRESSES);
		demand(answer.count == 0 || answer.code == DNS_FINE);
		demand(answer.ttl <= INT32_MAX);
		for (size_t k = 0; k < answer.count; k++)
			demand(types[i] == DNS_AAAA || ip_is_v4(&answer.addresses[k]));
	}
}

static void check_reply(const struct dns_query *q)
{
	uint8_t out[DNS_REPLY_BYTES], wire[DNS_NAME_BYTES];
	static const uint8_t address[16] = { 0xfd };
	size_t bytes = q->type == DNS_AAAA ? 16 : 4, len;
	struct dns_answer answer;
	struct ip ip;

	(void)!dns_read_reverse(str_of(q->name), &ip);
	len = dns_write_reply(out, q, DNS_FINE, 5, address, bytes);
	demand(len <= sizeof(out));
	if (q->is_odd || (q->type != DNS_A && q->type != DNS_AAAA))
		return;
	demand(dns_write_name(wire, str_of(q->name)) > 0);
	demand(dns_read_answer(out, len, q->id, str_of(q->name), q->type, &answer));
	demand(answer.count == 1 && answer.code == DNS_FINE && answer.ttl == 5);
}

static void check_query(const uint8_t *data, size_t size)
{
	uint8_t out[DNS_REPLY_BYTES];
	struct dns_query q;
	int code = dns_read_query(data, size, &q);

	demand(code >= -1 && code <= DNS_BAD_VERSION);
	if (code < 0)
		return;
	for (const char *c = q.name; *c; c++)
		demand(*c > ' ' && *c < 0x7f && (*c < 'A' || *c > 'Z'));
	if (code == DNS_FINE)
		check_reply(&q);
	demand(dns_write_reply(out, &q, (enum dns_code)code, 0, NULL, 0) <= sizeof(out));
}

static void check_files(struct str text)
{
	struct resolv_conf conf;
	struct ip ips[4];

	demand(hosts_find(text, STR("a.b"), ips, COUNT_OF(ips)) <= COUNT_OF(ips));
	resolv_conf_read(text, &conf);
	demand(conf.server_count >= 1 && conf.server_count <= CONF_MAX_SERVERS);
	demand(conf.search_count <= CONF_MAX_SEARCH && conf.attempts >= 1);
	demand(conf.timeout_ms >= 1000 && conf.timeout_ms <= 30000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] == 'a')
		check_answer(data + 1, size - 1);
	else if (data[0] == 'q')
		check_query(data + 1, size - 1);
	else
		check_files((struct str){ (const char *)data + 1, size - 1 });
	return 0;
}
