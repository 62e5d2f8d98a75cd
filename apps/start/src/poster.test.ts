import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Poster, waitUntilReady } from './poster.ts';

type Reply = { status: number; body?: object; retryAfter?: string } | 'cut';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A gateway that gives these answers one after the other, and keeps the bodies that it got. */
async function gateway(...replies: Reply[]): Promise<{ url: string; bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      const reply = replies.shift() ?? { status: 500 };
      if (reply === 'cut') {
        request.socket.destroy();
        return;
      }
      response.writeHead(reply.status, reply.retryAfter === undefined ? {} : { 'retry-after': reply.retryAfter });
      response.end(JSON.stringify(reply.body ?? {}));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

const lines = { lines: [Buffer.from('{"a":1}'), Buffer.from('{"b":2}')], numbers: [4, 9] };

describe('posting', () => {
  it('counts what was accepted and what was rejected', async () => {
    const { url, bodies } = await gateway({ status: 207, body: { accepted: 1, rejected: 1 } });
    const poster = new Poster(() => url, new AbortController().signal);
    await poster.post(lines);
    expect(bodies).toEqual(['{"a":1}\n{"b":2}\n']);
    expect(poster.counts).toEqual({ posted: 2, accepted: 1, rejected: 1, repeatedPosts: 0, maybeTwice: 0 });
    expect(poster.firstAcceptedMs).toBeDefined();
  });

  it('counts a post of which nothing was valid as rejected, and does not repeat it', async () => {
    const { url, bodies } = await gateway({ status: 400, body: { accepted: 0, rejected: 2 } });
    const poster = new Poster(() => url, new AbortController().signal);
    await poster.post(lines);
    expect(bodies).toHaveLength(1);
    expect(poster.counts).toMatchObject({ accepted: 0, rejected: 2 });
    expect(poster.firstAcceptedMs).toBeUndefined();
  });

  it('names the first rejected lines by their place in the file, in its order', async () => {
    const { url } = await gateway(
      {
        status: 207,
        body: { accepted: 1, rejected: 1, errors: [{ line: 2, field: null, reason: 'is not JSON' }] },
      },
      { status: 413, body: { error: 'body_too_large', message: 'The body is too large.' } },
    );
    const poster = new Poster(() => url, new AbortController().signal);
    await poster.post({ ...lines, numbers: [41, 44] });
    await poster.post({ ...lines, numbers: [3, 5] });
    expect(poster.rejections).toEqual([
      { line: 3, reason: 'body_too_large: The body is too large. (this line and the 1 posted with it)' },
      { line: 44, reason: 'is not JSON' },
    ]);
    const many = Array.from({ length: 100 }, (_, i) => ({ line: i + 1, field: 'level', reason: 'is wrong' }));
    const other = await gateway({ status: 400, body: { error: 'no_valid_event', rejected: 100, errors: many } });
    const second = new Poster(() => other.url, new AbortController().signal);
    await second.post({ lines: many.map(() => Buffer.from('{}')), numbers: many.map((_, i) => 100 + i) });
    // Not "no_valid_event: ...": that is the post's code, and looks like the line's reason.
    expect(second.rejections[0]?.reason).toBe('level: is wrong');
    expect(second.rejections.map(({ line }) => line)).toEqual([100, 101, 102, 103, 104, 105, 106, 107, 108, 109]);
  });

  it('repeats what was refused for the moment, and counts what may be kept twice', async () => {
    const { url, bodies } = await gateway(
      { status: 503, retryAfter: '0', body: { accepted: 1, withdrawn: 0, unknown: 1 } },
      { status: 429, retryAfter: '0', body: {} },
      { status: 200, body: { accepted: 2 } },
    );
    const poster = new Poster(() => url, new AbortController().signal);
    await poster.post(lines);
    expect(bodies).toHaveLength(3);
    expect(poster.counts).toEqual({ posted: 2, accepted: 2, rejected: 0, repeatedPosts: 2, maybeTwice: 2 });
  });

  it('repeats a post whose answer was lost: it may be kept twice', async () => {
    const { url } = await gateway('cut', { status: 200, body: { accepted: 2 } });
    const poster = new Poster(() => url, new AbortController().signal);
    await poster.post(lines);
    expect(poster.counts).toEqual({ posted: 2, accepted: 2, rejected: 0, repeatedPosts: 1, maybeTwice: 2 });
  });

  it('a refused connection kept nothing, and a gateway on another port is found', async () => {
    const { url } = await gateway({ status: 200, body: { accepted: 2 } });
    const gone = await gateway();
    await new Promise((resolve) => servers.pop()?.close(resolve));
    const urls = [gone.url, url];
    const poster = new Poster(() => urls.shift(), new AbortController().signal);
    await poster.post(lines);
    expect(poster.counts).toEqual({ posted: 2, accepted: 2, rejected: 0, repeatedPosts: 1, maybeTwice: 0 });
  });

  it('gives up when everything is to stop', async () => {
    const stop = new AbortController();
    const poster = new Poster(() => {
      stop.abort();
      return undefined;
    }, stop.signal);
    await poster.post(lines);
    expect(poster.counts).toMatchObject({ posted: 2, accepted: 0 });
  });

  it('waits for a gateway that is not ready yet', async () => {
    const { url, bodies } = await gateway({ status: 503 }, { status: 200 });
    await waitUntilReady(() => url, new AbortController().signal);
    expect(bodies).toHaveLength(2);
  });
});
