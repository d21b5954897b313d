/* SPDX-License-Identifier: MIT */
/*
 * See win32.h. All filters are changed in one transaction. Each has a key that is made from its name, and
 * lets everybody read it: so a user who is no administrator can look whether all are there, which enumerating would not
 * let him.
 */
#include "backend/win_elevated/win32/win32.h"
#include "base/sha256.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

#include <fwpmu.h>

#include "backend/win_elevated/win32/wfp_ids.h"

enum { ICMP_V4 = 1, TCP = 6, UDP = 17, ICMP_V6 = 58, MAX_CONDITIONS = 8, MAX_FILTERS = 128 };

/* Administrators and the system all rights, everybody FWPM_ACTRL_READ. */
static const wchar_t object_sddl[] =
	L"O:BAG:BAD:P(A;;0xf07ff;;;BA)(A;;0xf07ff;;;SY)(A;;0x20080;;;AU)";

static wchar_t part_name[] = L"Cordon";

static GUID find_key(struct str name)
{
	unsigned char hash[SHA256_BYTES];
	char text[128];
	GUID key;

	(void)snprintf(text, sizeof(text), "cordon filter %.*s", STR_ARG(name));
	sha256(str_of(text), hash);
	memcpy(&key, hash, sizeof(key));
	return key;
}

static int open_engine(HANDLE *out, struct err *e)
{
	DWORD r = FwpmEngineOpen0(NULL, RPC_C_AUTHN_WINNT, NULL, NULL, out);

	return r == ERROR_SUCCESS ? 0
				  : FAIL_WINDOWS(e, r, "the filtering platform can't be opened");
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static bool is_guid(const GUID *a, const GUID *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static const char *protocol_name(unsigned number, int family)
{
	if (number == TCP)
		return "tcp";
	if (number == UDP)
		return "udp";
	return number == (family == 4 ? ICMP_V4 : ICMP_V6) ? "icmp" : "other";
}

/* False: a condition that no filter of Cordon's has. */
static bool read_condition(struct arena *a, const FWPM_FILTER_CONDITION0 *c,
			   struct windows_block *out, struct str *ports, struct str *users,
			   struct err *e)
{
	const FWP_CONDITION_VALUE0 *v = &c->conditionValue;

	if (is_guid(&c->fieldKey, &wfp_user))
		return c->matchType == FWP_MATCH_EQUAL && v->type == FWP_SECURITY_DESCRIPTOR_TYPE &&
		       v->sd && win32_sddl(a, v->sd->data, users, e) == 0;
	if (is_guid(&c->fieldKey, &wfp_protocol)) {
		out->protocol = protocol_name(v->uint8, out->family);
		return c->matchType == FWP_MATCH_EQUAL && v->type == FWP_UINT8;
	}
	if (!is_guid(&c->fieldKey, &wfp_remote_port))
		return false;
	if (c->matchType == FWP_MATCH_EQUAL && v->type == FWP_UINT16) {
		out->port = v->uint16;
		return true;
	}
	if (c->matchType != FWP_MATCH_RANGE || v->type != FWP_RANGE_TYPE || !v->rangeValue)
		return false;
	return arena_printf(a, &ports[out->port_count++], e, "%u-%u",
			    (unsigned)v->rangeValue->valueLow.uint16,
			    (unsigned)v->rangeValue->valueHigh.uint16) == 0;
}

/* As text; what is unlike any filter of Cordon's gets a text that no wanted one has. */
static int read_filter(struct arena *a, const FWPM_FILTER0 *filter, struct str *out, struct err *e)
{
	struct windows_block block = { .protocol = "any", .layer = "other" };
	struct str *ports = arena_array(a, MAX_CONDITIONS, sizeof(*ports), e);
	struct machine_users users = { .sddl = STR_EMPTY };
	bool is_known = filter->numFilterConditions <= MAX_CONDITIONS &&
			filter->action.type == FWP_ACTION_BLOCK &&
			(filter->flags & ~(UINT32)WFP_INDEXED) ==
				(WFP_PERSISTENT | WFP_CLEAR_ACTION_RIGHT) &&
			is_guid(&filter->subLayerKey, &wfp_sublayer) && filter->providerKey &&
			is_guid(filter->providerKey, &wfp_provider);

	if (!ports)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(wfp_layers); i++)
		if (is_guid(&filter->layerKey, &wfp_layers[i].id)) {
			block.layer = wfp_layers[i].name;
			block.family = wfp_layers[i].family;
		}
	if (strcmp(block.layer, "listen") == 0)
		block.protocol = "tcp";
	block.ports = ports;
	for (UINT32 i = 0; is_known && i < filter->numFilterConditions; i++)
		is_known = read_condition(a, &filter->filterCondition[i], &block, ports,
					  &users.sddl, e);
	if (e->code != ERR_OK)
		return err_result(e);
	if (!is_known) {
		*out = STR("a filter that Cordon does not make");
		return 0;
	}
	return machine_filter_text(a, &block, &users, out, e);
}

static int add_seen(struct arena *a, const FWPM_FILTER0 *filter, block_list *out, struct err *e)
{
	struct block_text *one = VEC_PUSH(a, out, e);
	const wchar_t *name = filter->displayData.name ? filter->displayData.name : L"";

	if (!one || narrow_copy(a, name, wcslen(name), &one->name, e) < 0)
		return err_result(e);
	return read_filter(a, filter, &one->text, e);
}

/* Those that any setup can have made. */
static int list_by_key(HANDLE engine, struct arena *a, block_list *out, struct err *e)
{
	struct windows_lowering open = { .backend = "" }, closed = { .backend = "" };
	const struct windows_lowering *all[] = { &closed, &open };

	if (windows_list_blocks(a, 0, &closed, e) < 0 || windows_list_blocks(a, 2, &open, e) < 0)
		return err_result(e);
	for (size_t k = 0; k < COUNT_OF(all); k++)
		for (size_t i = 0; i < all[k]->wfp.count; i++) {
			struct str name = all[k]->wfp.items[i].name;
			GUID key = find_key(name);
			FWPM_FILTER0 *filter = NULL;
			bool is_known = false;
			DWORD r;
			int added;

			for (size_t n = 0; k > 0 && n < closed.wfp.count; n++)
				is_known = is_known || str_eq(closed.wfp.items[n].name, name);
			if (is_known)
				continue;
			r = FwpmFilterGetByKey0(engine, &key, &filter);
			if (r == (DWORD)FWP_E_FILTER_NOT_FOUND)
				continue;
			if (r != ERROR_SUCCESS)
				return FAIL_WINDOWS(e, r, "a filter can't be looked at");
			added = add_seen(a, filter, out, e);
			FwpmFreeMemory0((void **)&filter);
			if (added < 0)
				return err_result(e);
		}
	return 0;
}

/* Every filter of the provider; each(): 0 goes on. */
static int each_filter(HANDLE engine,
		       int (*each)(void *arg, const FWPM_FILTER0 *filter, struct err *e), void *arg,
		       struct err *e)
{
	HANDLE list = NULL;
	UINT32 count = 0;
	int result = 0;
	DWORD r = FwpmFilterCreateEnumHandle0(engine, NULL, &list);

	if (r != ERROR_SUCCESS)
		return FAIL_WINDOWS(e, r, "the filters can't be listed");
	do {
		FWPM_FILTER0 **filters = NULL;

		r = FwpmFilterEnum0(engine, list, MAX_FILTERS, &filters, &count);
		if (r != ERROR_SUCCESS) {
			result = FAIL_WINDOWS(e, r, "the filters can't be listed");
			break;
		}
		for (UINT32 i = 0; result == 0 && i < count; i++)
			if (filters[i]->providerKey &&
			    is_guid(filters[i]->providerKey, &wfp_provider))
				result = each(arg, filters[i], e);
		FwpmFreeMemory0((void **)&filters);
	} while (result == 0 && count == MAX_FILTERS);
	FwpmFilterDestroyEnumHandle0(engine, list);
	return result;
}

struct listing {
	struct arena *a;
	block_list *out;
};

static int list_one(void *arg, const FWPM_FILTER0 *filter, struct err *e)
{
	struct listing *listing = arg;

	return add_seen(listing->a, filter, listing->out, e);
}

int win32_list_filters(void *state, struct arena *a, block_list *out, struct err *e)
{
	struct listing listing = { .a = a, .out = out };
	HANDLE engine = NULL;
	int r;

	(void)state;
	*out = (block_list){ .items = NULL };
	if (open_engine(&engine, e) < 0)
		return err_result(e);
	r = each_filter(engine, list_one, &listing, e);
	if (r < 0 && e->os_error == error_number(ERROR_ACCESS_DENIED)) {
		err_clear(e);
		*out = (block_list){ .items = NULL };
		r = list_by_key(engine, a, out, e);
	}
	FwpmEngineClose0(engine);
	return r;
}

/* ---- Changing ------------------------------------------------------------------------------------- */

struct condition_room {
	FWPM_FILTER_CONDITION0 conditions[MAX_CONDITIONS];
	FWP_RANGE0 ranges[MAX_CONDITIONS];
	UINT32 count;
};

static FWPM_FILTER_CONDITION0 *add_condition(struct condition_room *room, const GUID *field)
{
	FWPM_FILTER_CONDITION0 *c = &room->conditions[room->count++];

	*c = (FWPM_FILTER_CONDITION0){ .fieldKey = *field, .matchType = FWP_MATCH_EQUAL };
	return c;
}

static void add_protocol(struct condition_room *room, const struct windows_block *filter)
{
	FWPM_FILTER_CONDITION0 *c;

	if (strcmp(filter->protocol, "any") == 0 || strcmp(filter->layer, "listen") == 0)
		return;
	c = add_condition(room, &wfp_protocol);
	c->conditionValue.type = FWP_UINT8;
	c->conditionValue.uint8 = strcmp(filter->protocol, "tcp") == 0	 ? TCP
				  : strcmp(filter->protocol, "udp") == 0 ? UDP
				  : filter->family == 4			 ? ICMP_V4
									 : ICMP_V6;
}

static UINT16 read_number(struct str text)
{
	unsigned number = 0;

	for (size_t i = 0; i < text.len && ascii_is_digit(text.p[i]); i++)
		number = number * 10 + (unsigned)(text.p[i] - '0');
	return (UINT16)number;
}

static void add_ports(struct condition_room *room, const struct windows_block *filter)
{
	if (filter->port) {
		FWPM_FILTER_CONDITION0 *c = add_condition(room, &wfp_remote_port);

		c->conditionValue.type = FWP_UINT16;
		c->conditionValue.uint16 = filter->port;
	}
	/* Several conditions of one field are joined by "or". */
	for (size_t i = 0; !filter->port && i < filter->port_count; i++) {
		struct str text = filter->ports[i];
		FWP_RANGE0 *range = &room->ranges[room->count];
		FWPM_FILTER_CONDITION0 *c = add_condition(room, &wfp_remote_port);

		range->valueLow.type = range->valueHigh.type = FWP_UINT16;
		range->valueLow.uint16 = read_number(text);
		range->valueHigh.uint16 = read_number(str_from(text, str_find(text, '-') + 1));
		c->matchType = FWP_MATCH_RANGE;
		c->conditionValue.type = FWP_RANGE_TYPE;
		c->conditionValue.rangeValue = range;
	}
}

static int add_filter(HANDLE engine, const struct windows_block *filter, FWP_BYTE_BLOB *users,
		      void *descriptor, struct err *e)
{
	struct condition_room room = { .count = 0 };
	wchar_t name[96];
	FWPM_FILTER_CONDITION0 *user = add_condition(&room, &wfp_user);
	FWPM_FILTER0 one = { .filterKey = find_key(filter->name),
			     .displayData = { .name = name },
			     .flags = WFP_PERSISTENT | WFP_CLEAR_ACTION_RIGHT,
			     .providerKey = (GUID *)(uintptr_t)&wfp_provider,
			     .subLayerKey = wfp_sublayer,
			     .weight = { .type = FWP_EMPTY },
			     .filterCondition = room.conditions,
			     .action = { .type = FWP_ACTION_BLOCK } };
	DWORD r;

	user->conditionValue.type = FWP_SECURITY_DESCRIPTOR_TYPE;
	user->conditionValue.sd = users;
	add_protocol(&room, filter);
	add_ports(&room, filter);
	one.numFilterConditions = room.count;
	for (size_t i = 0; i < COUNT_OF(wfp_layers); i++)
		if (strcmp(wfp_layers[i].name, filter->layer) == 0 &&
		    wfp_layers[i].family == filter->family)
			one.layerKey = wfp_layers[i].id;
	if (wide_text(filter->name, name, COUNT_OF(name)) < 0)
		return FAIL(e, ERR_INTERNAL, "a filter's name is too long");
	r = FwpmFilterAdd0(engine, &one, descriptor, NULL);
	return r == ERROR_SUCCESS
		       ? 0
		       : FAIL_WINDOWS(e, r, "can't add the filter %.*s", STR_ARG(filter->name));
}

static int add_parts(HANDLE engine, void *descriptor, struct err *e)
{
	FWPM_PROVIDER0 provider = { .providerKey = wfp_provider,
				    .displayData = { .name = part_name },
				    .flags = WFP_PART_PERSISTENT };
	FWPM_SUBLAYER0 sublayer = { .subLayerKey = wfp_sublayer,
				    .displayData = { .name = part_name },
				    .flags = WFP_PART_PERSISTENT,
				    .providerKey = (GUID *)(uintptr_t)&wfp_provider,
				    .weight = 0xffff };
	DWORD r = FwpmProviderAdd0(engine, &provider, descriptor);

	if (r == ERROR_SUCCESS)
		r = FwpmSubLayerAdd0(engine, &sublayer, descriptor);
	return r == ERROR_SUCCESS ? 0 : FAIL_WINDOWS(e, r, "can't add Cordon to the filters");
}

struct doomed {
	GUID keys[MAX_FILTERS];
	size_t count;
};

static int doom(void *arg, const FWPM_FILTER0 *filter, struct err *e)
{
	struct doomed *doomed = arg;

	if (doomed->count == MAX_FILTERS)
		return FAIL(e, ERR_LIMIT, "there are more than %d filters of Cordon", MAX_FILTERS);
	doomed->keys[doomed->count++] = filter->filterKey;
	return 0;
}

static int remove_all(HANDLE engine, struct err *e)
{
	struct doomed doomed = { .count = 0 };
	DWORD r = ERROR_SUCCESS;

	if (each_filter(engine, doom, &doomed, e) < 0)
		return err_result(e);
	for (size_t i = 0; r == ERROR_SUCCESS && i < doomed.count; i++)
		r = FwpmFilterDeleteByKey0(engine, &doomed.keys[i]);
	if (r == ERROR_SUCCESS) {
		r = FwpmSubLayerDeleteByKey0(engine, &wfp_sublayer);
		r = r == (DWORD)FWP_E_SUBLAYER_NOT_FOUND ? ERROR_SUCCESS : r;
	}
	if (r == ERROR_SUCCESS) {
		r = FwpmProviderDeleteByKey0(engine, &wfp_provider);
		r = r == (DWORD)FWP_E_PROVIDER_NOT_FOUND ? ERROR_SUCCESS : r;
	}
	return r == ERROR_SUCCESS ? 0 : FAIL_WINDOWS(e, r, "can't remove the filters");
}

static int replace_all(HANDLE engine, const struct windows_block *filters, size_t count,
		       FWP_BYTE_BLOB *users, void *descriptor, struct err *e)
{
	if (remove_all(engine, e) < 0)
		return err_result(e);
	if (count && add_parts(engine, descriptor, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		if (add_filter(engine, &filters[i], users, descriptor, e) < 0)
			return err_result(e);
	return 0;
}

static int transact(const struct windows_block *filters, size_t count, FWP_BYTE_BLOB *users,
		    void *descriptor, struct err *e)
{
	HANDLE engine = NULL;
	int result;
	DWORD r;

	if (open_engine(&engine, e) < 0)
		return err_result(e);
	r = FwpmTransactionBegin0(engine, 0);
	if (r != ERROR_SUCCESS) {
		FwpmEngineClose0(engine);
		return FAIL_WINDOWS(e, r, "the filters can't be changed");
	}
	result = replace_all(engine, filters, count, users, descriptor, e);
	if (result == 0) {
		r = FwpmTransactionCommit0(engine);
		if (r != ERROR_SUCCESS)
			result = FAIL_WINDOWS(e, r, "the filters can't be changed");
	} else {
		(void)FwpmTransactionAbort0(engine);
	}
	FwpmEngineClose0(engine);
	return result;
}

int win32_set_filters(void *state, const struct windows_block *filters, size_t count,
		      const struct machine_users *users, struct err *e)
{
	struct win32_machine *m = state;
	PSECURITY_DESCRIPTOR who = NULL, object = NULL;
	FWP_BYTE_BLOB blob = { .size = 0 };
	wchar_t *sddl = NULL;
	ULONG size = 0;
	int r;

	if (count && wide_copy(m->a, users->sddl, &sddl, e) < 0)
		return err_result(e);
	if ((count && !ConvertStringSecurityDescriptorToSecurityDescriptorW(sddl, SDDL_REVISION_1,
									    &who, &size)) ||
	    !ConvertStringSecurityDescriptorToSecurityDescriptorW(object_sddl, SDDL_REVISION_1,
								  &object, NULL)) {
		r = FAIL_WINDOWS(e, GetLastError(), "an access list for filters can't be made");
	} else {
		blob = (FWP_BYTE_BLOB){ .size = size, .data = who };
		r = transact(filters, count, &blob, object, e);
	}
	LocalFree(who);
	LocalFree(object);
	return r;
}
