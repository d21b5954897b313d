// SPDX-License-Identifier: MIT
// sdk.mjs 1|2|2-auto DIRECTORY PROGRAM ARGUMENT...: drives a server with an official client of MCP and
// prints TAP. The directory has the packages; the working directory is the project, and $OUTSIDE a
// directory that the policy does not let be written.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [which, packages, program, ...args] = process.argv.slice(2);
const require = createRequire(path.join(packages, 'package.json'));
const load = async name => import(pathToFileURL(require.resolve(name)).href);
const outside = process.env.OUTSIDE;
let number = 0, failed = 0;

const sdk1 = which === '1';
const { Client } = await load(sdk1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StdioClientTransport } = await load(sdk1 ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio');
const schemas = sdk1 ? await load('@modelcontextprotocol/sdk/types.js') : null;

async function connect(capabilities, handlers = {}, extra = []) {
	const options = { capabilities };
	if (which === '2-auto')
		options.versionNegotiation = { mode: 'auto' };
	const client = new Client({ name: `sdk-${which}`, version: '1' }, options);
	client.problems = [];
	client.onerror = error => client.problems.push(String(error));
	for (const [method, handler] of Object.entries(handlers))
		client.setRequestHandler(sdk1 ? schemas[{ 'elicitation/create': 'ElicitRequestSchema', 'roots/list': 'ListRootsRequestSchema' }[method]] : method, handler);
	const transport = new StdioClientTransport({ command: program, args: [...args, ...extra], stderr: 'ignore', env: process.env });
	await client.connect(transport);
	return client;
}

async function test(name, body) {
	number++;
	try {
		await body();
		console.log(`ok ${number} - ${which}: ${name}`);
	} catch (error) {
		failed++;
		console.log(`not ok ${number} - ${which}: ${name}`);
		for (const line of String(error.stack ?? error).split('\n'))
			console.log(`# ${line}`);
	}
}

// A command that is seen to run, and to have ended.
const ticking = 'while :; do date +%N >tick; sleep 0.02; done';
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const look = () => fs.existsSync('tick') ? fs.readFileSync('tick', 'utf8') : '';

async function ticks() {
	while (!look())
		await sleep(10);
}

async function ticksNoMore() {
	for (let last = ''; last !== look(); await sleep(200))
		last = look();
	fs.rmSync('tick');
}

const call = (client, name, input, options) =>
	sdk1 ? client.callTool({ name, arguments: input }, undefined, options) : client.callTool({ name, arguments: input }, options);

await test('it lists tools and resources, and reads and writes', async () => {
	fs.writeFileSync('a.txt', 'one\ntwo\n');
	const client = await connect({});
	const { tools } = await client.listTools(); // from now on it checks each answer against outputSchema
	assert.equal(tools.length, 9);
	assert.equal(client.getServerVersion().name, 'cordon');
	const read = await call(client, 'read_file', { path: 'a.txt' });
	assert.equal(read.structuredContent.content, 'one\ntwo\n');
	await call(client, 'write_file', { path: 'b.txt', content: 'three\n' });
	assert.equal(fs.readFileSync('b.txt', 'utf8'), 'three\n');
	const { resources } = await client.listResources();
	assert.deepEqual(resources.map(each => each.uri), ['cordon://policy', 'cordon://denials']);
	for (const { uri } of resources)
		JSON.parse((await client.readResource({ uri })).contents[0].text);
	await client.listResourceTemplates();
	assert.deepEqual(client.problems, []);
	await client.close();
});

await test('a refusal fits the schema of the tool', async () => {
	const client = await connect({});
	await client.listTools();
	for (const [name, input] of [['read_file', { path: 'none' }], ['write_file', { path: `${outside}/x`, content: 'x' }], ['read_file', { path: '/proc/self/environ' }]]) {
		const refused = await call(client, name, input);
		assert.equal(refused.isError, true);
		assert.ok(refused.structuredContent.error.kind, JSON.stringify(refused));
	}
	assert.ok(!fs.existsSync(`${outside}/x`));
	await client.close();
});

await test('a command tells its progress, and can be given up', async () => {
	const client = await connect({});
	const told = [];
	const result = await call(client, 'execute_command', { command: ['sh', '-c', 'echo first; sleep 0.2; echo second'] }, { onprogress: each => told.push(each) });
	assert.equal(result.structuredContent.stdout, 'first\nsecond\n');
	assert.ok(told.length >= 1, 'no progress');
	const giveUp = new AbortController();
	const running = call(client, 'execute_command', { command: ['sh', '-c', ticking] }, { signal: giveUp.signal });
	await ticks();
	giveUp.abort('enough');
	await assert.rejects(running);
	await ticksNoMore();
	await client.close();
});

await test('a question is asked in the client and grants', async () => {
	const asked = [];
	const client = await connect({ elicitation: { form: {} } }, {
		'elicitation/create': async request => {
			asked.push(request.params);
			return { action: 'accept', content: { decision: 'once' } };
		},
	});
	const result = await call(client, 'execute_command', { command: ['sh', '-c', `echo yes >${outside}/granted && echo done`] });
	assert.equal(result.structuredContent.stdout, 'done\n', JSON.stringify(result));
	assert.equal(asked.length, 1);
	assert.deepEqual(asked[0].requestedSchema.required, ['decision']);
	assert.equal(fs.readFileSync(`${outside}/granted`, 'utf8'), 'yes\n');
	await client.close();
});

await test('a question that is declined denies', async () => {
	const client = await connect({ elicitation: { form: {} } }, { 'elicitation/create': async () => ({ action: 'decline' }) });
	const result = await call(client, 'execute_command', { command: ['sh', '-c', `echo yes >${outside}/denied`] });
	assert.notEqual(result.structuredContent.status, 0);
	assert.ok(!fs.existsSync(`${outside}/denied`));
	await client.close();
});

await test('what was granted for the session counts after a restart', async () => {
	for (const expected of [1, 0]) {
		let asked = 0;
		const client = await connect({ elicitation: { form: {} } }, {
			'elicitation/create': async request => {
				asked++;
				const offered = request.params.requestedSchema.properties.decision.enum;
				assert.ok(!offered.some(each => each.startsWith('always')));
				return { action: 'accept', content: { decision: offered.find(each => each.startsWith('session')) } };
			},
		}, ['--session', `sdk-${which}`]);
		const written = await call(client, 'write_file', { path: `${outside}/session-${expected}`, content: 'x' });
		assert.ok(!written.isError, JSON.stringify(written));
		const made = await call(client, 'execute_command', { command: ['sh', '-c', `cat ${outside}/session-${expected} && echo y >>${outside}/session-${expected}`] });
		assert.equal(made.structuredContent.stdout, 'x', JSON.stringify(made));
		assert.equal(made.structuredContent.status, 0, JSON.stringify(made));
		assert.equal(asked, expected);
		await client.close();
	}
});

await test('a session has several projects', async () => {
	fs.mkdirSync(`${outside}/other`, { recursive: true });
	fs.writeFileSync(`${outside}/other/f`, 'other\n');
	const client = await connect({ elicitation: { form: {} } }, { 'elicitation/create': async () => ({ action: 'decline' }) });
	const opened = await call(client, 'open_project', { path: `${outside}/other` });
	assert.equal(opened.structuredContent.access, 'read', JSON.stringify(opened));
	assert.deepEqual(opened.structuredContent.roots.map(each => each.access), ['write', 'read']);
	const there = await call(client, 'execute_command', { command: 'cat f; echo no >made; true', cwd: `${outside}/other` });
	assert.equal(there.structuredContent.stdout, 'other\n');
	assert.ok(!fs.existsSync(`${outside}/other/made`));
	const refused = await call(client, 'open_project', { path: `${outside}/other`, access: 'write' });
	assert.equal(refused.structuredContent.error.kind, 'violation');
	await call(client, 'write_file', { path: 'here', content: 'still' });
	assert.equal(fs.readFileSync('here', 'utf8'), 'still');
	await client.close();
});

if (which !== '2-auto')
	await test('roots are asked for, and logging is taken', async () => {
		let asked = 0;
		const client = await connect({ roots: { listChanged: true } }, {
			'roots/list': async () => {
				asked++;
				return { roots: [] };
			},
		});
		await client.setLoggingLevel('debug');
		await client.ping();
		await client.sendRootsListChanged();
		for (let i = 0; i < 100 && asked < 2; i++)
			await new Promise(resolve => setTimeout(resolve, 20));
		assert.equal(asked, 2);
		await call(client, 'write_file', { path: 'c.txt', content: 'still allowed' });
		assert.equal(fs.readFileSync('c.txt', 'utf8'), 'still allowed');
		await client.close();
	});

await test('it ends when the client closes it, with what runs', async () => {
	const client = await connect({});
	const running = call(client, 'execute_command', { command: ['sh', '-c', ticking] }).catch(() => {});
	await ticks();
	const begun = Date.now();
	await client.close();
	assert.ok(Date.now() - begun < 1900, `${Date.now() - begun} ms: it had to be killed`);
	await running;
	await ticksNoMore();
});

console.log(`1..${number}`);
process.exit(failed ? 1 : 0);
