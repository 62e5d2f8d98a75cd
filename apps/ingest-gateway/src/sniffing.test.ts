import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DECISIVE_TYPES, TYPE_OF } from './intake/body-format.ts';
import { extentOfDocument } from './intake/document.ts';
import { event, postingGateway } from './testing/gateway.ts';

/** Types that say nothing about the body: curl's own, fetch's for a string, none, and worse. */
const INDECISIVE = [undefined, TYPE_OF.form, 'text/plain;charset=UTF-8', 'application/octet-stream', 'nonsense'];
const typed = (type: string | undefined): Record<string, string> => (type === undefined ? {} : { 'content-type': type });

const one = JSON.parse(event({ customer_id: 'c1', attributes: { deep: [{ a: 1 }, [2, '}{][,"\\']] } }));
const good = event({ customer_id: 'c1' });
/** A document that holds, each on a line of its own, what would be events by themselves. */
const nest = `{\n"events": [\n${good},\n${good}\n],\n"last":\n${good}\n}`;

const DOCUMENTS: Readonly<Record<string, string>> = {
  'an array on one line': JSON.stringify([one, one]),
  'an indented array': JSON.stringify([one, one], null, 2),
  'an array with one event per line': `[\n${good},\n${good}\n]`,
  'an array with leading commas': `[${good}\n,${good}\n,${good}]`,
  'an indented object': JSON.stringify(one, null, 2),
  'an object with leading commas': `{"service":"a"\n,"timestamp":"2026-01-31T23:59:59Z"\n}`,
  'an object on one line': good,
};
const WRAPPED: readonly (readonly [string, (text: string) => string])[] = [
  ['as it is', (text) => text],
  ['with CR LF', (text) => text.replaceAll('\n', '\r\n')],
  ['with a byte order mark', (text) => `\ufeff${text}`],
  ['between blank lines', (text) => `\n \r\n\t${text}\n\n`],
];

test.each(Object.entries(DOCUMENTS).flatMap(([name, text]) => WRAPPED.map(([how, wrap]) => [name, how, wrap(text)] as const)))(
  'without a type that decides, %s %s is what it is as application/json',
  async (_, _how, body) => {
    const told = postingGateway();
    const expected = await told.post(body, typed(TYPE_OF.json));
    expect(expected.status).toBe(200);
    for (const type of INDECISIVE) {
      const { post, values } = postingGateway();
      expect((await post(body, typed(type))).body).toEqual(expected.body);
      expect(values()).toEqual(told.values());
    }
  },
);

test('a document of which a part would be an event on its own line is never kept in part, whole or cut off at any byte', async () => {
  const bodies = [DOCUMENTS['an indented array'], DOCUMENTS['an array with one event per line'], DOCUMENTS['an indented object'], nest];
  for (const text of [...bodies, `[\n[\n${good}\n],\n[${good}]\n]`]) {
    const body = text ?? '';
    for (let end = 1; end < body.length; end++) {
      const { post, publisher } = postingGateway();
      const { status, body: told } = await post(body.slice(0, end), {});
      expect([status, publisher.published.length], body.slice(0, end)).toEqual([400, 0]);
      expect(told.message).toMatch(/nothing is kept/);
    }
  }
  for (const whole of [nest, `[\n[\n${good}\n]\n]`]) {
    const { post, publisher } = postingGateway();
    expect(await post(whole, {})).toMatchObject({ status: 400, body: { error: 'no_valid_event', rejected: 1 } });
    expect(publisher.published).toEqual([]);
  }
}, 60_000);

test.each([
  [`[\n${good},\n${good}`, 'invalid_json', 'has no end'],
  [`[\n${good},\n${good.slice(0, -3)}`, 'invalid_json', 'ends within a string'],
  [`[${good},]`, 'invalid_json', 'comma stands before the end'],
  [`[${good}]\n[${good}]`, 'invalid_json', 'behind the end of its array'],
  [`{\n"a":\n${good}\n`, 'event_over_lines', 'has no end'],
  [`${JSON.stringify(one, null, 1)}\n${JSON.stringify(one, null, 1)}`, 'event_over_lines', 'More stands behind its end'],
])('400 says what is wrong with the document %j', async (body, error, says) => {
  const { post, publisher } = postingGateway();
  const answered = await post(body, {});
  expect(answered).toMatchObject({ status: 400, body: { error, message: expect.stringContaining(says) } });
  expect(publisher.published).toEqual([]);
});

test('where the type says NDJSON a document over several lines is refused whole, with the type that it needs', async () => {
  for (const [type, format] of Object.entries(DECISIVE_TYPES)) {
    if (format !== 'ndjson') continue;
    for (const text of [DOCUMENTS['an indented object'], DOCUMENTS['an array with one event per line'], nest]) {
      const { post, publisher } = postingGateway();
      const { status, body } = await post(text ?? '', typed(type));
      expect([status, body.error, publisher.published.length]).toEqual([400, 'event_over_lines', 0]);
      expect(body.message).toContain('application/json');
    }
  }
});

test('lines of which the first one was cut off at any byte stay lines: the good ones go through', async () => {
  const first = JSON.stringify(one);
  for (let end = 1; end < first.length; end++) {
    for (const type of [undefined, TYPE_OF.ndjson]) {
      const { post } = postingGateway();
      const { status, body } = await post(`${first.slice(0, end)}\n${good}\r\n${good}\n`, typed(type));
      expect([status, body.accepted, body.errors?.map(({ line }) => line)], first.slice(0, end)).toEqual([207, 2, [1]]);
    }
  }
});

test('an event over more lines than a post may hold events is one event', async () => {
  const { post } = postingGateway({ GATEWAY_MAX_EVENTS: '1' });
  expect((await post(JSON.stringify(one, null, 2), {})).body).toEqual({ accepted: 1 });
  expect((await post(`${good}\n${good}`, {})).body.error).toBe('too_many_events');
});

test('any JSON, indented in any way, is one document; with anything but white space behind it, it is not', () => {
  const values = fc.jsonValue().filter((value) => typeof value === 'object' && value !== null);
  fc.assert(
    fc.property(values, fc.integer({ min: 0, max: 4 }), fc.boolean(), (value, indent, crLf) => {
      const text = JSON.stringify(value, null, indent);
      const body = crLf ? text.replaceAll('\n', '\r\n') : text;
      const spread = text.includes('\n');
      expect(extentOfDocument(Buffer.from(`\n ${body}\n`))).toBe(spread ? 'whole' : 'line');
      expect(extentOfDocument(Buffer.from(`${body}\n${body}`))).toBe(spread ? 'goes-on' : 'line');
    }),
    { numRuns: 500, verbose: 1 },
  );
});
