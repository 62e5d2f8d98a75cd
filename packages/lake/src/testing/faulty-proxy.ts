import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What becomes of one request. `refused`: answered 503 and not carried out. `dropped`: the connection ends and nothing is carried out.
 * `lost`: carried out, and the connection ends without an answer. `hung`: neither carried out nor answered.
 * `flipped`: answered with another last byte than the store's.
 */
export type ProxyFault =
  | { readonly kind: 'none' | 'refused' | 'dropped' | 'lost' | 'hung' | 'flipped' }
  | { readonly kind: 'slow'; readonly delayMs: number };

/** A real HTTP proxy in front of a real store that makes requests fail as networks and stores do. */
export class FaultyProxy {
  readonly url: string;
  /** Decides about each request. */
  fault: (method: string, path: string) => ProxyFault = () => ({ kind: 'none' });
  /** How often which fault was made. */
  readonly made = new Map<ProxyFault['kind'], number>();
  readonly #server: Server;
  readonly #target: URL;

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.#target = target;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (from: IncomingMessage, to: ServerResponse) => void this.#serve(from, to).catch(() => to.destroy())); // Safe: a connection that ends is all that this can tell.
  }

  static async open(targetUrl: string): Promise<FaultyProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultyProxy(server, new URL(targetUrl));
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const fault = this.fault(from.method ?? '', from.url ?? '');
    this.made.set(fault.kind, (this.made.get(fault.kind) ?? 0) + 1);
    const chunks: Buffer[] = [];
    for await (const chunk of from) chunks.push(chunk as Buffer);
    if (fault.kind === 'hung') return;
    if (fault.kind === 'dropped') {
      to.destroy();
      return;
    }
    if (fault.kind === 'refused') {
      const body = '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>';
      to.writeHead(503, { 'content-type': 'application/xml' }).end(from.method === 'HEAD' ? undefined : body);
      return;
    }
    if (fault.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
    const answer = await this.#forward(from, Buffer.concat(chunks));
    if (fault.kind === 'lost') {
      for await (const _ of answer);
      to.destroy();
      return;
    }
    to.writeHead(answer.statusCode ?? 500, answer.rawHeaders);
    const body: Buffer[] = [];
    for await (const chunk of answer) body.push(chunk as Buffer);
    const bytes = Buffer.concat(body);
    const last = bytes.length - 1;
    if (fault.kind === 'flipped' && last >= 0) bytes.writeUInt8(bytes.readUInt8(last) ^ 1, last);
    to.end(bytes);
  }

  /** Under the host that the client named: its signature covers it. */
  async #forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { hostname, port } = this.#target;
    // The body is here already: a store that waits to be asked for it would wait for ever. And each request has a connection of its own.
    const { expect: _, connection: __, ...passed } = headers;
    const forwarded = request({ hostname, port, method, path: url, headers: passed, setHost: false, agent: false });
    // Safe: before the answer `once` rejects with it, and behind it the reading of the answer does.
    forwarded.on('error', () => {});
    forwarded.end(body);
    const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
    return answer;
  }
}
